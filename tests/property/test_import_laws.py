"""Laws of the import: it undoes the export, and places every device as the grid does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.property.hlo_strategies import factorizations, iota_programs, tile_assignments
from tests.property.strategies import shardings_on, small_meshes
from tests.unit.bridge.same_placement import assert_same_placement

from sdybridge.bridge import (
    LossKind,
    convert_to_hlo_sharding,
    convert_to_sdy_sharding,
    get_axis_sizes,
    get_manual_axes,
    import_losses,
    infer_mesh,
)
from sdybridge.errors import ConversionError
from sdybridge.hlo import HloSharding, OpShardingType, TileAssignment
from sdybridge.hlo.iota_recognition import recognize_iota
from sdybridge.sdy import AxisRefAttr, DimensionShardingAttr, MeshAttr, TensorShardingAttr

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPES = st.sampled_from([OpShardingType.MANUAL, OpShardingType.UNREDUCED, OpShardingType.REPLICATED])


def normal_form(sharding: TensorShardingAttr, mesh: MeshAttr, replicated: bool = False) -> TensorShardingAttr:
    """What a round trip leaves: axes are merged, axes of size 1 and the rest are gone."""
    used = [
        ref
        for refs in (*[dim.axes for dim in sharding.dim_shardings], sharding.unreduced_axes)
        for ref in refs
    ]
    return TensorShardingAttr(
        sharding.mesh_or_ref,
        [DimensionShardingAttr(merged(dim.axes, mesh)) for dim in sharding.dim_shardings],
        complement(used, mesh) if replicated else (),
        merged(sharding.unreduced_axes, mesh),
    )


def merged(refs: Sequence[AxisRefAttr], mesh: MeshAttr) -> list[AxisRefAttr]:
    found: list[AxisRefAttr] = []
    for ref in refs:
        if ref.get_size(mesh) == 1:
            continue
        if found and found[-1].can_merge(ref):
            found[-1] = found[-1].merge(ref, mesh)
        else:
            found.append(ref)
    return found


def complement(used: Sequence[AxisRefAttr], mesh: MeshAttr) -> list[AxisRefAttr]:
    """The parts of the axes that are not used, in mesh order."""
    rest = []
    for axis in mesh.axes:
        parts = [ref for ref in used if ref.name == axis.name]
        if any(ref.sub_axis_info is None for ref in parts):
            continue
        at = 1
        infos = sorted(
            (ref.sub_axis_info.pre_size, ref.sub_axis_info.next_pre_size)
            for ref in parts
            if ref.sub_axis_info
        )
        for start, end in [*infos, (axis.size, axis.size)]:
            if start > at:
                whole = (at, start) == (1, axis.size)
                rest.append(AxisRefAttr(axis.name) if whole else AxisRefAttr.sub(axis.name, at, start // at))
            at = end
    return rest


@st.composite
def exportable(draw: st.DrawFn) -> tuple[MeshAttr, TensorShardingAttr, tuple[str, ...]]:
    """A mesh, a sharding, and manual axes in mesh order that it does not use."""
    mesh = draw(small_meshes())
    sharding = draw(shardings_on(mesh))
    free = [name for name in mesh.axis_names if not sharding.is_bound(name)]
    manual = draw(st.sets(st.sampled_from(free))) if free else set()
    return mesh, sharding, tuple(name for name in mesh.axis_names if name in manual)


class TestRoundTrip:
    """`import(export(s)) == s`, up to merged axes, openness, priorities and explicit replication."""

    @given(exportable())
    def test_import_undoes_export(self, case: tuple[MeshAttr, TensorShardingAttr, tuple[str, ...]]) -> None:
        mesh, sharding, manual = case
        exported = convert_to_hlo_sharding(sharding, mesh, manual_axes=manual)
        imported = convert_to_sdy_sharding(exported, mesh, rank=sharding.rank)
        expected = normal_form(sharding, mesh)
        assert imported is expected or exported == HloSharding.unreduced()  # of axes of size 1 only
        real = tuple(name for name in manual if mesh.axis_size(name) > 1)
        assert tuple(n for n in get_manual_axes(exported, mesh) if mesh.axis_size(n) > 1) == real

    @given(exportable())
    def test_export_undoes_import(self, case: tuple[MeshAttr, TensorShardingAttr, tuple[str, ...]]) -> None:
        mesh, sharding, manual = case
        exported = convert_to_hlo_sharding(sharding, mesh, manual_axes=manual)
        imported = convert_to_sdy_sharding(exported, mesh, rank=sharding.rank)
        again = convert_to_hlo_sharding(imported, mesh, manual_axes=get_manual_axes(exported, mesh))
        assert again == exported or again.is_unreduced  # XLA has two forms of it

    @given(st.data())
    def test_replicated_axes_are_the_rest(self, data: st.DataObject) -> None:
        mesh = data.draw(small_meshes())
        sharding = data.draw(shardings_on(mesh))
        exported = convert_to_hlo_sharding(sharding, mesh)
        assume(exported.is_tiled)
        imported = convert_to_sdy_sharding(exported, mesh, list_replicated_axes=True)
        rest = [
            ref
            for ref in normal_form(sharding, mesh, replicated=True).replicated_axes
            if ref.get_size(mesh) > 1
        ]
        assert list(imported.replicated_axes) == rest
        closed = convert_to_hlo_sharding(imported, mesh)
        assert closed == exported

    @given(exportable())
    def test_the_inferred_mesh_will_do(
        self, case: tuple[MeshAttr, TensorShardingAttr, tuple[str, ...]]
    ) -> None:
        mesh, sharding, manual = case
        exported = convert_to_hlo_sharding(sharding, mesh, manual_axes=manual)
        inferred = infer_mesh([exported], num_devices=mesh.total_size)
        made = inferred.mesh(exported)
        again = convert_to_hlo_sharding(
            inferred.convert(exported, rank=sharding.rank), made, manual_axes=inferred.manual_axes(exported)
        )
        losses = [loss.kind for loss in import_losses(exported, made)]
        is_other_form = again.is_unreduced or LossKind.GROUP_ORDER in losses
        assert again == exported or made.total_size == 1 or is_other_form


class TestPlacement:
    """Whatever the grid, the imported sharding puts each device where the grid has it."""

    @given(tile_assignments(), st.lists(TYPES, max_size=3))
    def test_any_grid(self, grid: TileAssignment, types: list[OpShardingType]) -> None:
        sharding = HloSharding.subgroup(grid, types[: grid.num_dimensions])
        inferred = infer_mesh([sharding], num_devices=grid.num_elements)
        rank = sharding.data_rank if sharding.is_tiled else 1
        mesh = inferred.mesh(sharding)
        if mesh.total_size == grid.num_elements:
            imported = inferred.convert(sharding, rank=rank)
            assert_same_placement(sharding, imported, mesh, inferred.manual_axes(sharding))

    @given(st.data())
    def test_any_set_of_grids(self, data: st.DataObject) -> None:
        count = data.draw(st.sampled_from([6, 8, 12, 16]))
        shardings = []
        for _ in range(data.draw(st.integers(1, 5))):
            dims, sizes = data.draw(factorizations(count)), data.draw(factorizations(count))
            grid = TileAssignment.iota(dims, sizes, data.draw(st.permutations(range(len(sizes)))))
            if data.draw(st.booleans()):
                order = np.array(data.draw(st.permutations(range(count))))
                grid = TileAssignment.from_array(order[grid.array])
            types = data.draw(st.lists(TYPES, max_size=min(2, grid.num_dimensions)))
            shardings.append(HloSharding.subgroup(grid, types))
        inferred = infer_mesh(shardings, num_devices=count)
        assert inferred.meshes.keys() == infer_mesh(shardings, num_devices=count).meshes.keys()
        for sharding in shardings:
            imported = inferred.convert(sharding, rank=sharding.data_rank if sharding.is_tiled else 1)
            mesh = inferred.mesh(sharding)
            if mesh.axes:
                assert_same_placement(sharding, imported, mesh, inferred.manual_axes(sharding))

    @given(st.data())
    def test_a_mesh_fits_or_the_error_says_why(self, data: st.DataObject) -> None:
        mesh = data.draw(small_meshes(max_devices=24))
        dims = data.draw(factorizations(mesh.total_size))
        sizes = data.draw(factorizations(mesh.total_size))
        grid = TileAssignment.iota(dims, sizes, data.draw(st.permutations(range(len(sizes)))))
        types = data.draw(st.lists(TYPES, max_size=min(2, len(dims))))
        sharding = HloSharding.subgroup(grid, types)
        assume(sharding.is_tiled)
        error = None
        try:
            imported = convert_to_sdy_sharding(sharding, mesh)
        except ConversionError as raised:
            error = raised
        if error is not None:
            assert any("device" in note for note in error.notes)
            assert error.help is not None
            return
        assert_same_placement(sharding, imported, mesh, get_manual_axes(sharding, mesh))
        losses = {loss.kind for loss in import_losses(sharding, mesh)}
        again = convert_to_hlo_sharding(imported, mesh, manual_axes=get_manual_axes(sharding, mesh))
        explained = losses & {LossKind.GROUP_ORDER, LossKind.SINGLE_DEVICE_TILING}
        assert again == sharding or explained or not again.is_tiled  # `{unreduced}` has a tiled form too

    @given(iota_programs())
    def test_lists_import_as_their_iotas(
        self, program: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    ) -> None:
        iota = TileAssignment.iota(*program)
        listed = TileAssignment.from_array(iota.array)
        assert recognize_iota(listed) == iota.iota_form
        inferred = infer_mesh([HloSharding.tile(iota)])
        assert inferred.meshes == infer_mesh([HloSharding.tile(listed)]).meshes
        assert inferred.convert(HloSharding.tile(iota)) is inferred.convert(HloSharding.tile(listed))
        try:
            sizes = get_axis_sizes(HloSharding.tile(iota))
        except ConversionError:
            return
        assert math.prod(sizes) == iota.num_elements
        assert get_axis_sizes(HloSharding.tile(listed)) == sizes
