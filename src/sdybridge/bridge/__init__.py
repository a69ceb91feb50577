"""The change of basis between Shardy's named axes and XLA's device grids."""

from __future__ import annotations

from sdybridge.bridge.export import convert_to_hlo_sharding as convert_to_hlo_sharding
from sdybridge.bridge.export import resolve_mesh as resolve_mesh
from sdybridge.bridge.losses import Loss as Loss
from sdybridge.bridge.losses import LossKind as LossKind
from sdybridge.bridge.losses import export_losses as export_losses
from sdybridge.bridge.ordered_axes import get_ordered_axis_refs as get_ordered_axis_refs
