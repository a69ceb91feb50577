"""What the case files of protos do not show: sources, nesting, metadata, targets, bytes written as text."""

from __future__ import annotations

import copy
import pickle

import pytest

from sdybridge import hlo
from sdybridge.errors import ParseError, ProtoError
from sdybridge.hlo import HloSharding, OpMetadata, ReductionOp, ShardGroup, decode_proto_text, op_sharding_pb2
from sdybridge.hlo.proto_text import decode_base64, decode_escaped, decode_hex
from sdybridge.target import Target

GRID = bytes.fromhex("08031a0202024a0104520100")
REDUCTION = "0a117364793a3a726564756374696f6e5f6f701203"


def entry(name: str) -> str:
    """A metadata field that names a reduction, in hex."""
    return "3a18" + REDUCTION + name.encode().hex()


def nested(depth: int) -> bytes:
    message = op_sharding_pb2.OpSharding()
    innermost = message
    for _ in range(depth):
        innermost.type = op_sharding_pb2.OpSharding.TUPLE
        innermost = innermost.tuple_shardings.add()
    return message.SerializeToString()


class Foreign:
    """A message of another package."""

    def SerializeToString(self) -> bytes:  # noqa: N802
        return GRID


@pytest.mark.parametrize(
    "source",
    [GRID, bytearray(GRID), memoryview(GRID), op_sharding_pb2.OpSharding.FromString(GRID), Foreign()],
    ids=lambda source: type(source).__name__,
)
def test_source(source: bytes) -> None:
    assert str(HloSharding.from_proto(source)) == "{devices=[2,2]<=[4]}"


def test_jaxlib_message() -> None:
    message = pytest.importorskip("jaxlib.xla_client").OpSharding()
    message.ParseFromString(GRID)
    assert str(HloSharding.from_proto(message)) == "{devices=[2,2]<=[4]}"


@pytest.mark.parametrize("source", ["0803", None, 3])
def test_no_source(source: bytes) -> None:
    with pytest.raises(TypeError, match="source must be an OpSharding message or bytes"):
        HloSharding.from_proto(source)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("08", id="a value is missing"),
        pytest.param("1a05", id="shorter than it says"),
        pytest.param("00", id="field 0"),
        pytest.param("3a031201ff", id="not UTF-8"),
        pytest.param("2a0208", id="a broken element"),
        pytest.param("08ffffffffffffffffffff01", id="a number of 11 bytes"),
        pytest.param(GRID.hex() + "0c", id="a group that does not start"),
    ],
)
def test_malformed_bytes(data: str) -> None:
    with pytest.raises(ProtoError):
        HloSharding.from_proto(bytes.fromhex(data))


class TestTuples:
    @pytest.mark.parametrize("depth", [1, 2, 50, 100])
    def test_nested(self, depth: int) -> None:
        data = nested(depth)
        sharding = HloSharding.from_proto(data)
        assert sharding.to_proto_bytes() == data
        assert str(sharding) == "{" * depth + "{replicated}" + "}" * depth
        assert eval(repr(sharding), dict(vars(hlo))) == sharding
        assert pickle.loads(pickle.dumps(sharding)) == sharding
        assert copy.deepcopy(sharding) == sharding
        assert sharding.is_replicated

    def test_too_deep(self) -> None:
        message = op_sharding_pb2.OpSharding()
        innermost = message
        for _ in range(101):
            innermost.type = op_sharding_pb2.OpSharding.TUPLE
            innermost = innermost.tuple_shardings.add()
        with pytest.raises(ProtoError, match="tuples nest at most 100 deep"):
            HloSharding.from_proto(message)
        with pytest.raises(ProtoError, match="the bytes are no OpSharding"):
            HloSharding.from_proto(message.SerializeToString())

    def test_an_error_names_the_way_to_the_field(self) -> None:
        message = op_sharding_pb2.OpSharding(type="TUPLE")
        message.tuple_shardings.add()
        inner = message.tuple_shardings.add(type="TUPLE").tuple_shardings
        inner.add(type="OTHER", tile_assignment_dimensions=[2, -1], tile_assignment_devices=[0, 1])
        with pytest.raises(ProtoError) as error:
            HloSharding.from_proto(message)
        assert error.value.message == (
            "tuple_shardings[1].tuple_shardings[0]: tile_assignment_dimensions[1] is -1, "
            "but a size counts devices and is at least 1"
        )


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param("", id="empty"),
        pytest.param("0a0161980601", id="unknown field"),
        pytest.param("0a0161620178a201030a0178", id="known fields"),
        pytest.param("40054806", id="sizes"),
        pytest.param("52030a0101620161", id="profile info"),
        pytest.param("a20100", id="payload without value"),
        pytest.param("a201020a00", id="payload with an empty value"),
        pytest.param("a201060a0170120171", id="payload with an unknown field"),
        pytest.param("a2010312017a", id="payload with an unknown field alone"),
        pytest.param("2a02ff01", id="unknown profile type"),
        pytest.param("20ffffffffffffffffff01", id="negative line"),
    ],
)
def test_metadata_is_kept_byte_for_byte(metadata: str) -> None:
    body = bytes.fromhex(metadata)
    data = bytes([0x3A, len(body)]) + body
    sharding = HloSharding.from_proto(data)
    assert sharding.to_proto_bytes() == data
    assert eval(repr(sharding), dict(vars(hlo))).metadata == sharding.metadata


def test_other_fields_of_metadata_must_be_a_message() -> None:
    sharding = HloSharding.replicate(metadata=[OpMetadata(other_fields=b"\xff")])
    with pytest.raises(ProtoError, match="other_fields must be a serialised OpMetadata"):
        sharding.to_proto()


class TestNewer:
    @pytest.mark.parametrize(
        ("data", "op", "left"),
        [
            ("0806" + entry("MAX"), ReductionOp.MAX, 0),
            ("0806" + entry("MIN"), ReductionOp.MIN, 0),
            ("0806" + entry("SUM"), ReductionOp.SUM, 0),
            ("0806" + entry("ADD"), ReductionOp.SUM, 0),
            ("0806" + entry("MAX") + entry("SUM"), ReductionOp.MAX, 0),
            ("0806" + entry("MAX") + entry("MIN"), ReductionOp.MIN, 0),
            ("0806" + "3a00" + entry("MAX") + "3a00", ReductionOp.MAX, 2),
            ("08031a0202023a00420106" + entry("MIN") + "4a0104520100", ReductionOp.MIN, 1),
            ("0806", ReductionOp.SUM, 0),
        ],
    )
    def test_the_reduction_is_no_metadata(self, data: str, op: ReductionOp, left: int) -> None:
        sharding = HloSharding.from_proto(bytes.fromhex(data), target=Target.NEWER)
        assert sharding.reduction_op is op
        assert len(sharding.metadata) == left

    def test_current_keeps_it_as_metadata(self) -> None:
        data = bytes.fromhex("0806" + entry("MAX"))
        assert HloSharding.from_proto(data).to_proto_bytes() == data

    def test_bytes_are_kept(self) -> None:
        data = bytes.fromhex("0806" + entry("MAX"))
        sharding = HloSharding.from_proto(data, target=Target.NEWER)
        assert sharding.to_proto_bytes(target=Target.NEWER) == data

    def test_a_tuple_with_nothing_but_reductions(self) -> None:
        data = bytes.fromhex("0802" + entry("MAX"))
        assert str(HloSharding.from_proto(data, target=Target.NEWER)) == "{}"
        with pytest.raises(ProtoError, match="metadata: a tuple has none of its own"):
            HloSharding.from_proto(data)


def test_a_group_that_is_read_and_written() -> None:
    sharding = HloSharding.manual().with_shard_group(ShardGroup(7))
    assert HloSharding.from_proto(sharding.to_proto()).shard_group == ShardGroup(7)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"tile_assignment_dimensions": [1] * 33, "tile_assignment_devices": [0, 1]},
            "at most 32 dimensions",
        ),
        ({"tile_assignment_dimensions": [2**40] * 50_000, "tile_assignment_devices": [0, 1]}, "2.*63 - 1"),
        ({"tile_assignment_dimensions": [2], "iota_reshape_dims": [2**40] * 50_000}, "but 0 are ordered"),
        (
            {
                "tile_assignment_dimensions": [2, 1500000000],
                "iota_reshape_dims": [1000000000, 3],
                "iota_transpose_perm": [1, 0],
                "replicate_on_last_tile_dim": True,
            },
            "no more than 268435456 are written out one by one",
        ),
    ],
    ids=["rank", "dims", "reshape dims", "too many to list"],
)
def test_hostile_messages(fields: dict[str, object], message: str) -> None:
    proto = op_sharding_pb2.OpSharding(type="OTHER", **fields)  # type: ignore[arg-type]
    with pytest.raises(ProtoError, match=message):
        HloSharding.from_proto(proto)


def test_a_count_with_many_ones() -> None:
    ones = op_sharding_pb2.OpSharding(
        type="OTHER",
        tile_assignment_dimensions=[4],
        iota_reshape_dims=[2, *[1] * 1000, 2],
        iota_transpose_perm=[1001, *range(1, 1001), 0],
    )
    assert str(HloSharding.from_proto(ones)) == "{devices=[4]<=[2,2]T(1,0)}"


def test_a_million_devices() -> None:
    ids = list(reversed(range(1 << 20)))
    proto = op_sharding_pb2.OpSharding(
        type="OTHER", tile_assignment_dimensions=[1024, 1024], tile_assignment_devices=ids
    )
    sharding = HloSharding.from_proto(proto)
    assert sharding.tile_assignment.array.ravel().tolist() == ids


class TestProtoText:
    @pytest.mark.parametrize(
        "text",
        [
            GRID.hex(),
            GRID.hex(" ").upper(),
            f"\n{GRID.hex()}\n",
            "CAMaAgICSgEEUgEA",
            "CAMaAgIC\nSgEEUgEA\n",
            r"\08\03\1A\02\02\02J\01\04R\01\00",
            r'"\08\03\1A\02\02\02J\01\04R\01\00"',
        ],
    )
    def test_each_form(self, text: str) -> None:
        assert decode_proto_text(text) == GRID
        assert str(HloSharding.from_proto(decode_proto_text(text))) == "{devices=[2,2]<=[4]}"

    def test_no_bytes(self) -> None:
        assert decode_proto_text("") == decode_proto_text('""') == decode_hex(" ") == decode_base64("") == b""

    @pytest.mark.parametrize(
        ("decode", "text", "data"),
        [
            (decode_base64, "-_8", b"\xfb\xff"),
            (decode_base64, "+/8=", b"\xfb\xff"),
            (decode_base64, "0803", bytes.fromhex("d3cd37")),
            (decode_escaped, r"\n\t\\\22\"é"[:-1], b'\n\t\\""'),
            (decode_escaped, "J", b"J"),
        ],
    )
    def test_one_form(self, decode, text: str, data: bytes) -> None:  # type: ignore[no-untyped-def]
        assert decode(text) == data

    @pytest.mark.parametrize(
        ("decode", "text", "message", "column"),
        [
            (decode_hex, "0g", "'g' is no hexadecimal digit", 2),
            (decode_hex, "080", "a byte has two hexadecimal digits, and here is half of one", 4),
            (decode_base64, "CA!Q", "'!' is no character of base64", 3),
            (decode_base64, "CA==CAQ=", "'=' ends base64, and here it goes on", 3),
            (decode_base64, "CAQDA", "base64 ends in the middle of a byte", 6),
            (decode_escaped, r'"\08\0"', "an escape is a backslash and two hexadecimal digits", 5),
            (decode_escaped, "\\08\N{EURO SIGN}", "no byte", 4),
            (decode_proto_text, "{replicated}", "'{' is no character of base64", 1),
        ],
    )
    def test_error(self, decode, text: str, message: str, column: int) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(ParseError) as error:
            decode(text)
        assert error.value.message == message
        assert str(error.value).startswith(f"<string>:1:{column}: error: ")
