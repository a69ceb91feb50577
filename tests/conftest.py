"""One fresh random seed per test run, shown in the header and shared by all worker processes."""

from __future__ import annotations

import os
import random

from hypothesis import settings

SEED_VARIABLE = "SDYBRIDGE_SEED"


# Hypothesis would fail a test for its time, which says more about the machine than about the code.
settings.register_profile("sdybridge", deadline=None)
settings.load_profile("sdybridge")


def pytest_configure() -> None:
    os.environ.setdefault(SEED_VARIABLE, str(random.SystemRandom().randrange(10**9)))


def pytest_report_header() -> str:
    return f"{SEED_VARIABLE}={os.environ[SEED_VARIABLE]} (set it to repeat this run's random cases)"
