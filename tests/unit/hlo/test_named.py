"""Shardings over named meshes: the values, their rules, and what newer releases write."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from sdybridge import hlo
from sdybridge.errors import ConversionError, ParseError, ProtoError, VerificationError
from sdybridge.hlo import (
    AxisRef,
    DimensionSharding,
    HloSharding,
    Mesh,
    NamedSharding,
    OpShardingType,
    ReductionOp,
    ShardGroup,
    SubAxis,
    TileAssignment,
)
from sdybridge.target import Target

AB = Mesh.from_sizes({"a": 2, "b": 4})
FULL_A, FULL_B = AxisRef(0), AxisRef(1)
B_MAJOR, B_MINOR = AxisRef(1, SubAxis(1, 2)), AxisRef(1, SubAxis(2, 2))


def wrong(value: object) -> Any:
    """A value of another type than the type checker wants."""
    return value


def dims(*axes: list[AxisRef]) -> list[DimensionSharding]:
    return [DimensionSharding(tuple(one)) for one in axes]


@pytest.mark.parametrize(
    ("mesh", "text"),
    [
        (AB, "mesh['a'=2,'b'=4]"),
        (Mesh.empty(), "mesh[]"),
        (Mesh.from_sizes({}), "mesh[]"),
        (Mesh.maximal(-1), "maximal_mesh[device_id=-1]"),
        (Mesh(TileAssignment.iota([2, 2], [2, 2], [1, 0]), ["a", "b"]), "device_ids=([2,2]T(1,0))"),
        (Mesh(TileAssignment.from_array([2, 0, 1]), ["a"]), "mesh['a'=3], device_ids=(2,0,1)"),
    ],
)
def test_meshes(mesh: Mesh, text: str) -> None:
    assert text in str(mesh)
    assert eval(repr(mesh), vars(hlo)) == mesh
    assert pickle.loads(pickle.dumps(mesh)) == mesh
    assert hash(pickle.loads(pickle.dumps(mesh))) == hash(mesh)
    assert copy.deepcopy(mesh) is copy.copy(mesh) is mesh


def test_a_mesh_over_very_many_devices() -> None:
    mesh = Mesh.from_sizes({"a": 1 << 30, "b": 1 << 30})
    sharding = HloSharding.named(NamedSharding(mesh, dims([FULL_B], [FULL_A])))
    assert str(sharding.v3_to_v2_sharding()) == (
        "{devices=[1073741824,1073741824]<=[1073741824,1073741824]T(1,0)}"
    )


@pytest.mark.parametrize(
    ("build", "rule", "message"),
    [
        (lambda: AxisRef(-1), "axis-index", "axes are counted from 0"),
        (lambda: AxisRef(wrong("a")), "integer", "mesh_axis_index must be an integer, got 'a'"),
        (lambda: AxisRef(0, wrong(2)), "sub-axis", "sub_axis_info must be a SubAxis, got 2"),
        (lambda: SubAxis(0, 2), "sub-axis", "the pre_size of a sub-axis is at least 1, not 0"),
        (lambda: SubAxis(1, 1), "sub-axis", "the size of a sub-axis is at least 2, not 1"),
        (lambda: Mesh.from_sizes({"a": 0}), "positive-size", "dims[0] is 0, but a size"),
        (lambda: Mesh.from_sizes({"a": 1 << 62, "b": 2}), "too-many-devices", "more than 2**63 - 1"),
        (lambda: Mesh(TileAssignment.iota([2, 2]), ["a", "a"]), "mesh-axis", "two axes named 'a'"),
        (
            lambda: Mesh(TileAssignment.iota([2]), [wrong(0)]),
            "mesh-axis",
            "the name of an axis is a str, got 0",
        ),
        (lambda: Mesh(TileAssignment.iota([2]), ["a", "b"]), "mesh-rank", "2 axis names do not fit"),
        (lambda: Mesh(TileAssignment.iota([2]), []), "mesh-rank", "0 axis names do not fit"),
        (lambda: Mesh(TileAssignment.empty(), ["a"]), "mesh-rank", "1 axis names do not fit"),
        (lambda: Mesh(wrong("mesh"), ["a"]), "tile-assignment", "must be a TileAssignment"),
        (lambda: Mesh(TileAssignment.from_array([0, 1]), ["a"]), "mesh-devices", "in their usual order"),
        (lambda: Mesh(TileAssignment.from_array([0]), ["a"]), "mesh-devices", "in their usual order"),
        (lambda: Mesh(TileAssignment.from_array([1, 1]), ["a"]), "mesh-devices", "has device 1 twice"),
        (lambda: Mesh(TileAssignment.from_array([1, -2]), ["a"]), "mesh-devices", "0..1, not device -2"),
        (lambda: DimensionSharding((wrong(0),)), "named-sharding", "axes[0] must be an AxisRef, got 0"),
        (lambda: NamedSharding(wrong("mesh")), "named-sharding", "mesh must be a Mesh"),
        (
            lambda: NamedSharding(AB, [wrong(FULL_A)]),
            "named-sharding",
            "dim_shardings[0] must be a Dimension",
        ),
        (
            lambda: NamedSharding(AB, manual_axes=[wrong("a")]),
            "named-sharding",
            "manual_axes[0] must be an AxisRef",
        ),
        (lambda: NamedSharding(AB, dims([AxisRef(2)])), "axis-index", "2 axes, and none with the index 2"),
        (lambda: NamedSharding(Mesh.empty(), dims([FULL_A])), "axis-index", "the mesh has no axes"),
        (lambda: NamedSharding(Mesh.maximal(1), dims([FULL_A])), "axis-index", "the mesh has no axes"),
        (lambda: NamedSharding(AB, dims([AxisRef(1, SubAxis(1, 4))])), "sub-axis", "smaller than its size 4"),
        (lambda: NamedSharding(AB, dims([AxisRef(1, SubAxis(2, 4))])), "sub-axis", "cannot be cut behind 8"),
        (lambda: NamedSharding(AB, dims([FULL_A, FULL_A])), "axis-overlap", "'a' is used twice"),
        (lambda: NamedSharding(AB, dims([FULL_B], [B_MAJOR])), "axis-overlap", "'b':(1)2 overlaps 'b'"),
        (lambda: NamedSharding(AB, dims([B_MAJOR, B_MINOR])), "axis-merge", "follow each other"),
        (lambda: NamedSharding(AB, unreduced_axes=[FULL_B, FULL_A]), "axis-order", "'a' stands behind 'b'"),
        (lambda: NamedSharding(AB, manual_axes=[B_MINOR, B_MAJOR]), "axis-order", "are sorted by axis"),
        (lambda: HloSharding.named(wrong("x")), "named-sharding", "must be a NamedSharding, got 'x'"),
    ],
)
def test_rules(build: Any, rule: str, message: str) -> None:
    with pytest.raises(VerificationError) as error:
        build()
    assert error.value.rule == rule
    assert message in error.value.message


def test_the_path_to_a_broken_rule() -> None:
    with pytest.raises(VerificationError) as error:
        NamedSharding(AB, dims([FULL_A], [B_MAJOR]), replicated_axes=[FULL_B])
    assert error.value.path == ("replicated_axes", 0)
    with pytest.raises(VerificationError) as error:
        NamedSharding(AB, dims([FULL_A], [B_MINOR, AxisRef(3)]))
    assert error.value.path == ("dim_shardings", 1, "axes", 1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{mesh['a'=2], [{}]}", OpShardingType.REPLICATED),
        ("{mesh['a'=1], [{'a'}]}", OpShardingType.REPLICATED),
        ("{maximal_mesh[device_id=1]}", OpShardingType.MAXIMAL),
        ("{mesh['a'=2], manual}", OpShardingType.MANUAL),
        ("{mesh['a'=2], unreduced}", OpShardingType.UNREDUCED),
        ("{mesh['a'=2], [{'a'}]}", OpShardingType.OTHER),
        ("{mesh['a'=2,'b'=2], [], manual={'a'}}", OpShardingType.OTHER),
    ],
)
def test_kinds(text: str, kind: OpShardingType) -> None:
    sharding = HloSharding.from_string(text)
    assert sharding.type is kind
    assert eval(repr(sharding), vars(hlo)) == sharding
    assert repr(eval(repr(sharding), vars(hlo))) == repr(sharding)
    assert pickle.loads(pickle.dumps(sharding)) == sharding
    assert copy.deepcopy(sharding) is sharding


def test_the_grid_of_a_named_sharding() -> None:
    sharding = HloSharding.from_string("{mesh['a'=2,'b'=4], [{'b'}, {}]}")
    assert str(sharding.tile_assignment) == "devices=[4,1,2]<=[2,4]T(1,0)"
    assert sharding.num_devices == 8
    assert sharding.num_dimensions == 3
    assert sharding.data_rank == 2
    assert sharding.replicate_on_last_tile_dim
    assert sharding.subgroup_types == ()
    assert sharding.tile_shape([8, 8]) == (2, 8)
    assert sharding.tile_index_for_device(5) == (1, 0)
    assert sharding.tile_offset_for_device([8, 8], 5) == (2, 0)
    assert sharding.tile_limit_for_device([8, 8], 5) == (4, 8)
    assert not sharding.has_unreduced
    sharding.validate([8, 8], 8)
    with pytest.raises(VerificationError, match="the grid has 8 devices, but there are 4"):
        sharding.validate([8, 8], 4)
    with pytest.raises(VerificationError, match="tiles 2 dimensions, but the tensor has rank 1"):
        sharding.validate([8])


def test_a_single_device() -> None:
    sharding = HloSharding.from_string("{maximal_mesh[device_id=3]}")
    assert sharding.is_single_device
    assert sharding.is_maximal
    assert sharding.unique_device == 3
    assert sharding == HloSharding.assign_device(3)
    assert sharding.tile_offset_for_device([4], 0) == (0,)
    with pytest.raises(VerificationError, match="device 3 does not exist"):
        sharding.validate([4], 2)


def test_manual_along_an_axis_of_one_device() -> None:
    sharding = HloSharding.from_string("{mesh['x'=1,'y'=2], [{}], manual={'x'}}")
    assert sharding.is_tiled
    assert not sharding.is_manual
    assert sharding.data_rank == 1
    assert str(sharding.v3_to_v2_sharding()) == "{replicated}"
    assert sharding.tile_shape([4]) == (4,)


def test_names_of_the_axes_in_use() -> None:
    def used(text: str) -> tuple[str, ...]:
        named = HloSharding.from_string(text).named_sharding
        assert named is not None
        return named.used_axis_names

    assert used("{mesh['a'=2,'b'=4,'c'=2], [{'c','b':(2)2}, {'b':(1)2}], manual={'a'}}") == ("c", "b", "a")
    assert used("{mesh['a'=2], replicated}") == ()


def test_equality() -> None:
    def read(text: str) -> HloSharding:
        return HloSharding.from_string(text)

    split = read("{mesh['a'=2,'b'=4], [{'a'}, {}]}")
    assert split == read("{mesh['x'=2,'y'=4], [{'x'}, {}], replicated={'y'}}")
    assert split != read("{mesh['a'=2,'b'=4], [{'a', ?}, {}]}")
    assert split != read("{mesh['a'=8], [{'a':(1)2}, {}]}")
    assert split.v3_to_v2_sharding() == read("{mesh['a'=8], [{'a':(1)2}, {}]}")
    assert split == read("{devices=[2,1,4]<=[8] last_tile_dim_replicate}")
    assert split == read("{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}")
    assert split != read("{devices=[2,1,4]<=[8] last_tile_dim_replicate shard_as 1}")
    assert read("{mesh['a'=2], replicated}") == read("{mesh[], [{}, {?}]}") == HloSharding.replicate()
    assert read("{{mesh['a'=2], replicated}, {manual}}") == read("{{replicated}, {mesh['a'=2], manual}}")
    assert split.with_reduction_op(ReductionOp.MAX) != split
    assert read('{mesh[\'a\'=2], [{"a"}], metadata={op_name="x"}}') == read("{mesh['a'=2], [{'a'}]}")
    assert split != NotImplemented


def test_the_grid_keeps_metadata_and_reduction() -> None:
    sharding = HloSharding.from_string("{mesh['a'=2], unreduced, metadata={op_name=\"x\"}}")
    grid = sharding.with_reduction_op(ReductionOp.MAX).v3_to_v2_sharding()
    assert grid.to_string() == '{unreduced metadata={op_name="x"}}'
    assert grid.reduction_op is ReductionOp.MAX
    assert sharding.with_metadata([]).to_string() == "{mesh['a'=2], unreduced}"


def test_no_shard_group() -> None:
    sharding = HloSharding.from_string("{mesh['a'=2], [{'a'}]}")
    with pytest.raises(VerificationError, match="there are no shard groups"):
        sharding.with_shard_group(ShardGroup(1))
    assert sharding.with_shard_group(None) == sharding


@pytest.mark.parametrize(
    ("text", "printed", "op"),
    [
        ("{mesh['a'=2], unreduced=max}", "{mesh['a'=2], unreduced=max}", "MAX"),
        ("{mesh['a'=2], unreduced=sum}", "{mesh['a'=2], unreduced}", "SUM"),
        ("{mesh['a'=2], unreduced}", "{mesh['a'=2], unreduced}", "SUM"),
        ("{mesh['a'=2], [], unreduced=min{'a'}}", "{mesh['a'=2], unreduced=min}", "MIN"),
        ("{mesh['a'=2], [{}], unreduced=max{'a'}}", "{mesh['a'=2], [{}], unreduced=max{'a'}}", "MAX"),
        ("{mesh['a'=2,'b'=1], unreduced=max{'a'}}", "{mesh['a'=2,'b'=1], unreduced=max{'a'}}", "MAX"),
        ("{mesh['a'=2,'b'=1], unreduced{'a'}}", "{mesh['a'=2,'b'=1], unreduced{'a'}}", "SUM"),
        ("{mesh['a'=2], [{?}], unreduced={'a'}}", "{mesh['a'=2], [{?}], unreduced={'a'}}", "SUM"),
    ],
)  # fmt: skip
def test_newer_reductions(text: str, printed: str, op: str) -> None:
    sharding = HloSharding.from_string(text, target=Target.NEWER)
    assert sharding.to_string(target=Target.NEWER) == printed
    assert sharding.reduction_op is ReductionOp[op]
    data = sharding.to_proto_bytes(target=Target.NEWER)
    assert HloSharding.from_proto(data, target=Target.NEWER) == sharding
    assert HloSharding.from_proto(data).reduction_op is ReductionOp.SUM
    if op == "SUM":
        assert sharding.to_proto_bytes() == data
    else:
        assert data.endswith(bytes([0x40, ReductionOp[op]]))
        with pytest.raises(ConversionError, match=f"names the reduction {op} only in newer releases"):
            sharding.to_proto()


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("{mesh['a'=2], unreduced=mean}", 25, "expected sum, max or min"),
        ("{mesh['a'=2], unreduced={'a'}}", 25, "expected sum, max or min"),
        ("{mesh['a'=2], [{}], unreduced=mean{'a'}}", 31, "expected sum, max or min"),
        ("{mesh['a'=2], [{}], manual=max{'a'}}", 28, "expected '{'"),
    ],
)
def test_newer_errors(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as error:
        HloSharding.from_string(text, target=Target.NEWER)
    assert error.value.location == f"<string>:1:{column}"
    assert message in error.value.message


def test_a_reduction_that_there_is_not() -> None:
    data = bytes.fromhex("720b12070a050a016110024007")
    assert str(HloSharding.from_proto(data)) == "{mesh['a'=2], replicated}"
    with pytest.raises(ProtoError, match=r"named_sharding\.reduction_op: there is no reduction 7"):
        HloSharding.from_proto(data, target=Target.NEWER)


def test_the_classic_release_has_no_meshes() -> None:
    sharding = HloSharding.from_string("{mesh['a'=2], [{'a'}]}")
    with pytest.raises(ConversionError, match="the classic OpSharding has no named meshes"):
        sharding.to_proto(target=Target.CLASSIC)
    with pytest.raises(ParseError, match="expected an item or '}'"):
        HloSharding.from_string("{mesh['a'=2], [{'a'}]}", target=Target.CLASSIC)
    data = sharding.to_proto_bytes()
    assert HloSharding.from_proto(data, target=Target.CLASSIC).is_replicated


def test_a_name_that_is_no_utf8() -> None:
    sharding = HloSharding.from_string(r"{mesh['\xff'=2], [{'\xff'}]}")
    with pytest.raises(ProtoError, match="the name of a mesh axis must be valid UTF-8"):
        sharding.to_proto()


def test_names_without_quotes() -> None:
    text = "{mesh[a=2,my-axis.0=4], device_ids=([4,2]T(1,0)), [{my-axis.0:(1)2, ?}, {a}], "
    assert str(HloSharding.from_string(f"{text}manual={{my-axis.0:(2)2}}}}")) == (
        "{mesh['a'=2,'my-axis.0'=4], device_ids=([4,2]T(1,0)), [{'my-axis.0':(1)2, ?}, {'a'}], "
        "manual={'my-axis.0':(2)2}}"
    )
