"""Other spellings of the HLO shardings of a program, and programs without any."""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING

from sdybridge.bridge import to_v3_sharding
from sdybridge.errors import ConversionError, SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.hlo.checks import cropped
from sdybridge.hlo.spelling import with_counted_devices, with_listed_devices
from sdybridge.modules.converted import ConvertedModule, ConvertedSharding, most_frequent_first
from sdybridge.modules.hlo_program import SHARDY, Edit, edit_once
from sdybridge.modules.mlir.attributes import quote
from sdybridge.modules.mlir.hlo_attribute import parse_hlo_attribute
from sdybridge.modules.mlir.lexer import placed, string_end
from sdybridge.modules.mlir.sites import HLO_NAME, SiteKind, find_sites
from sdybridge.modules.programs import named, read_hlo, text_of
from sdybridge.modules.splice import splice
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdybridge.modules.hlo_program import HloProgram, HloSite
    from sdybridge.sdy import MeshAttr


class Spelling(enum.Enum):
    """A way to write HLO shardings.

    Attributes:
        V1: Devices are listed: `{devices=[2,2]0,2,1,3}`.
        V2: Devices are counted where that is possible: `{devices=[2,2]<=[2,2]T(1,0)}`.
        NAMED: Over a named mesh, where there are tiles: `{mesh['axis_0'=2,'axis_1'=2], [..]}`.
        CLASSIC: As XLA read them before unreduced and named shardings: over a grid of either kind.

    >>> [spelling.value for spelling in Spelling]
    ['v1', 'v2', 'named', 'classic']
    """

    V1 = "v1"
    V2 = "v2"
    NAMED = "named"
    CLASSIC = "classic"


def rewrite_module(text: str | bytes, to: Spelling | str, *, name: str = "<string>") -> ConvertedModule:
    r"""Write every HLO sharding of a program in another way, with the same meaning.

    A sharding that has no such form, such as a named one of `{manual}`, stays as it is. Shardy shardings
    that ride along stay too.

    Args:
        text: MLIR text with `mhlo.sharding`, HLO text, or the bytes of an HLO proto.
        to: How to write them.
        name: The name of the text, for errors.

    Raises:
        ParseError: A sharding is malformed.
        ProtoError: The bytes are no HLO proto, or those of a sharding are malformed.
        ConversionError: Classic XLA cannot read a sharding, or there are too many devices to list.

    Example:
        >>> text = "HloModule m\nENTRY e {\n  ROOT a = f32[8] parameter(0), sharding={devices=[2]1,0}\n}"
        >>> print(rewrite_module(text, "named").text.split("sharding=")[1])
        {mesh['axis_0'=2], device_ids=(1,0), [{'axis_0'}]}
        }
    """
    rewrite = _Rewrite(Spelling(to))
    program = read_hlo(text, name)
    if program is None:
        source = Source(text_of(text), name)
        return rewrite.result(placed(source, functools.partial(rewrite.mlir, source)))
    new = named(name, functools.partial(program.edited, edit_once(rewrite.edit), target=rewrite.target))
    return rewrite.result(new)


class _Rewrite:
    """One rewrite under way."""

    def __init__(self, to: Spelling) -> None:
        self._to = to
        self.target = Target.CLASSIC if to is Spelling.CLASSIC else Target.CURRENT
        self._known: dict[int, tuple[HloSharding, HloSharding, ConvertedSharding]] = {}

    def edit(self, site: HloSite) -> tuple[Edit | None, Sequence[ConvertedSharding]]:
        """What becomes of one site of an HLO program."""
        sharding = site.sharding
        if sharding is None:
            return None, ()
        try:
            new, converted = self._respelled(sharding, site.offset)
        except SdyBridgeError as error:
            raise site.locate(error) from None
        return Edit(keeps_sharding=False, sharding=new), (converted,)

    def mlir(self, source: Source) -> str:
        """The MLIR text with every `mhlo.sharding` rewritten that is a string where it stands."""
        text = source.text
        parsed: dict[str, HloSharding] = {}
        edits = []
        for site in find_sites(text, HLO_NAME):
            if site.kind is not SiteKind.KEY or not text.startswith('"', site.end):
                continue
            span = Span(site.end, string_end(text, site.end))
            literal = text[span.start : span.end]
            try:
                if literal not in parsed:
                    parsed[literal] = parse_hlo_attribute(literal)
                new, converted = self._respelled(parsed[literal], site.start)
            except SdyBridgeError as error:
                part = error.span if error.source and error.source.text == literal else None
                raise error.located(source, part.shifted(span.start) if part else span) from None
            converted.count += 1
            edits.append((span.start, span.end, quote(new.to_string(target=self.target))))
        return splice(text, edits)

    def _respelled(self, sharding: HloSharding, offset: int) -> tuple[HloSharding, ConvertedSharding]:
        known = self._known.get(id(sharding))  # equal ones may be written in several ways
        if known is None:
            new = self._new(sharding)
            before, after = sharding.to_string(), new.to_string(target=self.target)
            converted = ConvertedSharding(before, after, 0, offset, (), f"sharding={after}")
            known = self._known[id(sharding)] = sharding, new, converted
        return known[1:]

    def _new(self, sharding: HloSharding) -> HloSharding:
        if self._to is Spelling.V1:
            return with_listed_devices(sharding)
        if self._to is Spelling.V2:
            return with_counted_devices(sharding)
        if self._to is Spelling.NAMED:
            leaves = [_named(leaf) for leaf in sharding.tuple_elements]
            return HloSharding.flat_tuple(leaves) if sharding.is_tuple else _named(sharding)
        if sharding.has_unreduced:
            raise ConversionError(
                "classic XLA has no unreduced shardings",
                notes=[f"the sharding is {cropped(sharding)}"],
                help="reduce the value first, or write for a newer XLA",
            )
        return sharding.v3_to_v2_sharding()

    def result(self, new: str | bytes) -> ConvertedModule:
        """The new program, and what became of each sharding."""
        shardings = [converted for _, _, converted in self._known.values()]
        return converted_module(new, shardings, {})


def _named(leaf: HloSharding) -> HloSharding:
    if leaf.is_replicated and leaf.named_sharding is None:
        return leaf  # on a mesh or not, it says the same
    try:
        new = to_v3_sharding(leaf)
    except ConversionError:  # it tells no mesh
        return leaf
    return new if new == leaf else leaf  # XLA tells a grid of one device, and the order of manual devices


def converted_module(
    new: str | bytes, shardings: list[ConvertedSharding], meshes: Mapping[str, MeshAttr]
) -> ConvertedModule:
    """The result of a change to a program of either kind."""
    return ConvertedModule(
        text=new if isinstance(new, str) else "",
        proto=new if isinstance(new, bytes) else None,
        shardings=most_frequent_first(shardings),
        operations={},
        meshes=meshes,
    )


def strip_shardings(text: str | bytes, *, name: str = "<string>") -> ConvertedModule:
    r"""Remove every sharding of an HLO program, and everything of Shardy's that rides along.

    Instructions stay, even those that only say how a value is sharded, such as calls of `Sharding`.

    Args:
        text: HLO text, or the bytes of an HLO proto.
        name: The name of the text, for errors.

    Raises:
        ParseError: The text is malformed where it carries shardings.
        ProtoError: The bytes are no HLO proto.
        ConversionError: This is a program of another kind.

    Example:
        >>> text = "HloModule m\n\nENTRY e {\n  ROOT a = f32[8] parameter(0), sharding={manual}\n}\n"
        >>> print(strip_shardings(text).text.split("ROOT ")[1])
        a = f32[8] parameter(0)
        }
        <BLANKLINE>
    """
    program = read_hlo(text, name)
    if program is None:
        raise ConversionError(
            "only HLO programs can be stripped",
            source=Source("", name),
            help="translate the program to HLO first, or remove its mhlo.sharding attributes",
        )
    return named(name, functools.partial(_stripped, program))


def _stripped(program: HloProgram) -> ConvertedModule:
    removed: dict[str, ConvertedSharding] = {}

    def edit(site: HloSite) -> tuple[Edit, Sequence[ConvertedSharding]]:
        attributes = site.frontend_attributes
        text = str(site.sharding) if site.has_sharding else attributes.get(f"{SHARDY}sharding", "")
        change = Edit(keeps_sharding=False, attributes=_without_shardy(attributes))
        if not text:
            return change, ()
        return change, (removed.setdefault(text, ConvertedSharding(text, "", 0, site.offset, (), "")),)

    new = program.edited(edit_once(edit), _without_shardy(program.frontend_attributes))
    return converted_module(new, list(removed.values()), {})


def _without_shardy(attributes: Mapping[str, str]) -> dict[str, str | None]:
    return {key: None for key in attributes if key.startswith(SHARDY)}
