"""Shardy's named-axis shardings and XLA's device grids, converted both ways, byte for byte as XLA does it."""

from __future__ import annotations
