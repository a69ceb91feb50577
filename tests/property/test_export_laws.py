"""Laws of the converter from named axes to device grids, on random valid shardings."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.property.strategies import meshes_and_shardings, spaced
from tests.unit.bridge.placement import assert_places

from sdybridge.bridge import LossKind, convert_to_hlo_sharding, export_losses, get_ordered_axis_refs
from sdybridge.sdy import (
    AxisRefAttr,
    DimensionShardingAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

GRIDS = st.sampled_from([target for target in Target if target is not Target.NAMED])
"""The targets whose shardings are over device grids."""


@given(meshes_and_shardings())
def test_every_device_gets_its_tile(case: tuple[MeshAttr, TensorShardingAttr]) -> None:
    mesh, sharding = case
    assert_places(convert_to_hlo_sharding(sharding, mesh), sharding, mesh)


@given(meshes_and_shardings(), st.data())
def test_every_device_gets_its_tile_inside_a_manual_computation(
    case: tuple[MeshAttr, TensorShardingAttr], data: st.DataObject
) -> None:
    mesh, sharding = case
    taken = {ref.name for ref in sharding.axis_refs}
    free = [axis.name for axis in mesh.axes if axis.name not in taken]
    manual = data.draw(st.permutations(free).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[:n])))
    assert_places(convert_to_hlo_sharding(sharding, mesh, manual_axes=manual), sharding, mesh, manual)


@given(meshes_and_shardings())
def test_ordered_axis_refs_tile_the_mesh(case: tuple[MeshAttr, TensorShardingAttr]) -> None:
    mesh, sharding = case
    ordered = get_ordered_axis_refs(sharding, mesh)
    assert math.prod(ref.get_size(mesh) for ref in ordered) == mesh.total_size
    assert list(ordered) == sorted(ordered, key=mesh.axis_ref_key)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(ordered, 2))
    claimed = [ref for dim in sharding.dim_shardings for ref in dim.axes]
    assert {*claimed, *sharding.unreduced_axes} <= set(ordered)
    for axis in mesh.axes:  # an axis is cut only if the sharding cuts it
        pieces = [ref for ref in ordered if ref.name == axis.name]
        cuts = [
            ref for ref in (*claimed, *sharding.unreduced_axes) if ref.name == axis.name and ref.sub_axis_info
        ]
        assert cuts or pieces == [AxisRefAttr(axis.name)]


@given(meshes_and_shardings())
def test_tile_dims_multiply_to_the_number_of_devices(case: tuple[MeshAttr, TensorShardingAttr]) -> None:
    mesh, sharding = case
    hlo = convert_to_hlo_sharding(sharding, mesh)
    if hlo.is_tiled:
        assert math.prod(hlo.tile_assignment.dims) == hlo.num_devices == mesh.total_size
        assert hlo.tile_assignment.is_iota == (not mesh.device_ids)
        assert sorted(hlo.tile_assignment.array.flat) == sorted(mesh.device_ids or range(mesh.total_size))


@given(meshes_and_shardings(), GRIDS)
def test_nothing_is_lost_only_when_nothing_is_there(
    case: tuple[MeshAttr, TensorShardingAttr], target: Target
) -> None:
    mesh, sharding = case
    losses = export_losses(sharding, mesh, target=target)
    uses_axes = any(dim.axes for dim in sharding.dim_shardings) or bool(sharding.unreduced_axes)
    assert bool(losses) == bool(
        uses_axes
        or sharding.replicated_axes
        or mesh.device_ids
        or any(dim.priority is not None or not dim.is_closed for dim in sharding.dim_shardings)
    )
    kinds = [loss.kind for loss in losses]
    assert kinds.count(LossKind.OPENNESS) == sum(not dim.is_closed for dim in sharding.dim_shardings)
    assert kinds.count(LossKind.EXPLICIT_REPLICATION) == len(sharding.replicated_axes)
    assert kinds.count(LossKind.UNREDUCED) == (
        len(sharding.unreduced_axes) if target is Target.CLASSIC else 0
    )


@given(meshes_and_shardings(), st.data())
def test_spelling_does_not_matter(case: tuple[MeshAttr, TensorShardingAttr], data: st.DataObject) -> None:
    mesh, sharding = case
    again = TensorShardingAttr.from_string(data.draw(spaced(str(sharding))))
    inline = TensorShardingAttr(
        mesh, sharding.dim_shardings, sharding.replicated_axes, sharding.unreduced_axes
    )
    assert convert_to_hlo_sharding(again, mesh) is convert_to_hlo_sharding(sharding, mesh)
    assert convert_to_hlo_sharding(inline) == convert_to_hlo_sharding(sharding, {"mesh": mesh})


@given(meshes_and_shardings())
def test_what_is_lost_does_not_matter(case: tuple[MeshAttr, TensorShardingAttr]) -> None:
    """Closing the dimensions, dropping priorities and replicated lists leaves the text as it is."""
    mesh, sharding = case
    dims = [DimensionShardingAttr(dim.axes, True) for dim in sharding.dim_shardings]
    bare = TensorShardingAttr("mesh", dims, (), sharding.unreduced_axes)
    assert str(convert_to_hlo_sharding(bare, mesh)) == str(convert_to_hlo_sharding(sharding, mesh))


@given(meshes_and_shardings())
def test_axis_names_do_not_matter(case: tuple[MeshAttr, TensorShardingAttr]) -> None:
    mesh, sharding = case
    names = {axis.name: f"renamed{i}" for i, axis in enumerate(mesh.axes)}
    renamed_mesh = MeshAttr.from_sizes({names[axis.name]: axis.size for axis in mesh.axes}, mesh.device_ids)
    renamed = _mapped(sharding, lambda ref: AxisRefAttr(names[ref.name], ref.sub_axis_info))
    assert str(convert_to_hlo_sharding(renamed, renamed_mesh)) == str(convert_to_hlo_sharding(sharding, mesh))


@given(meshes_and_shardings())
def test_axes_of_size_1_do_not_matter(case: tuple[MeshAttr, TensorShardingAttr]) -> None:
    mesh, sharding = case
    if mesh.total_size == 1:
        return  # a mesh of one device is spelled out, unless it has no axes
    real = MeshAttr([axis for axis in mesh.axes if axis.size > 1], mesh.device_ids)
    dims = [
        DimensionShardingAttr([ref for ref in dim.axes if ref.name in real.axis_sizes], True)
        for dim in sharding.dim_shardings
    ]
    unreduced = [ref for ref in sharding.unreduced_axes if ref.name in real.axis_sizes]
    # Sub-axes that an axis of size 1 held apart have to be written as one.
    neighbours = [
        pair for axes in (*[dim.axes for dim in dims], unreduced) for pair in itertools.pairwise(axes)
    ]
    assume(not any(left.can_merge(right) for left, right in neighbours))
    without = TensorShardingAttr("mesh", dims, (), unreduced)
    assert str(convert_to_hlo_sharding(without, real)) == str(convert_to_hlo_sharding(sharding, mesh))


@given(meshes_and_shardings())
def test_listing_the_devices_in_order_does_not_matter(case: tuple[MeshAttr, TensorShardingAttr]) -> None:
    """An iota and the list it stands for are equal; a permuted mesh permutes the devices of the grid."""
    mesh, sharding = case
    plain = convert_to_hlo_sharding(sharding, MeshAttr(mesh.axes))
    listed = convert_to_hlo_sharding(sharding, mesh)
    if (
        mesh.device_ids
        and plain.is_tiled
        and not listed.replicate_on_last_tile_dim
        and not listed.subgroup_types
    ):
        array = plain.tile_assignment.array
        assert [[mesh.device_ids[i] for i in array.flat]] == [list(listed.tile_assignment.array.flat)]


@given(meshes_and_shardings())
def test_classic_reads_unreduced_axes_as_replicated(case: tuple[MeshAttr, TensorShardingAttr]) -> None:
    mesh, sharding = case
    dropped = TensorShardingAttr("mesh", sharding.dim_shardings, (), ())
    assert convert_to_hlo_sharding(sharding, mesh, target=Target.CLASSIC) == convert_to_hlo_sharding(
        dropped, mesh
    )


@given(st.lists(meshes_and_shardings(max_devices=8), min_size=1, max_size=3))
def test_a_list_converts_item_by_item(cases: list[tuple[MeshAttr, TensorShardingAttr]]) -> None:
    shardings = [TensorShardingAttr(mesh, s.dim_shardings, (), s.unreduced_axes) for mesh, s in cases]
    parsed = TensorShardingPerValueAttr.from_string(str(TensorShardingPerValueAttr(shardings)))
    assert [convert_to_hlo_sharding(s) for s in parsed.shardings] == [
        convert_to_hlo_sharding(s, mesh) for mesh, s in cases
    ]


def _mapped(sharding: TensorShardingAttr, change: Callable[[AxisRefAttr], AxisRefAttr]) -> TensorShardingAttr:
    dims = [
        DimensionShardingAttr(map(change, dim.axes), dim.is_closed, dim.priority)
        for dim in sharding.dim_shardings
    ]
    return TensorShardingAttr(
        "mesh", dims, map(change, sharding.replicated_axes), map(change, sharding.unreduced_axes)
    )
