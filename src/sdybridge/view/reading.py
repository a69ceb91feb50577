"""Shardings in any notation, read and put on a mesh: what every view starts from."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge import (
    convert_to_hlo_sharding,
    convert_to_sdy_sharding,
    get_manual_axes,
    infer_mesh,
    resolve_mesh,
)
from sdybridge.errors import ConversionError, ParseError, SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding, OpShardingType, decode_proto_text
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr, locate
from sdybridge.sdy.printer import symbol
from sdybridge.source import Source, Span
from sdybridge.target import Target
from sdybridge.view.partition_spec import PREFIXES, parse_partition_spec
from sdybridge.view.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdybridge.bridge import InferredMeshes

    Known = MeshAttr | Mapping[str, MeshAttr] | None

_HLO_WORDS = re.compile(r"(?:devices|device|replicated|manual|maximal|unknown|unreduced)\b")
_PER_VALUE = re.compile(r"#sdy\.sharding_per_value<|\[\s*<")
_READ_AS_PROTO = "this was read as a proto; Shardy shardings start with `<` or `[`, HLO shardings with `{`"


class Notation(enum.Enum):
    """How a sharding is spelled."""

    SDY = "sdy"
    HLO = "hlo"
    PROTO = "proto"
    PARTITION_SPEC = "partition-spec"


class MeshOrigin(enum.Enum):
    """Where the mesh of an explanation comes from."""

    GIVEN = "given"
    INLINE = "inline"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True)
class Sharded:
    """The sharding of one tensor, in both notations as far as they can say it.

    Attributes:
        text: The sharding as it was given.
        notation: What that is.
        hlo: The device grid.
        sdy: The axes; None where no mesh is known, or the rank is not, or no axes of the mesh make the grid.
        mesh: The mesh of `sdy`, or the mesh that was given.
        mesh_origin: Where the mesh comes from; None without one.
        manual_axes: The axes that are manual here.
        tensor: The tensor, if it is known.
        misfit: Why there is no `sdy` on the mesh that was given.
    """

    text: str
    notation: Notation
    hlo: HloSharding
    sdy: TensorShardingAttr | None = None
    mesh: MeshAttr | None = None
    mesh_origin: MeshOrigin | None = None
    manual_axes: tuple[str, ...] = ()
    tensor: TensorType | None = None
    misfit: SdyBridgeError | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sharding, or one for each of several values, that is not on a mesh yet."""

    source: Source
    notation: Notation
    sdy: tuple[TensorShardingAttr, ...] = ()
    hlo: HloSharding | None = None


def notation_of(text: str) -> Notation:
    r"""The notation of a text, as far as its beginning tells.

    >>> [notation_of(text).value for text in ('[{"x"}]', "{replicated}", r"\08\04", "P('x')")]
    ['sdy', 'hlo', 'proto', 'partition-spec']
    """
    text = text.strip()
    if not text or text.startswith(("#sdy", "<", "[")):
        return Notation.SDY
    if text.startswith(("{", "/")) or _HLO_WORDS.match(text):
        return Notation.HLO
    return Notation.PARTITION_SPEC if text.startswith(PREFIXES) else Notation.PROTO


def parse(
    given: object, *, known: Known = None, rank: int | None = None, name: str = "<text>", target: Target
) -> Parsed:
    """Read a sharding: text in any notation, an attribute, an `HloSharding`, proto bytes, or one of JAX's.

    Raises:
        SdyBridgeError: It is malformed.
        TypeError: It is something else.
    """
    if isinstance(given, TensorShardingAttr):
        return Parsed(Source(str(given), name), Notation.SDY, (given,))
    if isinstance(given, TensorShardingPerValueAttr):
        return Parsed(Source(str(given), name), Notation.SDY, given.shardings)
    if isinstance(given, HloSharding):
        return Parsed(Source(given.to_string(), name), Notation.HLO, (), given)
    if isinstance(given, bytes):
        hlo = HloSharding.from_proto(given, target=target)
        return Parsed(Source(given.hex(), name), Notation.PROTO, (), hlo)
    if isinstance(given, str):
        return _parse_text(Source(given, name), known, rank, target)
    if type(given).__name__ == "PartitionSpec":
        return _parse_text(Source(str(given), name), known, rank, target)
    raise TypeError(
        f"expected a sharding: text, a TensorShardingAttr, an HloSharding, proto bytes or a PartitionSpec, "
        f"not a {type(given).__name__}"
    )


def _parse_text(source: Source, known: Known, rank: int | None, target: Target) -> Parsed:
    notation = notation_of(source.text)
    try:
        if notation is Notation.HLO:
            return Parsed(source, notation, (), _read_hlo(source, target))
        if notation is Notation.PROTO:
            data = decode_proto_text(source.text)
            return Parsed(source, notation, (), HloSharding.from_proto(data, target=target))
    except SdyBridgeError as error:
        span = error.span if isinstance(error, ParseError) and error.span else Span(0, len(source.text))
        if notation is Notation.PROTO:
            error.notes = (*error.notes, _READ_AS_PROTO)
        raise error.located(source, span) from None
    if notation is Notation.PARTITION_SPEC:
        mesh = known if isinstance(known, MeshAttr) else next(iter((known or {}).values()), None)
        try:
            spec = parse_partition_spec(source.text, mesh, rank=rank, mesh_name=_only_name(known))
        except ParseError as error:
            raise error.located(source, error.span or Span(0, len(source.text))) from None
        return Parsed(source, notation, (spec,))
    return Parsed(source, notation, _read_sdy(source, known, target))


def _read_hlo(source: Source, target: Target) -> HloSharding:
    return HloSharding.from_string(source.text.rstrip(), target=target)


def _read_sdy(source: Source, known: Known, target: Target) -> tuple[TensorShardingAttr, ...]:
    """One sharding, or several with brackets around them; dimensions alone are on the only mesh."""
    text, shift = _completed(source.text, known)
    try:
        if _PER_VALUE.match(text):
            return TensorShardingPerValueAttr.from_string(text, target=target).shardings
        return (TensorShardingAttr.from_string(text, target=target),)
    except SdyBridgeError as error:
        raise _placed(error, source, shift) from None


def _completed(given: str, known: Known) -> tuple[str, int]:
    """A Shardy sharding's text without white space around it, and what to add to offsets in it."""
    text = given.strip()
    shift = given.find(text) if text else 0
    if text.startswith("[") and not _PER_VALUE.match(text):
        opening = f"<{symbol(_only_name(known))}, "
        return f"{opening}{text}>", shift - len(opening)
    return text, shift


def _placed(error: SdyBridgeError, source: Source, shift: int) -> SdyBridgeError:
    """The error in the text as it was given, not as it was completed."""
    end = len(source.text)
    if error.span is None:
        return error.located(source, Span(0, end))
    if error.span.start + shift >= end:
        error.message = error.message.replace("found '>'", "found the end of the text")
    start, stop = (min(end, max(0, offset + shift)) for offset in (error.span.start, error.span.end))
    return error.located(source, Span(start, stop))


def _only_name(known: Known) -> str:
    return next(iter(known)) if isinstance(known, Mapping) and len(known) == 1 else "mesh"


def place(
    parsed: Sequence[Parsed],
    known: Known,
    *,
    tensor: TensorType | None = None,
    tensors: Sequence[TensorType | None] = (),
    manual_axes: Sequence[str] = (),
    axis_names: Sequence[str] = (),
    target: Target = Target.CURRENT,
) -> list[list[Sharded]]:
    """Put shardings on meshes: those that name one on that, device grids on one that is given or inferred.

    Args:
        parsed: The shardings. Those that need a mesh inferred get one in common, where there is one.
        known: The meshes that are known.
        tensor: The tensor that each of them is of.
        tensors: One for each element of a tuple, instead.
        manual_axes: Axes that are manual where the Shardy shardings stand.
        axis_names: Names for the axes of an inferred mesh.
        target: Whose conventions to follow.

    Raises:
        SdyBridgeError: A sharding is not valid on its mesh, or not on the tensor.
    """
    from_sdy = [_place_sdy(one, known, tensor, tensors, manual_axes, target) for one in parsed]
    meshes = [sharded.mesh for placed in from_sdy for sharded in placed if sharded.mesh]
    if known is None and meshes:
        known = meshes[0]
    leaves = [leaf for one in parsed if one.hlo for leaf in _leaves(one.hlo)]
    inferred = _inferred(leaves, known, axis_names)
    placed = []
    for one, done in zip(parsed, from_sdy, strict=True):
        if one.hlo is None:
            placed.append(done)
            continue
        found = _leaves(one.hlo)
        of_leaf = tensors if len(tensors) == len(found) else [tensor] * len(found)
        placed.append([
            _place_hlo(one, leaf, known, inferred, kind, target)
            for leaf, kind in zip(found, of_leaf, strict=True)
        ])  # fmt: skip
    return placed


def _leaves(hlo: HloSharding) -> list[HloSharding]:
    if not hlo.is_tuple:
        return [hlo]
    return [leaf for element in hlo.tuple_elements for leaf in _leaves(element)]


def _place_sdy(
    one: Parsed,
    known: Known,
    tensor: TensorType | None,
    tensors: Sequence[TensorType | None],
    manual_axes: Sequence[str],
    target: Target,
) -> list[Sharded]:
    placed = []
    for i, sharding in enumerate(one.sdy):
        of_value = tensors[i] if len(tensors) == len(one.sdy) else tensor
        try:
            mesh = resolve_mesh(sharding, known)
            _check_tensor(sharding.rank, of_value, f"{sharding.stripped}")
            hlo = convert_to_hlo_sharding(sharding, mesh, manual_axes=manual_axes, target=target)
        except SdyBridgeError as error:
            raise _explained(error, one, sharding, known, target) from None
        inline = isinstance(sharding.mesh_or_ref, MeshAttr)
        origin = MeshOrigin.INLINE if inline else MeshOrigin.GIVEN
        text = one.source.text.strip() if len(one.sdy) == 1 else sharding.stripped
        placed.append(Sharded(text, one.notation, hlo, sharding, mesh, origin, tuple(manual_axes), of_value))
    return placed


def _explained(
    error: SdyBridgeError, one: Parsed, sharding: TensorShardingAttr, known: Known, target: Target
) -> SdyBridgeError:
    """The error with a place in the text that was given, and what to do about an unknown mesh."""
    if isinstance(error, VerificationError) and error.rule == "unknown-mesh":
        name = f"@{sharding.mesh_or_ref}=" if isinstance(known, Mapping) and known else ""
        error.help = f"give it with --mesh, such as --mesh {name}x=2,y=4"
    source = one.source
    if error.source is not None:
        return error
    if isinstance(error, VerificationError) and one.notation is Notation.SDY and len(one.sdy) == 1:
        text, shift = _completed(source.text, known)
        return _placed(locate(error, Source(text), 0, TensorShardingAttr, target=target), source, shift)
    return error.located(source, Span(0, max(1, len(source.text))))


def _check_tensor(rank: int, tensor: TensorType | None, what: str) -> None:
    if tensor is not None and tensor.rank != rank:
        raise VerificationError(
            f"{what} is for tensors of rank {rank}, not of rank {tensor.rank}",
            rule="rank-mismatch",
            path=("dim_shardings",),
            notes=[f"the tensor is {tensor}"],
        )


def _inferred(
    leaves: Sequence[HloSharding], known: Known, axis_names: Sequence[str]
) -> InferredMeshes | None:
    """The meshes of the device grids; None where one of them is on no mesh at all."""
    if not leaves:
        return None
    try:
        return infer_mesh(leaves, mesh=known, axis_names=axis_names)
    except SdyBridgeError:
        return None


def _place_hlo(
    one: Parsed,
    leaf: HloSharding,
    known: Known,
    inferred: InferredMeshes | None,
    tensor: TensorType | None,
    target: Target,
) -> Sharded:
    text = one.source.text.strip() if not (one.hlo and one.hlo.is_tuple) else leaf.to_string()
    if leaf.type is OpShardingType.OTHER:
        try:
            _check_tensor(leaf.data_rank, tensor, str(leaf))
        except VerificationError as error:
            raise error.located(one.source, Span(0, max(1, len(one.source.text)))) from None
    rank = leaf.data_rank if leaf.type is OpShardingType.OTHER else tensor and tensor.rank
    mesh, origin = _mesh_for(leaf, known, inferred)
    if mesh is None or leaf.type is OpShardingType.TUPLE:
        return Sharded(text, one.notation, leaf, tensor=tensor)
    name = (
        next((key for key, value in known.items() if value is mesh), None)
        if isinstance(known, Mapping)
        else None
    )
    try:
        manual = get_manual_axes(leaf, mesh)
        if rank is None and leaf.type is not OpShardingType.MAXIMAL:
            return Sharded(text, one.notation, leaf, None, mesh, origin, manual, tensor)
        sdy = convert_to_sdy_sharding(leaf, mesh, rank=rank, mesh_name=name or "mesh", target=target)
    except (ConversionError, VerificationError) as error:
        return Sharded(text, one.notation, leaf, None, mesh, origin, (), tensor, error)
    if leaf.type is OpShardingType.MAXIMAL:
        mesh = MeshAttr.maximal(leaf.tile_assignment.value_at((0,)))
    return Sharded(text, one.notation, leaf, sdy, mesh, origin, manual, tensor)


def _mesh_for(
    leaf: HloSharding, known: Known, inferred: InferredMeshes | None
) -> tuple[MeshAttr | None, MeshOrigin | None]:
    """A known mesh if there are any, even one that the sharding does not fit on; or else an inferred one."""
    given = [known] if isinstance(known, MeshAttr) else list((known or {}).values())
    mesh = None
    if inferred is not None:
        try:
            mesh = inferred.mesh(leaf)
        except SdyBridgeError:
            mesh = None
    if given:
        return (mesh if mesh in given or leaf.is_single_device else given[0]), MeshOrigin.GIVEN
    if mesh is None or mesh.is_empty:
        return None, None
    return mesh, MeshOrigin.INFERRED


def as_meshes(mesh: object) -> Known:
    """The meshes that an argument names: a `MeshAttr`, sizes by axis name, meshes by name, or None.

    >>> as_meshes({"x": 2, "y": 4})
    MeshAttr.from_sizes({'x': 2, 'y': 4})
    """
    if mesh is None or isinstance(mesh, MeshAttr):
        return mesh
    if isinstance(mesh, Mapping):
        if all(isinstance(value, MeshAttr) for value in mesh.values()):
            return dict(mesh)
        return MeshAttr.from_sizes(mesh)
    sizes = getattr(mesh, "shape", None)  # JAX's Mesh and AbstractMesh
    if isinstance(sizes, Mapping):
        devices = getattr(mesh, "devices", None)
        ids = [device.id for device in devices.flat] if hasattr(devices, "flat") else []
        dense = sorted(ids) == list(range(len(ids)))
        return MeshAttr.from_sizes({str(axis): size for axis, size in sizes.items()}, ids if dense else ())
    raise TypeError(f"expected a MeshAttr, or the sizes of axes by name, not a {type(mesh).__name__}")


def as_tensor(shape: object) -> TensorType | None:
    """The tensor that an argument describes: its type as text, its sizes, or anything with shape and dtype."""
    if shape is None or isinstance(shape, TensorType):
        return shape
    if isinstance(shape, str):
        return TensorType.from_string(shape)
    if hasattr(shape, "shape") and hasattr(shape, "dtype"):
        return TensorType(tuple(map(int, shape.shape)), str(shape.dtype).replace("float", "f"))
    if isinstance(shape, (list, tuple)) and all(size is None or type(size) is int for size in shape):
        if any(size is not None and size < 0 for size in shape):
            raise VerificationError(f"a shape has sizes of 0 and more, got {list(shape)}", rule="shape")
        return TensorType(tuple(shape))
    raise TypeError(f"expected the type of a tensor, such as 'f32[64,128]', not {shape!r}")
