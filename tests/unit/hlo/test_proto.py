from __future__ import annotations

import subprocess
import sys

import pytest
from tests.unit.hlo.notation import build

from sdybridge.errors import ConversionError, ProtoError
from sdybridge.hlo import HloSharding, OpMetadata, ReductionOp, ShardGroup
from sdybridge.target import Target

MAX_ENTRY = OpMetadata(op_type="sdy::reduction_op", op_name="MAX")


@pytest.mark.parametrize(
    ("entries", "hex_bytes"),
    [
        ([OpMetadata()], "3a00"),
        ([OpMetadata(op_name="a"), OpMetadata(op_name="b")], "3a031201613a03120162"),
        (
            [OpMetadata(op_type="a", op_name="b", source_file="f", source_line=300)],
            "3a0c0a01611201621a016620ac02",
        ),
        (
            [
                OpMetadata(
                    op_name="a",
                    source_file="f.py",
                    source_line=7,
                    source_end_line=8,
                    source_column=1,
                    source_end_column=2,
                    profile_type=(1, 2),
                    deduplicated_name="d",
                    scheduling_name="s",
                    stack_frame_id=4,
                    metadata_payload="pp",
                )
            ],
            "3a281201611a04662e707920072a020102620164780482010173880108900101980102a201040a027070",
        ),
    ],
)
def test_metadata(entries: list[OpMetadata], hex_bytes: str) -> None:
    assert HloSharding.replicate(metadata=entries).to_proto_bytes().hex() == hex_bytes


@pytest.mark.parametrize(
    ("sharding", "target", "hex_bytes"),
    [
        pytest.param(HloSharding.unreduced(), Target.CURRENT, "0806", id="current has none"),
        pytest.param(
            HloSharding.unreduced(metadata=[MAX_ENTRY]),
            Target.CURRENT,
            "08063a180a117364793a3a726564756374696f6e5f6f7012034d4158",
            id="current passes an entry on",
        ),
        pytest.param(
            HloSharding.unreduced(),
            Target.NEWER,
            "08063a180a117364793a3a726564756374696f6e5f6f70120353554d",
            id="newer adds SUM",
        ),
        pytest.param(
            HloSharding.unreduced().with_reduction_op(ReductionOp.MAX),
            Target.NEWER,
            "08063a180a117364793a3a726564756374696f6e5f6f7012034d4158",
            id="newer adds MAX",
        ),
        pytest.param(
            build("{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}"),
            Target.NEWER,
            "08031a030201023a180a117364793a3a726564756374696f6e5f6f70120353554d4201064a0104520100",
            id="newer adds SUM to a subgroup",
        ),
        pytest.param(
            build("{devices=[2,2]<=[4]}"), Target.NEWER, "08031a0202024a0104520100", id="nothing to add"
        ),
        pytest.param(
            HloSharding.flat_tuple([HloSharding.unreduced(), HloSharding.replicate()]),
            Target.NEWER,
            "08022a1c08063a180a117364793a3a726564756374696f6e5f6f70120353554d2a00",
            id="newer, in a tuple",
        ),
    ],
)
def test_reduction(sharding: HloSharding, target: Target, hex_bytes: str) -> None:
    assert sharding.to_proto_bytes(target=target).hex() == hex_bytes


@pytest.mark.parametrize(
    ("sharding", "target"),
    [
        (HloSharding.unreduced(), Target.CLASSIC),
        (build("{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}"), Target.CLASSIC),
        (build("{{replicated},{unreduced}}"), Target.CLASSIC),
        (HloSharding.unreduced().with_reduction_op(ReductionOp.MAX), Target.CURRENT),
        (HloSharding.replicate().with_reduction_op(ReductionOp.MIN), Target.CURRENT),
    ],
)
def test_what_a_target_cannot_express(sharding: HloSharding, target: Target) -> None:
    with pytest.raises(ConversionError) as error:
        sharding.to_proto_bytes(target=target)
    assert error.value.help is not None


@pytest.mark.parametrize("entry", [OpMetadata(op_name="\udcff"), OpMetadata(metadata_payload="\udcff")])
def test_metadata_that_is_not_utf_8(entry: OpMetadata) -> None:
    sharding = HloSharding.replicate(metadata=[entry])
    with pytest.raises(ProtoError, match="must be valid UTF-8"):
        sharding.to_proto()


def test_message_fields() -> None:
    sharding = build("{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated} shard_like 5}")
    proto = sharding.to_proto()
    assert type(proto).DESCRIPTOR.full_name == "sdybridge.proto.OpSharding"
    assert proto.type == proto.OTHER
    assert list(proto.tile_assignment_dimensions) == [2, 2, 2]
    assert list(proto.last_tile_dims) == [proto.MANUAL, proto.REPLICATED]
    assert list(proto.iota_reshape_dims) == [2, 2, 2]
    assert list(proto.iota_transpose_perm) == [0, 2, 1]
    assert (proto.is_shard_group, proto.shard_group_id, proto.shard_group_type) == (
        True,
        5,
        proto.LIKE,
    )
    assert not proto.HasField("named_sharding")


def test_a_group_of_minus_1_is_no_group() -> None:
    assert HloSharding.replicate().with_shard_group(ShardGroup(-1)).to_proto_bytes() == b""


def test_unknown_fields_survive() -> None:
    from sdybridge.hlo import op_sharding_pb2

    # tile_shape with contents, then fields 15 and 19, which are not in our .proto.
    data = bytes.fromhex("120210087801980601")
    assert op_sharding_pb2.OpSharding.FromString(data).SerializeToString() == data


def test_protobuf_and_numpy_load_only_when_needed() -> None:
    code = """
import sys
from sdybridge.hlo import HloSharding, TileAssignment
sharding = HloSharding.partial_tile(TileAssignment.iota([2, 2]))
str(sharding), repr(sharding), hash(sharding), sharding == HloSharding.assign_device(1)
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"numpy", "google", "jax"}, loaded
sharding.to_proto_bytes()
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
