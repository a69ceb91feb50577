from __future__ import annotations

from typing import Any

import pytest

from sdybridge.errors import VerificationError
from sdybridge.hlo import HloSharding, OpMetadata, OpShardingType, ReductionOp, ShardGroup
from sdybridge.target import Target

FULL = OpMetadata(
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
A, B = OpMetadata(op_name="a"), OpMetadata(op_name="b")


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (OpMetadata(), ""),
        (OpMetadata(op_type="a", op_name="b"), 'op_type="a" op_name="b"'),
        (OpMetadata(source_line=0, op_name=""), ""),
        (OpMetadata(op_name='q"x\n'), r'op_name="q\"x\n"'),
        (OpMetadata(op_name="it's"), r'op_name="it\'s"'),
        (OpMetadata(op_name="é"), r'op_name="\303\251"'),
        (OpMetadata(op_name="\udcff\udce9\t"), r'op_name="\377\351\t"'),
        (OpMetadata(op_name="\x00\x7f\\\r"), r'op_name="\000\177\\\r"'),
        (OpMetadata(scheduling_name='a"b'), 'scheduling_name="a"b"'),
        (OpMetadata(stack_frame_id=-1, op_name="a"), 'op_name="a" stack_frame_id=-1'),
        (
            FULL,
            (
                'op_name="a" source_file="f.py" source_line=7 source_end_line=8 source_column=1 '
                'source_end_column=2 profile_type={1,2} deduplicated_name="d" scheduling_name="s" '
                'stack_frame_id=4 metadata_payload="pp"'
            ),
        ),
    ],
)
def test_text_of_an_entry(entry: OpMetadata, text: str) -> None:
    assert HloSharding.replicate(metadata=[entry]).to_string() == f"{{replicated metadata={{{text}}}}}"


@pytest.mark.parametrize(
    ("sharding", "text"),
    [
        (HloSharding.replicate(metadata=[A, B]), '{replicated metadata={{op_name="a"}, {op_name="b"}}}'),
        (HloSharding.assign_device(1, metadata=[A]), '{maximal device=1 metadata={op_name="a"}}'),
        (HloSharding.iota_tile([2, 2], metadata=[A]), '{devices=[2,2]<=[4] metadata={op_name="a"}}'),
        (
            HloSharding.iota_tile([2, 1, 2], subgroup_types=[OpShardingType.REPLICATED], metadata=[A]),
            '{devices=[2,1,2]<=[4] last_tile_dim_replicate metadata={op_name="a"}}',
        ),
        (
            HloSharding.replicate(metadata=[A]).with_shard_group(ShardGroup(1)),
            '{replicated shard_as 1 metadata={op_name="a"}}',
        ),
        (
            HloSharding.flat_tuple([HloSharding.replicate(metadata=[A]), HloSharding.manual()]),
            '{{replicated metadata={op_name="a"}}, {manual}}',
        ),
        (HloSharding.unreduced(), "{unreduced}"),
    ],
)
def test_text_of_a_sharding(sharding: HloSharding, text: str) -> None:
    assert sharding.to_string() == text
    assert sharding.to_string(include_metadata=False) == str(sharding)
    assert "metadata" not in str(sharding)


@pytest.mark.parametrize(
    ("sharding", "text"),
    [
        (HloSharding.unreduced(), '{unreduced metadata={op_type="sdy::reduction_op" op_name="SUM"}}'),
        (
            HloSharding.iota_tile(
                [2, 2], subgroup_types=[OpShardingType.UNREDUCED], metadata=[A]
            ).with_reduction_op(ReductionOp.MAX),
            (
                "{devices=[2,2]<=[4] last_tile_dims={unreduced} "
                'metadata={{op_name="a"}, {op_type="sdy::reduction_op" op_name="MAX"}}}'
            ),
        ),
        (HloSharding.replicate(), "{replicated}"),
        (
            HloSharding.replicate().with_reduction_op(ReductionOp.MIN),
            '{replicated metadata={op_type="sdy::reduction_op" op_name="MIN"}}',
        ),
    ],
)
def test_newer_releases_add_the_reduction(sharding: HloSharding, text: str) -> None:
    assert sharding.to_string(target=Target.NEWER) == text


@pytest.mark.parametrize(
    "fields",
    [
        {"op_name": 3},
        {"op_name": b"x"},
        {"source_line": "7"},
        {"source_line": 2**31},
        {"stack_frame_id": -(2**31) - 1},
        {"profile_type": 1},
        {"profile_type": (2**31,)},
        {"profile_type": ("a",)},
    ],
)
def test_rejected(fields: dict[str, Any]) -> None:
    with pytest.raises(VerificationError):
        OpMetadata(**fields)


def test_repr_evaluates() -> None:
    assert eval(repr(FULL)) == FULL
    assert repr(OpMetadata()) == "OpMetadata()"
