"""Laws of device grids and HLO shardings, against short NumPy programs and slow models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.property.hlo_strategies import (
    REDUCTION_OPS,
    SUBGROUP_TYPES,
    iota_programs,
    leaf_shardings,
    shardings,
    tile_assignments,
)

from sdybridge import SdyBridgeError, hlo
from sdybridge.hlo import HloSharding, IotaTileAssignment, OpShardingType, TileAssignment
from sdybridge.hlo.primes import prime_factors
from sdybridge.target import Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

Program = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

REPLICATED = OpShardingType.REPLICATED
WHOLE = {
    OpShardingType.REPLICATED: HloSharding.replicate(),
    OpShardingType.MANUAL: HloSharding.manual(),
    OpShardingType.UNREDUCED: HloSharding.unreduced(),
}


def run(program: Program) -> NDArray[np.int64]:
    dims, sizes, perm = program
    return np.arange(math.prod(sizes)).reshape(sizes).transpose(perm).reshape(dims)


class TestIota:
    """An iota is `arange(n).reshape(reshape_dims).transpose(transpose_perm).reshape(dims)`."""

    @given(iota_programs())
    def test_canonical_form_keeps_the_devices(self, program: Program) -> None:
        iota = IotaTileAssignment(*program)
        assert (iota.to_array() == run(program)).all()
        assert (run((iota.dims, iota.reshape_dims, iota.transpose_perm)) == run(program)).all()

    @given(iota_programs())
    def test_canonical_form_is_stable(self, program: Program) -> None:
        iota = IotaTileAssignment(*program)
        assert IotaTileAssignment(iota.dims, iota.reshape_dims, iota.transpose_perm) == iota

    @given(iota_programs(max_devices=16), iota_programs(max_devices=16))
    def test_equal_devices_are_equal_iotas(self, left: Program, right: Program) -> None:
        same = np.array_equal(run(left), run(right))
        assert (IotaTileAssignment(*left) == IotaTileAssignment(*right)) is same

    @given(iota_programs())
    def test_value_at_and_index_for(self, program: Program) -> None:
        iota = IotaTileAssignment(*program)
        for index, device in np.ndenumerate(run(program)):
            assert iota.value_at(index) == device
            assert iota.index_for(int(device)) == index

    @given(iota_programs(), st.data())
    def test_transpose(self, program: Program, data: st.DataObject) -> None:
        iota = IotaTileAssignment(*program)
        perm = data.draw(st.permutations(range(iota.num_dimensions)))
        transposed = iota.transpose(perm)
        if transposed is not None:
            assert (transposed.to_array() == run(program).transpose(perm)).all()

    @given(st.integers(1, 2**63 - 1))
    def test_prime_factors(self, n: int) -> None:
        factors = prime_factors(n)
        assert math.prod(factors) == n
        assert list(factors) == sorted(factors)
        assert all(prime_factors(factor) == (factor,) for factor in factors)


class TestTileAssignment:
    @given(tile_assignments(), st.data())
    def test_transpose_and_reshape(self, grid: TileAssignment, data: st.DataObject) -> None:
        perm = data.draw(st.permutations(range(grid.num_dimensions)))
        expected = grid.array.transpose(perm)
        assert (grid.transpose(perm).array == expected).all()
        assert (grid.transpose(perm).reshape([grid.num_elements]).array == expected.reshape(-1)).all()

    @given(tile_assignments(), tile_assignments())
    def test_equality_is_that_of_arrays(self, left: TileAssignment, right: TileAssignment) -> None:
        assert (left == right) is np.array_equal(left.array, right.array)
        if left == right:
            assert hash(left) == hash(right)

    @given(tile_assignments())
    def test_a_list_equals_its_iota(self, grid: TileAssignment) -> None:
        listed = TileAssignment.from_array(grid.array)
        assert listed == grid
        assert grid == listed
        assert hash(listed) == hash(grid)

    @given(tile_assignments())
    def test_index_for(self, grid: TileAssignment) -> None:
        for index, device in np.ndenumerate(grid.array):
            assert grid.index_for(int(device)) == index
            assert grid.value_at(index) == device


class TestNormalForms:
    """A normal form leaves each device its tile, and keeps apart the devices that were apart."""

    @given(tile_assignments())
    def test_partial_tile_is_the_subgroup_of_replicas(self, grid: TileAssignment) -> None:
        partial = HloSharding.partial_tile(grid)
        assert partial == HloSharding.subgroup(grid, [REPLICATED])
        if not partial.is_tiled:
            assert grid.dims[-1] == grid.num_elements
        elif not partial.replicate_on_last_tile_dim:
            assert (partial.tile_assignment.array == grid.array[..., 0]).all()
        else:
            assert (partial.tile_assignment.array == np.sort(grid.array, axis=-1)).all()

    @given(tile_assignments(), st.data())
    def test_subgroup(self, grid: TileAssignment, data: st.DataObject) -> None:
        types = data.draw(st.lists(SUBGROUP_TYPES, min_size=1, max_size=grid.num_dimensions))
        sharding = HloSharding.subgroup(grid, types)
        rank = grid.num_dimensions - len(types)
        if not sharding.is_tiled:
            assert math.prod(grid.dims[:rank]) == 1
            shown = {type_ for type_, size in zip(types, grid.dims[rank:], strict=True) if size > 1}
            assert (shown or set(types)) == {sharding.type}
            return
        assert sharding.data_rank == rank
        expected = coordinates(grid.array, types, rank)
        kept = list(sharding.subgroup_types) or [REPLICATED] * sharding.replicate_on_last_tile_dim
        found = coordinates(sharding.tile_assignment.array, kept, rank)
        assert found == expected

    @given(tile_assignments(), st.data())
    def test_normal_form_is_stable(self, grid: TileAssignment, data: st.DataObject) -> None:
        types = data.draw(st.lists(SUBGROUP_TYPES, max_size=grid.num_dimensions))
        sharding = HloSharding.subgroup(grid, types)
        if not sharding.is_tiled or not sharding.subgroup_types:
            return
        again = HloSharding.subgroup(sharding.tile_assignment, sharding.subgroup_types)
        if not again.is_unreduced:  # XLA keeps an unreduced subgroup apart only the first time
            assert str(again) == str(sharding)

    @given(tile_assignments(), SUBGROUP_TYPES)
    def test_all_of_one_type(self, grid: TileAssignment, type_: OpShardingType) -> None:
        sharding = HloSharding.subgroup(grid, [type_] * grid.num_dimensions)
        if type_ in WHOLE:
            assert sharding == WHOLE[type_]
        elif grid.num_elements > 1:
            assert sharding == HloSharding.subgroup(grid.reshape([grid.num_elements]), [type_])


def coordinates(
    devices: NDArray[np.int64], types: list[OpShardingType], rank: int
) -> dict[int, tuple[object, ...]]:
    """For each device: its tile, and where it sits in the subgroups of each type (but replicas)."""
    found: dict[int, tuple[object, ...]] = {}
    for index, device in np.ndenumerate(devices):
        position: dict[OpShardingType, int] = {}
        for type_, at, size in zip(types, index[rank:], devices.shape[rank:], strict=True):
            if type_ is not REPLICATED:
                position[type_] = position.get(type_, 0) * size + at
        found[int(device)] = (index[:rank], {type_: at for type_, at in position.items() if at})
    return found


class TestHloSharding:
    @given(shardings())
    def test_repr_evaluates_to_the_same(self, sharding: HloSharding) -> None:
        again = eval(repr(sharding), dict(vars(hlo)))
        assert again == sharding
        assert again.to_string() == sharding.to_string()
        assert hash(again) == hash(sharding)

    @given(shardings(), shardings())
    def test_equal_ones_hash_alike(self, left: HloSharding, right: HloSharding) -> None:
        if left == right:
            assert hash(left) == hash(right)
        assert (left == right) is (right == left)

    @given(leaf_shardings())
    def test_a_listed_grid_is_equal(self, sharding: HloSharding) -> None:
        if not sharding.is_tiled or sharding.subgroup_types or sharding.num_dimensions == 0:
            return
        listed = TileAssignment.from_array(sharding.tile_assignment.array)
        build = HloSharding.partial_tile if sharding.replicate_on_last_tile_dim else HloSharding.tile
        again = build(listed).with_shard_group(sharding.shard_group)
        assert again == sharding
        assert hash(again) == hash(sharding)

    @given(shardings())
    def test_metadata_does_not_count(self, sharding: HloSharding) -> None:
        assert sharding.with_metadata([]) == sharding
        assert str(sharding.with_metadata([])) == str(sharding)


class TestProto:
    """Bytes decode to the fields of the sharding."""

    @given(leaf_shardings())
    def test_fields(self, sharding: HloSharding) -> None:
        from sdybridge.hlo import op_sharding_pb2

        proto = op_sharding_pb2.OpSharding.FromString(sharding.to_proto_bytes())
        assert proto.type == int(sharding.type)
        assert proto.replicate_on_last_tile_dim is sharding.replicate_on_last_tile_dim
        assert tuple(map(int, proto.last_tile_dims)) == sharding.subgroup_types
        iota = sharding.tile_assignment.iota_form
        if sharding.is_tiled:
            assert tuple(proto.tile_assignment_dimensions) == sharding.tile_assignment.dims
        if iota is None:
            assert list(proto.tile_assignment_devices) == sharding.tile_assignment.array.ravel().tolist()
        else:
            assert tuple(proto.iota_reshape_dims) == iota.reshape_dims
            assert tuple(proto.iota_transpose_perm) == iota.transpose_perm
        group = sharding.shard_group
        assert proto.is_shard_group is (group is not None and group.id != -1)
        if group is not None and proto.is_shard_group:
            assert (proto.shard_group_id, int(proto.shard_group_type)) == (group.id, group.kind)
        assert [entry.op_name for entry in proto.metadata] == [entry.op_name for entry in sharding.metadata]
        assert [tuple(entry.profile_type) for entry in proto.metadata] == [
            entry.profile_type for entry in sharding.metadata
        ]

    @given(shardings())
    def test_tuples_hold_their_elements(self, sharding: HloSharding) -> None:
        proto = sharding.to_proto()
        assert [element.SerializeToString() for element in proto.tuple_shardings] == [
            element.to_proto_bytes() for element in sharding.tuple_elements
        ]

    @given(leaf_shardings(), REDUCTION_OPS)
    def test_newer_releases_add_one_entry(self, sharding: HloSharding, op: hlo.ReductionOp) -> None:
        proto = sharding.with_reduction_op(op).to_proto(target=Target.NEWER)
        added = [entry.op_name for entry in proto.metadata][len(sharding.metadata) :]
        assert added == ([op.name] if sharding.has_unreduced or op is not hlo.ReductionOp.SUM else [])


@given(leaf_shardings(), st.sampled_from(Target))
def test_bytes_are_those_of_the_message(sharding: HloSharding, target: Target) -> None:
    """Also where they are written without one."""
    try:
        message = sharding.to_proto(target=target)
    except SdyBridgeError:
        return
    assert sharding.to_proto_bytes(target=target) == message.SerializeToString(deterministic=True)
