"""Edits of HLO text: new shardings and frontend attributes where XLA prints them, every other byte kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from sdybridge.errors import ConversionError
from sdybridge.modules.carriers import Quoting, write_string
from sdybridge.modules.hlo_program import every
from sdybridge.modules.hlo_text.instruction import place_of, with_entries
from sdybridge.modules.splice import splice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sdybridge.hlo import HloSharding
    from sdybridge.modules import splice as splices
    from sdybridge.modules.hlo_program import Edit, HloSite
    from sdybridge.modules.hlo_text.instruction import HloAttribute
    from sdybridge.modules.hlo_text.program import HloText
    from sdybridge.modules.hlo_text.site import TextSite
    from sdybridge.source import Source
    from sdybridge.target import Target


def edited(
    program: HloText,
    edit: Callable[[HloSite], Edit | None],
    attributes: Mapping[str, str | None],
    target: Target,
    more: Callable[[], Iterable[HloSite]],
) -> str:
    """See `HloProgram.edited`."""
    edits: list[splices.Edit] = []
    known: dict[tuple[object, ...], tuple[Edit, str]] = {}  # the edit keeps alive what its key names
    for found in every(program.sites(), more):
        site = cast("TextSite", found)
        change = edit(site)
        if change is None:
            continue
        core = site.core
        if core is None:
            edits += _edits_of(program, site, change, target)
            continue
        start, end = core
        old = program.text[start:end]
        key = old, change.key
        if key not in known:
            inside = [(a - start, b - start, new) for a, b, new in _edits_of(program, site, change, target)]
            known[key] = change, splice(old, inside)
        new = known[key][1]
        if new != old:
            edits.append((start, end, new))
    if not program.has_header and any(value is not None for value in attributes.values()):
        raise program.locate(
            ConversionError(
                "the text has no header to hold attributes of the module",
                help="write `HloModule name` above it",
            )
        )
    if attributes:
        edits += _attribute_edits(program.source, *program.header, attributes)
    return splice(program.text, edits) if edits else program.text


def _edits_of(program: HloText, site: TextSite, change: Edit, target: Target) -> list[splices.Edit]:
    attributes, end = site.core_attributes
    edits: list[splices.Edit] = []
    old = None if change.keeps_sharding else site.attribute("sharding")
    new = "" if change.keeps_sharding else _text_of(change.sharding, target)
    if old and new:
        edits.append((old.value.start, old.value.end, new))
    elif old:
        edits.append((old.comma, old.value.end, ""))
    elif new:
        at = place_of("sharding", attributes, end)
        edits.append((at, at, f", sharding={new}"))
    for start, stop, entries in _attribute_edits(program.source, attributes, end, change.attributes):
        if edits and edits[0][:2] == (start, stop):  # both are inserted there: the sharding comes first
            entries = edits.pop()[2] + entries
        edits.append((start, stop, entries))
    return edits


def _text_of(sharding: HloSharding | None, target: Target) -> str:
    return "" if sharding is None else sharding.to_string(target=target)


def _attribute_edits(
    source: Source, attributes: Sequence[HloAttribute], end: int, changes: Mapping[str, str | None]
) -> Iterator[splices.Edit]:
    """The edits that make the changes to the frontend attributes."""
    if not changes:
        return
    old = next((one for one in attributes if one.name == "frontend_attributes"), None)
    if old:
        new = with_entries(source, old.value.start, changes)
        if not new:
            yield old.comma, old.value.end, ""
        elif new != source.text[old.value.start : old.value.end]:
            yield old.value.start, old.value.end, new
        return
    entries = [
        f"{key}={write_string(value, Quoting.HLO)}"
        for key, value in sorted(changes.items())
        if value is not None
    ]
    if entries:
        at = place_of("frontend_attributes", attributes, end)
        yield at, at, f", frontend_attributes={{{','.join(entries)}}}"
