"""Real JAX programs: our export of a module is the module that XLA's own pipeline makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.differential.comparison import expect_same_module
from tests.differential.oracle.pipeline import ExportedModule, export_modules_cached
from tests.differential.programs import PROGRAMS

from sdybridge.modules import export_module

if TYPE_CHECKING:
    from pathlib import Path

DEVICES = (8, 512)


@pytest.fixture(scope="session")
def oracle_cache(pytestconfig: pytest.Config) -> Path:
    assert pytestconfig.cache is not None
    return pytestconfig.cache.mkdir("xla-exports")


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, oracle_cache: Path) -> None:
    inputs = [PROGRAMS[name].text(devices) for devices in DEVICES]
    for devices, pair in zip(DEVICES, export_modules_cached(inputs, oracle_cache), strict=True):
        assert isinstance(pair, ExportedModule), pair
        assert "sdy.sharding" in pair.sdy_text
        ours = export_module(pair.sdy_text).text
        expect_same_module(ours, pair.mhlo_text, what=f"{name} on {devices} devices")
