"""HLO protos: which instructions carry shardings, edits that keep every other byte, and broken bytes."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Mapping

import pytest

from sdybridge.errors import ProtoError, SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.modules.hlo_program import Edit
from sdybridge.modules.hlo_proto import HloProto
from sdybridge.modules.hlo_proto.frontend_attributes import map_entry
from sdybridge.modules.hlo_proto.wire import message_field, read_fields, varint

ROWS = HloSharding.from_string("{devices=[2,1]<=[2]}")
MANUAL = HloSharding.from_string("{manual}")
LONG = HloSharding.from_string("{devices=[2,64]" + ",".join(map(str, range(128))) + "}")
SHAPE = message_field(3, b"\x10\x0b\x1a\x02\x08\x04")  # f32[8,4]
UNKNOWN = b"\xfa\x3e\x02hi" + b"\xf8\x3e\x05"  # fields that nobody knows: 1007, twice


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def instruction(name: str, opcode: str, id_: int, *, sharding: bytes = b"", attributes: bytes = b"") -> bytes:
    return b"".join(
        [
            message_field(1, name.encode()),
            message_field(2, opcode.encode()),
            SHAPE,
            number(5, 300),
            message_field(7, b""),
            number(35, id_),
            message_field(40, sharding) if sharding else b"",
            message_field(68, attributes),
            UNKNOWN,
        ]
    )


def module(*instructions: bytes, fields: bytes = b"") -> bytes:
    held = b"".join([message_field(2, one) for one in instructions])
    computation = message_field(1, b"main") + held + number(5, 7) + number(6, 1)
    head = message_field(1, b"m") + message_field(2, b"main")
    return head + message_field(3, computation) + number(6, 7) + fields + message_field(19, b"") + UNKNOWN


ONE = module(
    instruction("a", "parameter", 0, sharding=ROWS.to_proto_bytes(), attributes=map_entry("k", "v" * 120)),
    instruction("b", "negate", 1),
)


def found(data: bytes) -> list[tuple[str, str]]:
    return [(site.name, str(site.sharding)) for site in HloProto(data).sites()]


def test_what_a_site_knows() -> None:
    (site,) = HloProto(ONE).sites()
    site.verify()
    assert (site.name, site.opcode, site.shape) == ("a", "parameter", "f32[8,4]")
    assert str(site.sharding) == str(ROWS)
    assert (site.computation, site.is_entry, site.is_root, site.parameter_number) == ("main", True, False, 0)
    assert site.frontend_attributes == {"k": "v" * 120}


def test_inputs_and_output() -> None:
    program = HloProto(ONE)
    assert [site.name for site in program.inputs()] == ["a"]
    output = program.output()
    assert output is not None
    assert output.name == "b"


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_a_module_alone_in_an_hlo_proto_and_in_a_snapshot(layers: int) -> None:
    bare = instruction("a", "parameter", 0, attributes=map_entry("k", "v" * 120))
    data, expected = ONE, module(bare, instruction("b", "negate", 1))
    for _ in range(layers):
        data, expected = (message_field(1, one) + message_field(3, b"buffers") for one in (data, expected))
    assert found(data) == [("a", str(ROWS))]
    assert HloProto(data).edited(lambda _: Edit()) == data
    assert HloProto(data).edited(lambda _: Edit(keeps_sharding=False)) == expected


def test_fields_of_the_module() -> None:
    fields = message_field(12, MANUAL.to_proto_bytes()) + message_field(14, ROWS.to_proto_bytes()) * 2
    data = module(instruction("b", "negate", 1), fields=fields)
    assert found(data) == [
        ("spmd_output_sharding", "{manual}"),
        ("spmd_parameters_shardings[0]", str(ROWS)),
        ("spmd_parameters_shardings[1]", str(ROWS)),
    ]
    removed = HloProto(data).edited(lambda _: Edit(keeps_sharding=False))
    assert removed == module(instruction("b", "negate", 1))


def test_instructions_with_equal_last_fields() -> None:
    def instructions(sharding: HloSharding) -> list[bytes]:
        old, new = message_field(40, ROWS.to_proto_bytes()), message_field(40, sharding.to_proto_bytes())
        last = new + message_field(68, b"") + UNKNOWN
        return [
            message_field(1, b"a") + SHAPE + number(35, 0) + last,
            message_field(1, b"b") + SHAPE + number(35, 1) + last,
            message_field(1, old) + SHAPE + number(35, 2) + last,  # the name looks like the sharding
            last + message_field(1, b"d") + SHAPE + number(35, 3),
            message_field(1, b"e") + new + number(35, 4) + SHAPE + UNKNOWN + message_field(68, b""),
        ]

    for sharding in (MANUAL, LONG):
        edit = Edit(keeps_sharding=False, sharding=sharding)
        edited = HloProto(module(*instructions(ROWS))).edited(lambda _: edit)  # noqa: B023  (called at once)
        assert edited == module(*instructions(sharding))


@pytest.mark.parametrize("sharding", [MANUAL, ROWS, LONG])
def test_a_new_sharding_is_where_protobuf_would_write_it(sharding: HloSharding) -> None:
    entry = map_entry("xla.sdy.k", "v")
    plain = module(instruction("a", "parameter", 0, attributes=entry))
    edited = HloProto(plain).edited(lambda _: Edit(keeps_sharding=False, sharding=sharding))
    expected = instruction("a", "parameter", 0, sharding=sharding.to_proto_bytes(), attributes=entry)
    assert edited == module(expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"k": None}, b""),
        ({"k": "new"}, map_entry("k", "new")),
        ({"a": "1"}, map_entry("a", "1") + map_entry("k", "v" * 120)),
        ({"z": "é" * 100}, map_entry("k", "v" * 120) + map_entry("z", "é" * 100)),
        ({"z": None}, map_entry("k", "v" * 120)),
    ],
)
def test_edits_of_frontend_attributes(changes: dict[str, str | None], expected: bytes) -> None:
    new = HloProto(ONE).edited(lambda _: Edit(attributes=changes), {"m": "1"})
    first = instruction("a", "parameter", 0, sharding=ROWS.to_proto_bytes(), attributes=expected)
    whole = module(first, instruction("b", "negate", 1))
    empty = message_field(19, b"") + UNKNOWN
    assert new == whole.removesuffix(empty) + message_field(19, map_entry("m", "1")) + UNKNOWN


def test_bytes_that_look_like_a_sharding() -> None:
    one = instruction("a", "xla.sdy.", 0, attributes=map_entry("k", "xla.sdy."))
    assert found(module(one + message_field(43, b"\xc2\x02\x02\x08\x04"))) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x0a\x01m\x12\x04ma", "hlo_module: field 2 ends 2 bytes behind what holds it"),
        (b"\x0a\x01m\x1a\x02\x12\x07", r"hlo_module.computations\[0\]: field 2 ends 7 bytes"),
        (b"\x0a\x01m\x1a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "more than 10 bytes"),
        (b"\x0a\x01m\x1a\x80", "the bytes end within a number"),
        (b"\x0a\x01m\x1e", "wire type 6"),
        (b"\x0a\x01m\x02\x01a", "no field has the number 0"),
        (b"\x0a\x01m\x1b\x08", "the bytes end within a number"),
        (b"\x0a\x01m" + b"\x1b" * 200, "a group that does not end"),
        (b"\x0a\x14\x0a\x01m", "hlo_module ends 17 bytes behind"),
        (module(instruction("a", "parameter", 0, sharding=b"\x08\x03")), r"instructions\[0\].sharding: "),
        (module(instruction("a", "parameter", 0, sharding=b"\x08")), "the bytes are no OpSharding"),
        (module(instruction("a", "parameter", 0, sharding=b"\x08\x04") * 2), "a second sharding"),
    ],
)
def test_broken_bytes(data: bytes, message: str) -> None:
    with pytest.raises(ProtoError, match=message) as caught:
        assert not found(data) or HloProto(data).edited(lambda _: Edit(keeps_sharding=False))
    assert "at byte" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"\x1a\x05\x08\x01\x1a\x01m",  # options
        b"\x0a\x04\x08\x01\x12\x00\x12\x01m",  # a report
        b"\x0a\x01m",
    ],
)
def test_protos_of_another_kind(data: bytes) -> None:
    with pytest.raises(ProtoError, match="this is a proto of another kind: it has no computations"):
        HloProto(data)


def test_a_sharding_of_another_rank() -> None:
    flat = HloSharding.iota_tile([2]).to_proto_bytes()
    (site,) = HloProto(module(instruction("a", "parameter", 0, sharding=flat))).sites()
    with pytest.raises(SdyBridgeError, match=r"<bytes>: error: .*instructions\[0\].sharding: .* rank"):
        site.verify()


@pytest.mark.parametrize("seed", range(300))
def test_random_damage(seed: int) -> None:
    """Whatever the bytes are, there is an answer or an error of ours."""
    rng = random.Random(seed)
    data = bytearray(ONE)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data))
        if rng.random() < 0.3:
            del data[at : at + rng.randrange(1, 8)]
        else:
            data[at] = rng.randrange(256)
    with contextlib.suppress(SdyBridgeError):
        for site in HloProto(bytes(data)).sites():
            site.verify()
            assert isinstance(site.frontend_attributes, Mapping)
            assert isinstance(site.shape, str)
        change = Edit(keeps_sharding=False, sharding=MANUAL, attributes={"x": "y"})
        HloProto(bytes(data)).edited(lambda _: change)


def test_every_wire_type_is_passed_over() -> None:
    data = b"\x09" + bytes(8) + b"\x15" + bytes(4) + b"\x1b\x20\x01\x2a\x01a\x33\x34\x1c" + b"\x38\xff\x01"
    ends = [(field.number, field.end) for field in read_fields(data, 0, len(data), "m")]
    assert ends == [(1, 9), (2, 14), (3, 23), (7, 26)]
