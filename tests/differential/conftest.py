from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def fresh_seed() -> int:
    """A seed that no earlier run had; printed in the report's header."""
    return int(os.environ["SDYBRIDGE_SEED"])
