"""Shardings in any notation, read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdybridge.bridge.notations import Notation, notation_of, read_hlo_sharding
from sdybridge.errors import ParseError, SdyBridgeError, VerificationError
from sdybridge.hlo import HloSharding
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.sdy.printer import symbol
from sdybridge.source import Source, Span
from sdybridge.view.partition_spec import parse_partition_spec
from sdybridge.view.tensor_type import TensorType

if TYPE_CHECKING:
    from sdybridge.target import Target

    Known = MeshAttr | Mapping[str, MeshAttr] | None

_PER_VALUE = re.compile(r"#sdy\.sharding_per_value<|\[\s*<")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sharding, or one for each of several values, that is not on a mesh yet."""

    source: Source
    notation: Notation
    sdy: tuple[TensorShardingAttr, ...] = ()
    hlo: HloSharding | None = None


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
    kind = type(given).__name__
    if kind in ("P", "PartitionSpec", "HloSharding"):  # of JAX and jaxlib, whose text says it
        return _parse_text(Source(str(given), name), known, rank, target)
    if kind == "NamedSharding" and hasattr(given, "spec"):
        return _parse_text(Source(str(given.spec), name), known, rank, target)
    raise TypeError(
        f"expected a sharding: text, a TensorShardingAttr, an HloSharding, proto bytes or a PartitionSpec, "
        f"not a {type(given).__name__}"
    )


def _parse_text(source: Source, known: Known, rank: int | None, target: Target) -> Parsed:
    notation = notation_of(source.text)
    whole = Span(0, len(source.text))
    if notation in (Notation.HLO, Notation.PROTO):
        return Parsed(source, notation, (), read_hlo_sharding(source, whole, notation, target))
    if notation is Notation.PARTITION_SPEC:
        mesh = known if isinstance(known, MeshAttr) else next(iter((known or {}).values()), None)
        try:
            spec = parse_partition_spec(source.text, mesh, rank=rank, mesh_name=_only_name(known))
        except ParseError as error:
            raise error.located(source, error.span or whole) from None
        return Parsed(source, notation, (spec,))
    return Parsed(source, notation, _read_sdy(source, known, target))


def _read_sdy(source: Source, known: Known, target: Target) -> tuple[TensorShardingAttr, ...]:
    """One sharding, or several with brackets around them; dimensions alone are on the only mesh."""
    text, shift = completed(source.text, known)
    try:
        if _PER_VALUE.match(text):
            return TensorShardingPerValueAttr.from_string(text, target=target).shardings
        return (TensorShardingAttr.from_string(text, target=target),)
    except SdyBridgeError as error:
        raise relocated(error, source, shift) from None


def completed(given: str, known: Known) -> tuple[str, int]:
    """A Shardy sharding's text without white space around it, and what to add to offsets in it."""
    text = given.strip()
    shift = given.find(text) if text else 0
    if text.startswith("[") and not _PER_VALUE.match(text):
        opening = f"<{symbol(_only_name(known))}, "
        return f"{opening}{text}>", shift - len(opening)
    return text, shift


def relocated(error: SdyBridgeError, source: Source, shift: int) -> SdyBridgeError:
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
        try:
            ids = [device.id for device in mesh.devices.flat]  # type: ignore[attr-defined]
        except (AttributeError, ValueError):  # an AbstractMesh has no devices
            ids = []
        dense = sorted(ids) == list(range(len(ids)))
        return MeshAttr.from_sizes({str(axis): size for axis, size in sizes.items()}, ids if dense else ())
    raise TypeError(f"expected a MeshAttr, or the sizes of axes by name, not a {type(mesh).__name__}")


def as_tensor(shape: object) -> TensorType | None:
    """The tensor that an argument describes: its type as text, its sizes, or what has a shape and a dtype."""
    if shape is None or isinstance(shape, TensorType):
        return shape
    if isinstance(shape, str):
        return TensorType.from_string(shape)
    if hasattr(shape, "shape") and hasattr(shape, "dtype"):
        return TensorType(tuple(map(int, shape.shape)), _element_of(str(shape.dtype)))
    if isinstance(shape, (list, tuple)) and all(size is None or type(size) is int for size in shape):
        if any(size is not None and size < 0 for size in shape):
            raise VerificationError(f"a shape has sizes of 0 and more, got {list(shape)}", rule="shape")
        return TensorType(tuple(shape))
    raise TypeError(f"expected the type of a tensor, such as 'f32[64,128]', not {shape!r}")


def _element_of(dtype: str) -> str:
    """XLA's name of a NumPy type.

    >>> [_element_of(name) for name in ("float32", "bfloat16", "int8", "uint4", "bool", "complex64")]
    ['f32', 'bf16', 's8', 'u4', 'pred', 'c64']
    """
    for theirs, ours in (("float", "f"), ("uint", "u"), ("int", "s"), ("complex", "c"), ("bool", "pred")):
        if theirs in dtype:
            return dtype.replace(theirs, ours).partition("_")[0]
    return dtype
