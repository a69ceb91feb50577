"""Export over named meshes: what XLA's own pipeline writes with `xla_enable_hlo_sharding_v3`."""

from __future__ import annotations

import re

import pytest
from tests.differential.comparison import expect_same_module
from tests.differential.oracle.pipeline import ExportedModule, export_named_modules
from tests.differential.programs import PROGRAMS
from tests.differential.random_modules import random_module
from tests.differential.test_random_modules import seeds_from

from sdybridge.modules import export_module
from sdybridge.target import Target

MODULES = 8
REPLICATED = re.compile(
    r"\{mesh\[(?:[^]']|'(?:[^'\\]|\\.)*')++\](?:, device_ids=\([^)]*\))?, "
    r"(?:replicated|\[(?:\{\}(?:, )?)*\](?:, replicated=\{(?:[^}']|'(?:[^'\\]|\\.)*')*+\})?)\}"
)
"""What says nothing but that the tensor is replicated. XLA leaves a mesh with axes out, we keep it."""


@pytest.mark.parametrize("first_seed", [0, None], ids=["fixed", "fresh"])
def test_random_modules(first_seed: int | None, fresh_seed: int) -> None:
    seeds = seeds_from(first_seed, fresh_seed, MODULES)
    pairs = export_named_modules([random_module(seed) for seed in seeds])
    compared = [
        seed
        for seed, pair in zip(seeds, pairs, strict=True)
        if isinstance(pair, ExportedModule) and pair.is_valid and same(pair)
    ]
    assert len(compared) > 0.6 * MODULES


def test_real_programs() -> None:
    names = [*PROGRAMS][2::3]
    pairs = export_named_modules([PROGRAMS[name].text(8) for name in names])
    for name, pair in zip(names, pairs, strict=True):
        assert isinstance(pair, ExportedModule), (name, pair)
        assert same(pair)


def test_a_mesh_without_axes() -> None:
    text = """module @m attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  sdy.mesh @empty = <[]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@empty, [{}, {}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.add %a, %b : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
"""  # noqa: E501
    (pair,) = export_named_modules([text])
    assert isinstance(pair, ExportedModule), pair
    assert "{mesh[], [{}, {}]}" in pair.mhlo_text
    assert same(pair)


def same(pair: ExportedModule) -> bool:
    """Whether there was something to compare; fails where ours differs."""
    ours = export_module(pair.sdy_text, target=Target.NAMED).text
    expect_same_module(without_meshes(ours), without_meshes(pair.mhlo_text), what="the module")
    return "mhlo.sharding" in ours


def without_meshes(text: str) -> str:
    return REPLICATED.sub("{mesh[], replicated}", text)
