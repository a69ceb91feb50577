"""SB5: what an export to HLO shardings loses."""

from __future__ import annotations

from sdybridge.checks.finding import Rule, Severity
from sdybridge.checks.rules.examples import shardy

_KEEP = "`sdybridge export --carrier sdy` keeps the Shardy sharding beside the HLO sharding."

RULES = (
    Rule(
        "SB501", "loses-openness", Severity.INFO,
        "Export keeps which dimensions are open.",
        finds='An open dimension, `{"x", ?}`.',
        matters="HLO shardings are closed: propagation may no longer shard them. A program that is "
        "exported before propagation may be partitioned otherwise than the Shardy program.",
        fix="Export after propagation, or close the dimension where that is meant. " + _KEEP,
        bad=shardy('[{"x", ?}, {}]'),
        good=shardy('[{"x"}, {}]'),
        is_default=False,
    ),
    Rule(
        "SB502", "loses-priority", Severity.INFO,
        "Export keeps propagation priorities.",
        finds='A priority, `{"x"}p1`.',
        matters="HLO shardings have none: every dimension propagates at once, and conflicts are resolved "
        "otherwise.",
        fix="Export after propagation. " + _KEEP,
        bad=shardy('[{"x"}p1, {}]'),
        good=shardy('[{"x"}, {}]'),
        is_default=False,
    ),
    Rule(
        "SB503", "loses-replication", Severity.INFO,
        "Export keeps explicitly replicated axes.",
        finds="Axes in `replicated={...}`.",
        matters="In an HLO sharding they are absent, like axes that nobody has decided about.",
        fix="Export after propagation. " + _KEEP,
        bad=shardy('[{"y"}, {}], replicated={"x"}'),
        good=shardy('[{"y"}, {}]'),
        is_default=False,
    ),
    Rule(
        "SB504", "loses-reduction", Severity.INFO,
        "Export keeps what is to be reduced, and how.",
        finds="Unreduced axes that the target cannot hold, and reductions other than a sum.",
        matters="The HLO shardings of `--target classic` cannot say that a value is unreduced, and only "
        "those of `--target newer` that it is reduced otherwise than by a sum. A reader takes "
        "partial values for whole ones, and computes something else.",
        fix="Reduce before the export, or export for a newer target.",
        bad=shardy('[{}, {}], unreduced={"x"}'),
        good=shardy("[{}, {}]"),
        is_default=False,
    ),
    Rule(
        "SB505", "loses-device-order", Severity.INFO,
        "Export keeps the order of devices.",
        finds="A sharding without any axes, on a mesh with an order of its own.",
        matters="The HLO sharding of a replicated tensor names no devices. On the way back it is put on "
        "any mesh of the size.",
        fix="Nothing, if the mesh is known on the way back. " + _KEEP,
        bad=shardy("[{}, {}]").replace("]>", "], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>", 1),
        good=shardy("[{}, {}]"),
        is_default=False,
    ),
    Rule(
        "SB506", "loses-axis-names", Severity.INFO,
        "Export keeps axis names.",
        finds="Any axis that splits a tensor.",
        matters="In a device grid only the order of the devices is left. What is imported again has axes "
        "`_axis_0`, `_axis_1`, or those of a mesh that you give.",
        fix="Give the mesh to the import: `--mesh x=2,y=4`. " + _KEEP,
        bad=shardy('[{"x"}, {}]'),
        good=shardy("[{}, {}]"),
        is_default=False,
    ),
)  # fmt: skip
