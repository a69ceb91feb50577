"""Shardings for people: explained in words and numbers, compared, and drawn."""

from __future__ import annotations

from sdybridge.view.explain import explain as explain
from sdybridge.view.explanation import Explanation as Explanation
