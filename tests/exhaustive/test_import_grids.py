"""Every mesh of up to 12 devices: what it can express is imported, and nothing else is.

What it can express is what the export makes of its shardings. What it may be asked for are all grids of
rank 1 and 2, with and without replicas, whose devices are in any order that an iota has.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.exhaustive.test_export_grids import MAX_DEVICES, meshes, shardings
from tests.unit.bridge.test_iota_recognition import iota_orders

from sdybridge.bridge import convert_to_hlo_sharding, convert_to_sdy_sharding
from sdybridge.errors import ConversionError
from sdybridge.hlo import HloSharding, TileAssignment

if TYPE_CHECKING:
    from sdybridge.sdy import MeshAttr


def grids(devices: int) -> list[HloSharding]:
    """Tiled shardings of rank 1 and 2, in every order that an iota has."""
    found: dict[HloSharding, None] = {}
    for order in sorted(iota_orders(devices)):
        for tiles, replicas in ((t, devices // t) for t in range(1, devices + 1) if devices % t == 0):
            for first in (f for f in range(1, tiles + 1) if tiles % f == 0):
                for dims in ((tiles,), (first, tiles // first)):
                    grid = TileAssignment.from_array(np.array(order).reshape(*dims, replicas))
                    sharding = HloSharding.partial_tile(grid)
                    if sharding.is_tiled:
                        found[sharding] = None
    return list(found)


@pytest.mark.parametrize("devices", range(2, MAX_DEVICES + 1))
def test_grid(devices: int) -> None:
    outcomes = {"imported": 0, "refused": 0}
    for mesh in meshes():
        if mesh.total_size != devices or not mesh.axes:
            continue
        expressible = exported(mesh)
        for sharding in {**dict.fromkeys(grids(devices)), **expressible}:
            try:
                imported = convert_to_sdy_sharding(sharding, mesh)
            except ConversionError:
                outcomes["refused"] += 1
                assert sharding not in expressible, f"{sharding} on {mesh}"
                continue
            outcomes["imported"] += 1
            assert sharding in expressible, f"{sharding} on {mesh}"
            assert convert_to_hlo_sharding(imported, mesh) == sharding, f"{sharding} on {mesh}"
    assert outcomes["imported"]
    assert outcomes["refused"] or devices in (2, 3)


def exported(mesh: MeshAttr) -> dict[HloSharding, None]:
    """The tiled shardings that the mesh can express with parts that can be cut from one axis together."""
    found: dict[HloSharding, None] = {}
    for sharding in shardings(mesh):
        if all(a.can_coexist(b) for a, b in itertools.combinations(sharding.axis_refs, 2)):
            exported = convert_to_hlo_sharding(sharding, mesh)
            if exported.is_tiled:
                found[exported] = None
    return found
