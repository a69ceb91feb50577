"""Whole programs: where they carry shardings, and how these convert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.modules.converted import ConvertedSharding as ConvertedSharding
from sdybridge.modules.export import ExportResult as ExportResult
from sdybridge.modules.export import export_module as export_module
from sdybridge.modules.export_operations import ConstraintForm as ConstraintForm

if TYPE_CHECKING:
    from sdybridge.modules.verify import verify_module as verify_module


def __getattr__(name: str) -> object:  # the verifier is large, and export does not need it
    if name != "verify_module":
        raise AttributeError(f"module 'sdybridge.modules' has no attribute {name!r}")
    from sdybridge.modules.verify import verify_module

    return verify_module
