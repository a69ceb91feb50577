"""Where HLO modules carry shardings, by jaxlib's own parser of HLO text and by plain protobuf."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from jaxlib import _hlo, xla_client

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELD = descriptor_pb2.FieldDescriptorProto
_STRING, _BYTES, _INT = _FIELD.TYPE_STRING, _FIELD.TYPE_BYTES, _FIELD.TYPE_INT64
_MESSAGES: dict[str, list[tuple[str, int, int | str, bool]]] = {
    "Entry": [("key", 1, _STRING, False), ("value", 2, _STRING, False)],
    "Attributes": [("map", 1, "Entry", True)],
    "Instruction": [
        ("name", 1, _STRING, False),
        ("opcode", 2, _STRING, False),
        ("custom_call_target", 28, _STRING, False),
        ("id", 35, _INT, False),
        ("sharding", 40, _BYTES, True),
        ("attributes", 68, "Attributes", False),
    ],
    "Computation": [
        ("name", 1, _STRING, False),
        ("instructions", 2, "Instruction", True),
        ("id", 5, _INT, False),
        ("root_id", 6, _INT, False),
    ],
    "Module": [
        ("name", 1, _STRING, False),
        ("computations", 3, "Computation", True),
        ("entry_computation_id", 6, _INT, False),
        ("spmd_output_sharding", 12, _BYTES, True),
        ("spmd_parameters_shardings", 14, _BYTES, True),
        ("attributes", 19, "Attributes", False),
    ],
    "HloProto": [("hlo_module", 1, "Module", False)],
}
"""The messages of XLA's `hlo.proto` as far as they are looked at: name, number, type, is repeated."""


class Site(NamedTuple):
    """One place that carries a sharding, or Shardy's attributes."""

    computation: str
    is_entry: bool
    name: str
    opcode: str
    target: str
    is_root: bool
    sharding: str | None
    attributes: tuple[tuple[str, str], ...]


class Module(NamedTuple):
    """What a module says: its name, its frontend attributes, and its places."""

    name: str
    attributes: dict[str, str]
    sites: list[Site]


def read_text(text: str) -> Module:
    """What jaxlib's parser finds in HLO text."""
    return read_module(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


def read_proto(data: bytes) -> Module:
    """What is in the bytes of an `HloProto`; jaxlib must find the same."""
    module = _classes()["HloProto"].FromString(data).hlo_module
    by_jaxlib = _hlo.HloModule.from_serialized_hlo_module_proto(module.SerializeToString())
    found, again = _module(module), read_module(by_jaxlib.as_serialized_hlo_module_proto())
    assert sorted(found.sites, key=str) == sorted(again.sites, key=str)
    return found


def read_module(data: bytes) -> Module:
    """What is in the bytes of an `HloModuleProto`."""
    return _module(_classes()["Module"].FromString(data))


def _module(module: Any) -> Module:
    return Module(module.name, _attributes(module), list(_sites(module)))


def _sites(module: Any) -> Iterator[Site]:
    for computation in module.computations:
        is_entry = computation.id == module.entry_computation_id
        for one in computation.instructions:
            attributes = _attributes(one)
            if one.sharding or any(key.startswith("xla.sdy.") for key in attributes):
                yield Site(
                    computation.name,
                    is_entry,
                    one.name,
                    one.opcode,
                    one.custom_call_target,
                    one.id == computation.root_id,
                    _canonical(one.sharding[0]) if one.sharding else None,
                    tuple(sorted(attributes.items())),
                )
    for one in module.spmd_output_sharding:
        yield _field("spmd_output_sharding", one)
    for i, one in enumerate(module.spmd_parameters_shardings):
        yield _field(f"spmd_parameters_shardings[{i}]", one)


def _field(name: str, sharding: bytes) -> Site:
    return Site("", False, name, "", "", False, _canonical(sharding), ())


def _attributes(message: Any) -> dict[str, str]:
    return {entry.key: entry.value for entry in message.attributes.map}


@functools.cache
def _canonical(sharding: bytes) -> str:
    """What jaxlib prints of the bytes of an `OpSharding`."""
    message = xla_client.OpSharding()
    message.ParseFromString(sharding)
    return str(xla_client.HloSharding.from_proto(message))


@functools.cache
def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="oracle.proto", package="oracle", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, is_repeated in fields:
            label = _FIELD.LABEL_REPEATED if is_repeated else _FIELD.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                added.type, added.type_name = _FIELD.TYPE_MESSAGE, f".oracle.{kind}"
            else:
                added.type = kind  # type: ignore[assignment]
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"oracle.{name}"))
        for name in _MESSAGES
    }
