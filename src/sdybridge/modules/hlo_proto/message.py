"""A protobuf message class for instructions, with the fields that are asked for; others are unknown to it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_FIELDS = {
    "name": 1,
    "opcode": 2,
    "shape": 3,
    "parameter_number": 9,
    "tuple_index": 13,
    "custom_call_target": 28,
    "id": 35,
    "sharding": 40,
    "frontend_attributes": 68,
}
_NUMBERS = frozenset(("parameter_number", "tuple_index", "id"))


@functools.cache
def instruction_parser() -> tuple[Callable[[bytes], Any], type[Exception]]:
    """What parses the bytes of an instruction, and what it raises if they are none.

    What XLA has as a message or a string is bytes here, looked at when they are needed.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError

    file = descriptor_pb2.FileDescriptorProto(
        name="sdybridge/hlo_instruction.proto", package="sdybridge.proto", syntax="proto2"
    )
    message = file.message_type.add(name="HloInstruction")
    for name, number in _FIELDS.items():
        field = message.field.add(
            name=name, number=number, label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        )
        field.type = field.TYPE_INT64 if name in _NUMBERS else field.TYPE_BYTES
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    cls = message_factory.GetMessageClass(pool.FindMessageTypeByName("sdybridge.proto.HloInstruction"))
    return cls.FromString, DecodeError
