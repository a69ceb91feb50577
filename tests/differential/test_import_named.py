"""Import of shardings over named meshes: what XLA makes of them with `xla_enable_hlo_sharding_v3`.

Left out are shardings without dimensions, where XLA 0.10.2 gets the rank wrong, and axes of size 1, which it
drops.
"""

from __future__ import annotations

import math
import random

import pytest
from tests.differential.oracle.imports import HloCase, Imported, import_named_modules
from tests.differential.random_named import body, device_ids, mesh_sizes

from sdybridge.bridge import infer_mesh
from sdybridge.hlo import HloSharding

MODULES = 2
CASES = 30
NAMES = ("a", "b", "x", "data", "model", "_axis_0", "A")


@pytest.mark.parametrize("seed", [1])
def test_fixed_seed(seed: int) -> None:
    compare(seed)


def test_fresh_seed(fresh_seed: int) -> None:
    compare(fresh_seed)


def compare(seed: int) -> None:
    rng = random.Random(seed)
    modules = [random_cases(rng) for _ in range(MODULES)]
    for cases, theirs in zip(modules, import_named_modules(modules), strict=True):
        assert isinstance(theirs, Imported), theirs
        shardings = [HloSharding.from_string(case.text) for case in cases]
        inferred = infer_mesh(shardings)
        ours = [inferred.convert(one, rank=case.rank) for one, case in zip(shardings, cases, strict=True)]
        assert [one.stripped for one in ours] == theirs.shardings
        assert {name: mesh.stripped for name, mesh in inferred.meshes.items() if not mesh.device_ids} == {
            name: mesh for name, mesh in theirs.meshes.items() if "device_ids" not in mesh
        }


def random_cases(rng: random.Random) -> list[HloCase]:
    """Shardings on one mesh; some arguments may be sharded further, which does not open what is closed."""
    sizes = mesh_sizes(rng)
    while 1 in sizes or math.prod(sizes) > 16:
        sizes = mesh_sizes(rng)
    names = rng.sample(NAMES, len(sizes))
    mesh = ",".join([f"'{name}'={size}" for name, size in zip(names, sizes, strict=True)])
    ids = device_ids(rng, sizes)
    cases: list[HloCase] = []
    while len(cases) < CASES:
        text = str(HloSharding.from_string(f"{{mesh[{mesh}]{ids}, {body(rng, names, sizes)}}}"))
        named = HloSharding.from_string(text).named_sharding
        if named is not None and named.dim_shardings and not named.manual_axes:
            cases.append(HloCase(text, len(named.dim_shardings), rng.random() < 0.3))
    return cases
