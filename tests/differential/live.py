"""Attributes in the memory of a process: built by jaxlib's own MLIR bindings, with their addresses.

As a program it builds random ones, prints `ADDRESS TEXT` lines, and keeps them alive until its standard input
ends.
"""

from __future__ import annotations

import ctypes
import random
import sys
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy as bindings

from sdybridge.sdy import (
    AllToAllParamAttr,
    AllToAllParamListAttr,
    Attribute,
    AxisRefAttr,
    AxisRefListAttr,
    DimensionShardingAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    SubAxisInfoAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NAMES = ("x", "y", "z", "data", "_axis_0", "a.b$c", "", " ", 'q"\\', "line\n", "nul\0nul", "é", "日本", "\udcff")
_NUMBERS = (0, 1, 2, 3, 4, 8, 12, 512, -1, -5, 2**31, 2**62, 2**63 - 1, -(2**63))


def new_context() -> Any:
    """A context that knows Shardy."""
    context = ir.Context()
    bindings.register_dialect(context)
    return context


def build(attr: Attribute, context: Any) -> Any:
    """The same attribute in jaxlib: through the binding's builder where there is one, else by its text."""
    match attr:
        case MeshAxisAttr(name, size) if is_text(name):
            return bindings.MeshAxisAttr.get(name, size, context)
        case MeshAttr(axes, device_ids):
            return bindings.MeshAttr.get([build(axis, context) for axis in axes], list(device_ids), context)
        case SubAxisInfoAttr(pre_size, size):
            return bindings.SubAxisInfoAttr.get(pre_size, size, context)
        case AxisRefAttr(name, sub_axis_info) if is_text(name):
            info = None if sub_axis_info is None else build(sub_axis_info, context)
            return bindings.AxisRefAttr.get(name, info, context)
        case DimensionShardingAttr(axes, is_closed, priority):
            refs = [build(axis, context) for axis in axes]
            return bindings.DimensionShardingAttr.get(refs, is_closed, priority, context)
        case TensorShardingAttr(mesh, dims, replicated, unreduced) if isinstance(mesh, MeshAttr) or is_text(mesh):
            return bindings.TensorShardingAttr.get(
                mesh if isinstance(mesh, str) else build(mesh, context),
                *[[build(part, context) for part in parts] for parts in (dims, replicated, unreduced)],
                context,
            )
        case TensorShardingPerValueAttr(shardings):
            return bindings.TensorShardingPerValueAttr.get([build(one, context) for one in shardings], context)
        case ManualAxesAttr(names) if all(map(is_text, names)):
            return bindings.ManualAxesAttr.get([ir.StringAttr.get(name, context) for name in names], context)
        case _:
            return ir.Attribute.parse(str(attr), context)


def is_text(name: str) -> bool:
    """Whether the bindings take the name: all but bytes that are not UTF-8."""
    return name.encode("utf-8", "replace").decode() == name


def address_of(attr: Any) -> int:
    """The one pointer that an `mlir::Attribute` is."""
    capsule = attr._CAPIPtr
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = pointer(capsule, name(capsule))
    return address


def random_attribute(rng: random.Random) -> Attribute:
    """An attribute of any kind, as free as its class allows."""
    return rng.choice(_KINDS)(rng)


def _name(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(20)).decode("utf-8", "surrogateescape")
    return rng.choice(_NAMES)


def _number(rng: random.Random) -> int:
    return rng.choice((rng.choice(_NUMBERS), rng.randrange(-(2**63), 2**63)))


def _several(rng: random.Random, kind: Callable[[random.Random], Any], most: int = 3) -> Sequence[Any]:
    return [kind(rng) for _ in range(rng.randrange(most + 1))]


def _axis(rng: random.Random) -> MeshAxisAttr:
    return MeshAxisAttr(_name(rng), max(1, abs(_number(rng)) % 2**63))


def _mesh(rng: random.Random) -> MeshAttr:
    if rng.random() < 0.2:
        return MeshAttr((), [rng.randrange(2**63)] if rng.random() < 0.7 else ())
    sizes = {name: rng.randrange(1, 5) for name in {_name(rng) for _ in range(rng.randrange(1, 4))}}
    mesh = MeshAttr.from_sizes(sizes)
    ids = list(range(mesh.total_size))
    rng.shuffle(ids)
    return MeshAttr(mesh.axes, ids if rng.random() < 0.5 else ())


def _part(rng: random.Random) -> SubAxisInfoAttr:
    return SubAxisInfoAttr(_number(rng), _number(rng))


def _ref(rng: random.Random) -> AxisRefAttr:
    return AxisRefAttr(_name(rng), _part(rng) if rng.random() < 0.5 else None)


def _dimension(rng: random.Random) -> DimensionShardingAttr:
    priority = None if rng.random() < 0.5 else rng.choice((0, 1, 7, 2**63 - 1))
    return DimensionShardingAttr(_several(rng, _ref), rng.random() < 0.5, priority)


def _sharding(rng: random.Random) -> TensorShardingAttr:
    mesh = _mesh(rng) if rng.random() < 0.3 else _name(rng) or "mesh"
    return TensorShardingAttr(mesh, _several(rng, _dimension, 5), _several(rng, _ref), _several(rng, _ref))


def _ref_list(rng: random.Random) -> AxisRefListAttr:
    return AxisRefListAttr(_several(rng, _ref))


def _move(rng: random.Random) -> AllToAllParamAttr:
    return AllToAllParamAttr([_ref(rng), *_several(rng, _ref, 2)], abs(_number(rng)) % 9, abs(_number(rng)) % 9)


_KINDS: Sequence[Callable[[random.Random], Attribute]] = (
    _axis,
    _mesh,
    _part,
    _ref,
    _dimension,
    _sharding,
    _sharding,
    lambda rng: TensorShardingPerValueAttr(_several(rng, _sharding)),
    lambda rng: ManualAxesAttr(_several(rng, _name)),
    _ref_list,
    lambda rng: ListOfAxisRefListsAttr(_several(rng, _ref_list)),
    _move,
    lambda rng: AllToAllParamListAttr(_several(rng, _move)),
)


def main() -> None:
    """Builds as many attributes as asked for, from the seed that is given."""
    seed, count = sys.argv[1], int(sys.argv[2])
    rng = random.Random(seed)
    context = new_context()
    for _ in range(count):
        attr = build(random_attribute(rng), context)
        print(f"{address_of(attr):#x} {attr}")
    print(flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
