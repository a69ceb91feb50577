"""Whole programs: where they carry shardings, and how these convert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.modules.conversion_warnings import ConversionWarning as ConversionWarning
from sdybridge.modules.converted import ConvertedModule as ConvertedModule
from sdybridge.modules.converted import ConvertedSharding as ConvertedSharding
from sdybridge.modules.export.module import CarrierForm as CarrierForm
from sdybridge.modules.export.module import ExportResult as ExportResult
from sdybridge.modules.export.module import export_module as export_module
from sdybridge.modules.export.operations import ConstraintForm as ConstraintForm

if TYPE_CHECKING:
    from sdybridge.modules.by_function import FunctionReport as FunctionReport
    from sdybridge.modules.by_function import report_functions as report_functions
    from sdybridge.modules.import_.calls import KeptCall as KeptCall
    from sdybridge.modules.import_.module import ImportResult as ImportResult
    from sdybridge.modules.import_.module import import_module as import_module
    from sdybridge.modules.inspection import Inspection as Inspection
    from sdybridge.modules.inspection import ShardingUse as ShardingUse
    from sdybridge.modules.inspection import inspect_module as inspect_module
    from sdybridge.modules.programs import read_hlo as read_hlo
    from sdybridge.modules.rename_axes import rename_axes as rename_axes
    from sdybridge.modules.rewrite import Spelling as Spelling
    from sdybridge.modules.rewrite import rewrite_module as rewrite_module
    from sdybridge.modules.rewrite import strip_shardings as strip_shardings
    from sdybridge.modules.roundtrip import RoundTrip as RoundTrip
    from sdybridge.modules.roundtrip import RoundTripSharding as RoundTripSharding
    from sdybridge.modules.roundtrip import round_trip as round_trip
    from sdybridge.modules.verify.module import verify_module as verify_module

_HOMES = {
    "FunctionReport": "by_function",
    "ImportResult": "import_.module",
    "KeptCall": "import_.calls",
    "Inspection": "inspection",
    "ShardingUse": "inspection",
    "inspect_module": "inspection",
    "RoundTrip": "roundtrip",
    "RoundTripSharding": "roundtrip",
    "Spelling": "rewrite",
    "import_module": "import_.module",
    "read_hlo": "programs",
    "rename_axes": "rename_axes",
    "report_functions": "by_function",
    "rewrite_module": "rewrite",
    "round_trip": "roundtrip",
    "strip_shardings": "rewrite",
    "verify_module": "verify.module",
}


def __getattr__(name: str) -> object:  # export needs neither the import nor the verifier, which is large
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sdybridge.modules' has no attribute {name!r}")
    from importlib import import_module as load

    value: object = getattr(load(f"sdybridge.modules.{home}"), name)
    globals()[name] = value  # the next look-up finds it at once
    return value
