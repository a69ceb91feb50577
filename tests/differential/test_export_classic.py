"""Random shardings against the older XLA of jaxlib 0.6.2, in an environment of its own."""

from __future__ import annotations

import pytest
from tests.differential.oracle.isolation import ROOT
from tests.differential.random_cases import random_samples
from tests.differential.test_export_shardings import compare

from sdybridge.target import Target

PYTHON = ROOT / ".venv-classic" / "bin" / "python"
CASES_PER_SEED = 2000


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])
def test_fixed_seeds(seed: int) -> None:
    compare_classic(seed)


@pytest.mark.slow
def test_fresh_seed(fresh_seed: int) -> None:
    compare_classic(fresh_seed + 1)


def compare_classic(seed: int) -> None:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} is missing: run `make test-all`, which creates it")
    cases = [sample.case for sample in random_samples(seed, CASES_PER_SEED)]
    # The HLO module of that release shows a normal form of shardings on one device, not what it exports.
    cases = [case for case in cases if not case.has_one_device]
    compare(cases, seed=seed, target=Target.CLASSIC, python=PYTHON)
