"""The change of basis between Shardy's named axes and XLA's device grids."""

from __future__ import annotations

from sdybridge.bridge.export import convert_to_hlo_sharding as convert_to_hlo_sharding
from sdybridge.bridge.export import resolve_mesh as resolve_mesh
from sdybridge.bridge.export import verify_for_export as verify_for_export
from sdybridge.bridge.factorisation import SubDimInfo as SubDimInfo
from sdybridge.bridge.factorisation import analyze_tile_assignment as analyze_tile_assignment
from sdybridge.bridge.factorisation import get_axis_sizes as get_axis_sizes
from sdybridge.bridge.factorisation import shortest_common_factorization as shortest_common_factorization
from sdybridge.bridge.import_ import convert_to_sdy_sharding as convert_to_sdy_sharding
from sdybridge.bridge.import_ import get_manual_axes as get_manual_axes
from sdybridge.bridge.import_losses import import_losses as import_losses
from sdybridge.bridge.inferred_meshes import InferredMeshes as InferredMeshes
from sdybridge.bridge.losses import Loss as Loss
from sdybridge.bridge.losses import LossKind as LossKind
from sdybridge.bridge.losses import export_losses as export_losses
from sdybridge.bridge.mesh_inference import infer_mesh as infer_mesh
from sdybridge.bridge.named_form import to_v3_sharding as to_v3_sharding
from sdybridge.bridge.ordered_axes import get_ordered_axis_refs as get_ordered_axis_refs
