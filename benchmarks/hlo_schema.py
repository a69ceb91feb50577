"""A protobuf message class for HLO modules: the fields that make up most of one; others are unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

if TYPE_CHECKING:
    from google.protobuf.message import Message

_TYPES = {
    "int": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
}
_MESSAGES = {
    "Shape": {"element_type": (2, "int"), "dimensions": (3, "*int"), "tuple_shapes": (4, "*Shape")},
    "Entry": {"key": (1, "string"), "value": (2, "string")},
    "FrontendAttributes": {"map": (1, "*Entry")},
    "Metadata": {"op_type": (1, "string"), "op_name": (2, "string"), "source_file": (3, "string")},
    "Sharding": {
        "type": (1, "int"),
        "tile_assignment_dimensions": (3, "*int"),
        "tile_assignment_devices": (4, "*int"),
        "tuple_shardings": (5, "*Sharding"),
        "iota_reshape_dims": (9, "*int"),
        "iota_transpose_perm": (10, "*int"),
    },
    "Instruction": {
        "name": (1, "string"),
        "opcode": (2, "string"),
        "shape": (3, "Shape"),
        "metadata": (7, "Metadata"),
        "parameter_number": (9, "int"),
        "id": (35, "int"),
        "operand_ids": (36, "*int"),
        "sharding": (40, "Sharding"),
        "frontend_attributes": (68, "FrontendAttributes"),
    },
    "Computation": {
        "name": (1, "string"),
        "instructions": (2, "*Instruction"),
        "id": (5, "int"),
        "root_id": (6, "int"),
    },
    "Module": {"name": (1, "string"), "computations": (3, "*Computation"), "id": (5, "int")},
}


def module_class() -> type[Message]:
    """The class; parsing with it and serialising again gives the same fields in another order."""
    file = descriptor_pb2.FileDescriptorProto(name="hlo.proto", package="benchmark", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, (number, kind) in fields.items():
            field = message.field.add(name=field_name, number=number)
            field.label = field.LABEL_REPEATED if kind.startswith("*") else field.LABEL_OPTIONAL
            kind = kind.removeprefix("*")
            field.type = _TYPES.get(kind, field.TYPE_MESSAGE)
            if kind not in _TYPES:
                field.type_name = f".benchmark.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("benchmark.Module")
    return message_factory.GetMessageClass(found)
