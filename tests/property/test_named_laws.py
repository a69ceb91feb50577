"""Laws of shardings over named meshes: the bridge keeps them, and their grid is that of the other export."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.property.strategies import meshes_and_shardings

from sdybridge import hlo
from sdybridge.bridge import (
    LossKind,
    convert_to_hlo_sharding,
    convert_to_sdy_sharding,
    export_losses,
    get_manual_axes,
    import_losses,
    infer_mesh,
    to_v3_sharding,
)
from sdybridge.hlo import HloSharding
from sdybridge.sdy import DimensionShardingAttr, MeshAttr, TensorShardingAttr
from sdybridge.target import Target

Case = tuple[MeshAttr, TensorShardingAttr]


def is_utf8(name: str) -> bool:
    return not any(0xDC80 <= ord(character) <= 0xDCFF for character in name)


def without_priorities(sharding: TensorShardingAttr) -> TensorShardingAttr:
    return TensorShardingAttr(
        sharding.mesh_or_ref,
        [DimensionShardingAttr(dim.axes, dim.is_closed) for dim in sharding.dim_shardings],
        sharding.replicated_axes,
        sharding.unreduced_axes,
    )


@given(meshes_and_shardings())
def test_import_undoes_export(case: Case) -> None:
    mesh, sharding = case
    named = convert_to_hlo_sharding(sharding, mesh, target=Target.NAMED)
    rank = len(sharding.dim_shardings)
    name = str(sharding.mesh_or_ref)
    if not mesh.is_maximal:
        back = convert_to_sdy_sharding(named, mesh, rank=rank, mesh_name=name)
        assert back is without_priorities(sharding)
        assert infer_mesh([named], mesh_name=name).convert(named, rank=rank) is (
            back if mesh.axes else convert_to_sdy_sharding(named, MeshAttr(), rank=rank)
        )
    kinds = {loss.kind for loss in export_losses(sharding, mesh, target=Target.NAMED)}
    assert kinds <= {LossKind.PRIORITY}
    assert (LossKind.PRIORITY in kinds) == any(dim.priority is not None for dim in sharding.dim_shardings)


@given(meshes_and_shardings(), st.data())
def test_the_grid_is_that_of_the_other_export(case: Case, data: st.DataObject) -> None:
    mesh, sharding = case
    taken = {ref.name for ref in sharding.axis_refs}
    free = [axis.name for axis in mesh.axes if axis.name not in taken]
    manual = data.draw(st.lists(st.sampled_from(free), unique=True) if free else st.just([]))
    manual.sort(key=mesh.axis_names.index)  # a named sharding has them in this order
    named = convert_to_hlo_sharding(sharding, mesh, manual_axes=manual, target=Target.NAMED)
    grid = convert_to_hlo_sharding(sharding, mesh, manual_axes=manual)
    if mesh.total_size > 1:
        assert named == grid
        assert hash(named) == hash(grid)
        assert named.v3_to_v2_sharding() == grid
    assert get_manual_axes(named) == tuple(manual)
    assert [loss.kind for loss in import_losses(named, mesh) if loss.kind is LossKind.MANUAL] == (
        [LossKind.MANUAL] if manual else []
    )


@given(meshes_and_shardings())
def test_text_proto_and_python(case: Case) -> None:
    mesh, sharding = case
    named = convert_to_hlo_sharding(sharding, mesh, target=Target.NAMED)
    assume(all(is_utf8(axis.name) for axis in mesh.axes))
    again = HloSharding.from_proto(named.to_proto_bytes())
    assert repr(again) == repr(named)
    assert eval(repr(named), vars(hlo)) == named
    if all(axis.name.isalnum() for axis in mesh.axes):  # others may print as something else
        read = HloSharding.from_string(str(named))
        assert str(read) == str(named)
        # `unreduced` alone stands for all axes, where some of size 1 may not have been listed.
        assert not sharding.dim_shardings or read.to_proto_bytes() == named.to_proto_bytes()


@given(meshes_and_shardings())
def test_the_named_form_of_a_grid(case: Case) -> None:
    mesh, sharding = case
    grid = convert_to_hlo_sharding(sharding, mesh)
    if grid.is_unreduced or (grid.is_tiled and grid.num_devices == 1):
        return
    named = to_v3_sharding(grid)
    assert named == grid
    assert to_v3_sharding(named) is named
