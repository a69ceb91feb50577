"""Whole programs: where they carry shardings, and how these convert."""

from __future__ import annotations

from sdybridge.modules.export import ExportResult as ExportResult
from sdybridge.modules.export import export_module as export_module
from sdybridge.modules.export_operations import ConstraintForm as ConstraintForm
from sdybridge.modules.export_shardings import ConvertedSharding as ConvertedSharding
