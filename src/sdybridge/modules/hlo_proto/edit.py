"""Edits of HLO protos: shardings, frontend attributes, the lengths around them; every other byte stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.modules.hlo_program import every
from sdybridge.modules.hlo_proto import site as sites
from sdybridge.modules.hlo_proto.frontend_attributes import map_edits, map_entry
from sdybridge.modules.hlo_proto.wire import apply, find_field, message_field, with_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sdybridge.modules import hlo_program
    from sdybridge.modules.hlo_program import HloSite
    from sdybridge.modules.hlo_proto import wire
    from sdybridge.modules.hlo_proto.program import HloProto
    from sdybridge.modules.hlo_proto.wire import Field
    from sdybridge.target import Target

    # The new bytes by the old ones and the edit's key. The edit keeps alive what that names.
    _Tails = dict[tuple[object, ...], tuple[hlo_program.Edit, bytes]]

_MODULE_ATTRIBUTES = 19


def edited(
    program: HloProto,
    edit: Callable[[HloSite], hlo_program.Edit | None],
    attributes: Mapping[str, str | None],
    target: Target,
    more: Callable[[], Iterable[HloSite]],
) -> bytes:
    """See `HloProgram.edited`."""
    data = program.data
    edits: list[wire.Edit] = []
    of_computation: dict[Field, list[wire.Edit]] = {}
    known: _Tails = {}
    for site in every(program.sites(), more):
        change = edit(site)
        if change is None:
            continue
        if isinstance(site, sites.InstructionSite):
            own = _tail_edits(program, site, change, target, known)
            if own:
                inside = of_computation.setdefault(site.within.field, [])
                inside += with_lengths(data, [site.field], own)
        elif isinstance(site, sites.FieldSite):
            edits += _field_edits(program, site, change, target)
    for field, inside in of_computation.items():
        edits += with_lengths(data, [field], inside)
    if attributes:
        fields = {field.number: field for field in program.fields}
        edits += _attribute_edits(data, fields, _MODULE_ATTRIBUTES, program.end, attributes, program.path)
    return apply(data, with_lengths(data, reversed(program.wrappers), edits)) if edits else data


def _field_edits(
    program: HloProto, site: sites.FieldSite, change: hlo_program.Edit, target: Target
) -> list[wire.Edit]:
    if change.keeps_sharding:
        return []
    field = site.field
    if change.sharding is None:
        return [(field.start, field.end, b"")]
    return _replaced(program.data, field, program.proto_bytes(change.sharding, target))


def _replaced(data: bytes, field: Field, payload: bytes) -> list[wire.Edit]:
    """The edits that put a new value into `field`; none if it is the old one."""
    if data[field.value : field.end] == payload:
        return []
    return with_lengths(data, [field], [(field.value, field.end, payload)])


def _tail_edits(
    program: HloProto,
    site: sites.InstructionSite,
    change: hlo_program.Edit,
    target: Target,
    known: _Tails,
) -> list[wire.Edit]:
    """The edit of an instruction's last fields: all that may change is there, and they are often alike."""
    new = change.sharding
    is_same = change.keeps_sharding or (new and site.has_sharding_of(program.proto_bytes(new, target)))
    if is_same and not change.attributes:
        return []
    data, end = program.data, site.field.end
    at = find_field(data, site.field.value, end, site.path, sites.SHARDING)
    tail = data[at:end]
    key = tail, change.key
    if key not in known:
        edits = _instruction_edits(program, site, change, target)
        known[key] = change, apply(tail, [(start - at, stop - at, new) for start, stop, new in edits])
    after = known[key][1]
    return [] if after == tail else [(at, end, after)]


def _instruction_edits(
    program: HloProto, site: sites.InstructionSite, change: hlo_program.Edit, target: Target
) -> list[wire.Edit]:
    edits: list[wire.Edit] = []
    data, new = program.data, change.sharding
    if not change.keeps_sharding and (new is not None or site.has_sharding):
        payload = None if new is None else program.proto_bytes(new, target)
        old = (
            site.fields.get(sites.SHARDING) if payload is None or not site.has_sharding_of(payload) else None
        )
        if payload is None:
            edits += [(old.start, old.end, b"")] if old else []
        elif old:
            edits += _replaced(data, old, payload)
        elif not site.has_sharding:
            at = _place_of(sites.SHARDING, site.fields.values(), site.field.end)
            edits.append((at, at, message_field(sites.SHARDING, payload)))
    known = site.frontend_attributes if change.attributes else {}
    if any(known.get(key) != value for key, value in change.attributes.items()):
        edits += _attribute_edits(
            data, site.fields, sites.FRONTEND_ATTRIBUTES, site.field.end, change.attributes, site.path
        )
    return edits


def _attribute_edits(
    data: bytes,
    fields: Mapping[int, Field],
    number: int,
    end: int,
    changes: Mapping[str, str | None],
    where: str,
) -> list[wire.Edit]:
    """The edits that make the changes to the frontend attributes in field `number` of a message."""
    field = fields.get(number)
    if field:
        inside = list(map_edits(data, field, changes, f"{where}.frontend_attributes"))
        return with_lengths(data, [field], inside) if inside else []
    new = b"".join([map_entry(key, value) for key, value in sorted(changes.items()) if value is not None])
    if not new:
        return []
    at = _place_of(number, fields.values(), end)
    return [(at, at, message_field(number, new))]


def _place_of(number: int, fields: Iterable[Field], end: int) -> int:
    """Where the field `number` goes: fields are in the order of their numbers, as far as they are."""
    return min([field.start for field in fields if field.number > number], default=end)
