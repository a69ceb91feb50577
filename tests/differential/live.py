"""Attributes in the memory of a process: built by jaxlib's own MLIR bindings, with their addresses.

As a program it builds random ones, prints `ADDRESS TEXT` lines, and keeps them alive until its standard input
ends. With a third argument it may leave a core dump.
"""

from __future__ import annotations

import ctypes
import random
import resource
import sys
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy as bindings
from tests.differential.random_attributes import random_attribute

from sdybridge.sdy import (
    Attribute,
    AxisRefAttr,
    DimensionShardingAttr,
    ManualAxesAttr,
    MeshAttr,
    MeshAxisAttr,
    SubAxisInfoAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)

_PR_SET_PTRACER = 0x59616D61


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
        case TensorShardingAttr(mesh, dims, replicated, unreduced) if isinstance(mesh, MeshAttr) or is_text(
            mesh
        ):
            return bindings.TensorShardingAttr.get(
                mesh if isinstance(mesh, str) else build(mesh, context),
                *[[build(part, context) for part in parts] for parts in (dims, replicated, unreduced)],
                context,
            )
        case TensorShardingPerValueAttr(shardings):
            return bindings.TensorShardingPerValueAttr.get(
                [build(one, context) for one in shardings], context
            )
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


def main() -> None:
    """Builds as many attributes as asked for, from the seed that is given."""
    seed, count, *dumps = sys.argv[1:]
    if dumps:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_long(-1), 0, 0, 0)  # any process may debug this one
    rng = random.Random(seed)
    context = new_context()
    for _ in range(int(count)):
        attr = build(random_attribute(rng), context)
        print(f"{address_of(attr):#x} {attr}")
    print(flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
