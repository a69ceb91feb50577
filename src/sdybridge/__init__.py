"""Shardy's named-axis shardings and XLA's device grids, converted both ways, byte for byte as XLA does it.

    >>> import sdybridge as sb
    >>> mesh = sb.MeshAttr.from_sizes({"x": 2, "y": 4})
    >>> sharding = sb.TensorShardingAttr.from_string('#sdy.sharding<@mesh, [{"y"}, {}]>')
    >>> print(sb.convert_to_hlo_sharding(sharding, mesh))
    {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}

The parts: `sdybridge.sdy` (Shardy's attributes), `sdybridge.hlo` (device grids), `sdybridge.bridge` (the
conversion), `sdybridge.modules` (whole programs), `sdybridge.view` (explanations and drawings),
`sdybridge.storage` (attributes in memory). Each is loaded when one of its names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdybridge.bridge import Loss as Loss
    from sdybridge.bridge import LossKind as LossKind
    from sdybridge.bridge import convert_to_hlo_sharding as convert_to_hlo_sharding
    from sdybridge.bridge import convert_to_sdy_sharding as convert_to_sdy_sharding
    from sdybridge.bridge import export_losses as export_losses
    from sdybridge.bridge import get_manual_axes as get_manual_axes
    from sdybridge.bridge import get_ordered_axis_refs as get_ordered_axis_refs
    from sdybridge.bridge import import_losses as import_losses
    from sdybridge.bridge import infer_mesh as infer_mesh
    from sdybridge.checks import Comparison as Comparison
    from sdybridge.checks import Finding as Finding
    from sdybridge.checks import Severity as Severity
    from sdybridge.checks import Verdict as Verdict
    from sdybridge.checks import check_module as check_module
    from sdybridge.checks import compare_programs as compare_programs
    from sdybridge.checks import compare_shardings as compare_shardings
    from sdybridge.checks import open_program as open_program
    from sdybridge.checks import read_sharding as read_sharding
    from sdybridge.errors import ConversionError as ConversionError
    from sdybridge.errors import ParseError as ParseError
    from sdybridge.errors import ProtoError as ProtoError
    from sdybridge.errors import SdyBridgeError as SdyBridgeError
    from sdybridge.errors import StorageError as StorageError
    from sdybridge.errors import VerificationError as VerificationError
    from sdybridge.hlo import HloSharding as HloSharding
    from sdybridge.hlo import IotaTileAssignment as IotaTileAssignment
    from sdybridge.hlo import OpMetadata as OpMetadata
    from sdybridge.hlo import OpShardingType as OpShardingType
    from sdybridge.hlo import TileAssignment as TileAssignment
    from sdybridge.modules import CarrierForm as CarrierForm
    from sdybridge.modules import ConstraintForm as ConstraintForm
    from sdybridge.modules import ExportResult as ExportResult
    from sdybridge.modules import ImportResult as ImportResult
    from sdybridge.modules import Inspection as Inspection
    from sdybridge.modules import RoundTrip as RoundTrip
    from sdybridge.modules import Spelling as Spelling
    from sdybridge.modules import export_module as export_module
    from sdybridge.modules import import_module as import_module
    from sdybridge.modules import inspect_module as inspect_module
    from sdybridge.modules import read_hlo as read_hlo
    from sdybridge.modules import rename_axes as rename_axes
    from sdybridge.modules import rewrite_module as rewrite_module
    from sdybridge.modules import round_trip as round_trip
    from sdybridge.modules import strip_shardings as strip_shardings
    from sdybridge.modules import verify_module as verify_module
    from sdybridge.sdy import AxisRefAttr as AxisRefAttr
    from sdybridge.sdy import DimensionShardingAttr as DimensionShardingAttr
    from sdybridge.sdy import ManualAxesAttr as ManualAxesAttr
    from sdybridge.sdy import MeshAttr as MeshAttr
    from sdybridge.sdy import MeshAxisAttr as MeshAxisAttr
    from sdybridge.sdy import SubAxisInfoAttr as SubAxisInfoAttr
    from sdybridge.sdy import TensorShardingAttr as TensorShardingAttr
    from sdybridge.sdy import TensorShardingPerValueAttr as TensorShardingPerValueAttr
    from sdybridge.sdy import parse_attribute as parse_attribute
    from sdybridge.sdy import verify_sharding as verify_sharding
    from sdybridge.target import Target as Target
    from sdybridge.view import Drawing as Drawing
    from sdybridge.view import Explanation as Explanation
    from sdybridge.view import Resharding as Resharding
    from sdybridge.view import draw as draw
    from sdybridge.view import explain as explain

__version__ = "0.1.0"

_HOMES = {
    "Loss": "bridge",
    "LossKind": "bridge",
    "convert_to_hlo_sharding": "bridge",
    "convert_to_sdy_sharding": "bridge",
    "export_losses": "bridge",
    "get_manual_axes": "bridge",
    "get_ordered_axis_refs": "bridge",
    "import_losses": "bridge",
    "infer_mesh": "bridge",
    "Comparison": "checks",
    "Finding": "checks",
    "Severity": "checks",
    "Verdict": "checks",
    "check_module": "checks",
    "compare_programs": "checks",
    "compare_shardings": "checks",
    "open_program": "checks",
    "read_sharding": "checks",
    "ConversionError": "errors",
    "ParseError": "errors",
    "ProtoError": "errors",
    "SdyBridgeError": "errors",
    "StorageError": "errors",
    "VerificationError": "errors",
    "HloSharding": "hlo",
    "IotaTileAssignment": "hlo",
    "OpMetadata": "hlo",
    "OpShardingType": "hlo",
    "TileAssignment": "hlo",
    "CarrierForm": "modules",
    "ConstraintForm": "modules",
    "ExportResult": "modules",
    "ImportResult": "modules",
    "Inspection": "modules",
    "RoundTrip": "modules",
    "Spelling": "modules",
    "export_module": "modules",
    "import_module": "modules",
    "inspect_module": "modules",
    "read_hlo": "modules",
    "rename_axes": "modules",
    "rewrite_module": "modules",
    "round_trip": "modules",
    "strip_shardings": "modules",
    "verify_module": "modules",
    "AxisRefAttr": "sdy",
    "DimensionShardingAttr": "sdy",
    "ManualAxesAttr": "sdy",
    "MeshAttr": "sdy",
    "MeshAxisAttr": "sdy",
    "SubAxisInfoAttr": "sdy",
    "TensorShardingAttr": "sdy",
    "TensorShardingPerValueAttr": "sdy",
    "parse_attribute": "sdy",
    "verify_sharding": "sdy",
    "Target": "target",
    "Drawing": "view",
    "Explanation": "view",
    "Resharding": "view",
    "draw": "view",
    "explain": "view",
}


__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sdybridge' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"sdybridge.{home}"), name)
    globals()[name] = value  # the next look-up finds it at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
