"""All rules that programs are checked against: what they are called, what they say, and an example each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.checks.finding import Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

_MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
_ARGUMENT = "func.func @main(%a: tensor<8x8xf32> {{{}}}) {{\n  return\n}}\n"


def _shardy(sharding: str, of_type: str = "tensor<8x8xf32>") -> str:
    """A program with one Shardy sharding."""
    entry = f"sdy.sharding = #sdy.sharding<@mesh, {sharding}>"
    return _MESH + _ARGUMENT.format(entry).replace("tensor<8x8xf32>", of_type)


def _gspmd(sharding: str, of_type: str = "tensor<8x8xf32>") -> str:
    """A program with one HLO sharding."""
    return _ARGUMENT.format(f'mhlo.sharding = "{sharding}"').replace("tensor<8x8xf32>", of_type)


def _body(*lines: str) -> str:
    """A program with operations on `%a`."""
    inside = "".join([f"  {line}\n" for line in lines])
    return f"{_MESH}func.func @main(%a: tensor<8x8xf32>) {{\n{inside}  return\n}}\n"


def _manual(inner: str, *lines: str) -> str:
    """A program with a computation that is manual along `x`."""
    return _body(
        '%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]',
        f'    out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}} (%b: {inner}) {{',
        *(f"  {line}" for line in lines),
        f"  sdy.return %b : {inner}",
        "} : (tensor<8x8xf32>) -> tensor<8x8xf32>",
    )


def _constraint(sharding: str, value: str = "%b", of_type: str = "tensor<4x8xf32>") -> str:
    return f"%1 = sdy.sharding_constraint {value} <@mesh, {sharding}> : {of_type}"


def _shardings(*shardings: str) -> str:
    listed = ", ".join(f"<@mesh, {sharding}>" for sharding in shardings)
    return _body(
        "%0 = stablehlo.abs %a",
        f"    {{sdy.sharding = #sdy.sharding_per_value<[{listed}]>}} : tensor<8x8xf32>",
    )


def _with(program: str, line: str) -> str:
    """The program with one more operation."""
    return program.replace("  return", f"  {line}\n  return")


def _carried(carried: str, beside: str) -> str:
    entry = f'mhlo.frontend_attributes = {{xla.sdy.sharding = "#sdy.sharding<@mesh, {carried}>"}}, {beside}'
    meshes = r'{xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=2]>}"}'
    function = _ARGUMENT.format(entry)
    return f"module attributes {{mhlo.frontend_attributes = {meshes}}} {{\n{function}}}\n"


_CALL = "%0 = stablehlo.custom_call @Sharding(%a)"
_CALL_TYPE = " : (tensor<8x8xf32>) -> tensor<8x8xf32>"
_GRID = 'mhlo.sharding = "{devices=[2,1]<=[2]}"'
_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

_ALL = (
    Rule(
        "SB100", "malformed-program", _ERROR, "The text is a program.",
        "The operations of the text, or its instructions, cannot be told apart: a bracket or string is not "
        "closed, or the file was cut. Nothing else is checked then.",
        "func.func @main(%a: tensor<8xf32>) {\n", "func.func @main(%a: tensor<8xf32>) {\n}\n",
    ),
    Rule(
        "SB101", "invalid-attribute", _ERROR, "Every sharding and mesh is well-formed.",
        "It does not follow the grammar, or breaks a rule that needs no context: a part of an axis that does "
        "not divide it, two axes of one name, a priority on an empty dimension.",
        _shardy('[{"y":(1)2}, {"y":(2)4}]'), _shardy('[{"y":(1)2}, {"y":(2)2}]'),
    ),
    Rule(
        "SB102", "unknown-mesh", _ERROR, "A sharding names a mesh of its module.",
        "In MLIR the innermost module around it declares the mesh with `sdy.mesh`; in HLO it rides along in "
        "the module's frontend attribute `xla.sdy.meshes`, which tools that copy instructions lose.",
        _shardy("[{}, {}]").removeprefix(_MESH), _shardy("[{}, {}]"),
    ),
    Rule(
        "SB103", "unknown-axis", _ERROR, "A sharding uses axes of its mesh.",
        "Often a tool renamed the axes of the mesh (to `_axis_0`), or those of the sharding, and not the "
        "other.",
        _shardy('[{"mesh_idx_1"}, {}]'), _shardy('[{"x"}, {}]'),
    ),
    Rule(
        "SB104", "rank-mismatch", _ERROR, "A sharding has one dimension per dimension of its tensor.",
        "XLA aborts on it much later, in a pass that no longer knows where the sharding came from.",
        _gspmd("{devices=[1,1,2,2]<=[4] last_tile_dim_replicate}"),
        _gspmd("{devices=[1,2,2]<=[4] last_tile_dim_replicate}"),
    ),
    Rule(
        "SB105", "wrong-number-of-shardings", _ERROR, "There is one sharding per value.",
        "A value has one sharding, an operation one per result, a tuple one per element.",
        _shardings("[{}, {}]", "[{}, {}]"), _shardings("[{}, {}]"),
    ),
    Rule(
        "SB106", "device-count", _ERROR, "Tiles and devices are equally many, and the devices exist.",
        "A grid of 4 tiles over 16 devices says nothing about 12 of them. XLA accepts some of these, and "
        "aborts later. In HLO text and MLIR the number of partitions counts too.",
        _gspmd("{devices=[2,2]<=[16]}"), _gspmd("{devices=[2,2]<=[4]}"),
    ),
    Rule(
        "SB107", "axis-used-twice", _ERROR, "A sharding uses each axis, and each part of one, once.",
        "An axis can split one dimension only.",
        _shardy('[{"x"}, {"x"}]'), _shardy('[{"x"}, {"y"}]'),
    ),
    Rule(
        "SB108", "axis-is-manual", _ERROR,
        "No sharding in a manual computation uses the axes that are manual there.",
        "The body sees one device's part along these axes; there is nothing left to split.",
        _manual("tensor<4x8xf32>", _constraint('[{"x"}, {}]')),
        _manual("tensor<4x8xf32>", _constraint('[{"y"}, {}]')),
    ),
    Rule(
        "SB109", "local-shape", _ERROR,
        "A manual computation's body has the local shapes: each size divided by the manual axes on it.",
        "The shapes in the body follow from those outside, the in and out shardings and the manual axes.",
        _manual("tensor<8x8xf32>"), _manual("tensor<4x8xf32>"),
    ),
    Rule(
        "SB110", "invalid-operation", _ERROR, "Every Shardy operation obeys its own rules.",
        "Of meshes, collectives, data flow edges, propagation barriers and manual computations: see "
        "[the rules of programs](errors.md#rules).",
        _body("%0 = sdy.propagation_barrier %a allowed_direction=BOTH : tensor<8x8xf32>"),
        _body("%0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<8x8xf32>"),
    ),
    Rule(
        "SB201", "call-without-sharding", _ERROR, "A call of `@Sharding` has a sharding.",
        "So do those of `@SPMDFullToShardShape` and `@SPMDShardToFullShape`. XLA's sharding propagation "
        "stops with an error at one without.",
        _body(_CALL + _CALL_TYPE), _body(_CALL + ' {mhlo.sharding = "{replicated}"}' + _CALL_TYPE),
    ),
    Rule(
        "SB202", "mixed-annotations", _WARNING, "A program has GSPMD or Shardy annotations, not both.",
        "XLA reads those of one kind. An HLO sharding on a result of a function, on a call of `@Sharding`, "
        "or on an argument of another function than `@main`, with no Shardy sharding on the same value, "
        "makes XLA's front end turn Shardy off for the whole program, with a warning in the log only. Any "
        "other one is not read. Values with both kinds are as XLA's own export writes them, and no problem.",
        _with(_shardy('[{"x"}, {}]'), _CALL + ' {mhlo.sharding = "{replicated}"}' + _CALL_TYPE),
        _with(_shardy('[{"x"}, {}]'), _constraint("[{}, {}]", "%a", "tensor<8x8xf32>")),
    ),
    Rule(
        "SB203", "leftover-carrier", _WARNING,
        "Shardy shardings are attributes or ride along as text, not both.",
        "On their way through HLO they are text in the frontend attributes `xla.sdy.*`. XLA's import takes "
        "them out again.",
        _shardy('[{"x"}, {}]').replace(
            "{sdy", '{mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{}, {}]>"}, sdy'),
        _shardy('[{"x"}, {}]'),
    ),
    Rule(
        "SB204", "contradicting-shardings", _WARNING,
        "The Shardy sharding and the HLO sharding of one value place it alike.",
        "With Shardy on XLA follows the one, without it the other. A pass changed one of them.",
        _carried("[{}, {" + r"\22x\22" + "}]", _GRID), _carried("[{" + r"\22x\22" + "}, {}]", _GRID),
    ),
    Rule(
        "SB301", "manual-value-outside", _ERROR,
        "A value of a manual computation is used in it only.",
        "In it, a value is one device's part; outside there are whole values. The way out is `sdy.return`, "
        "or a call of `@SPMDShardToFullShape`.",
        _manual("tensor<4x8xf32>", "%1 = stablehlo.abs %b : tensor<4x8xf32>").replace(
            "  return", "  %2 = stablehlo.abs %1 : tensor<4x8xf32>\n  return"),
        _manual("tensor<4x8xf32>", "%1 = stablehlo.abs %b : tensor<4x8xf32>").replace(
            "  return", "  %2 = stablehlo.abs %0 : tensor<8x8xf32>\n  return"),
    ),
    Rule(
        "SB401", "uneven-parts", _INFO, "The parts of a tensor have the same size.",
        "XLA pads all parts to the largest: devices compute and send padding.",
        _gspmd("{devices=[4,1]<=[4]}", "tensor<126x8xf32>"),
        _gspmd("{devices=[2,1]<=[2]}", "tensor<126x8xf32>"),
    ),
    Rule(
        "SB402", "empty-parts", _WARNING, "Every device holds a part of a sharded tensor.",
        "Parts are as long as the largest, so the last devices may get nothing: 17 rows on 8 devices are "
        "3, 3, 3, 3, 3, 2, 0, 0. These devices wait for the others, and hold a buffer of padding.",
        _gspmd("{devices=[8,1]<=[8]}", "tensor<17x16xf32>"),
        _gspmd("{devices=[8,1]<=[8]}", "tensor<24x16xf32>"),
    ),
    Rule(
        "SB403", "large-replicated", _WARNING, "Large tensors are not replicated.",
        "A tensor from `--replicated-bytes` on (256 MiB) is on every device as a whole. Open dimensions are "
        "not reported: propagation may still shard them.",
        _shardy("[{}, {}]", "tensor<32768x4096xf32>"), _shardy('[{"y"}, {}]', "tensor<32768x4096xf32>"),
    ),
    Rule(
        "SB404", "needless-unreduced", _WARNING, "A value is unreduced where devices hold partial sums.",
        "Along axes of one device there is nothing to reduce. And a constant is no sum: the later reduction "
        "multiplies it by the number of devices.",
        _body("%0 = stablehlo.constant", "    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], "
              'unreduced={"x"}>]>} dense<1.0> : tensor<8x8xf32>'),
        _body("%0 = stablehlo.dot %a, %a", "    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], "
              'unreduced={"x"}>]>} : tensor<8x8xf32>'),
    ),
    Rule(
        "SB405", "reduction-of-nothing", _WARNING, "A sharding with a reduction has something to reduce.",
        "`max` and `min` say how unreduced values are combined. Without these the sharding places a tensor "
        "as it does without the reduction, but does not compare as equal.",
        _gspmd(r"{devices=[4,2]<=[2,4]T(1,0) metadata={op_type=\22sdy::reduction_op\22 op_name=\22MAX\22}}"),
        _gspmd("{devices=[4,2]<=[2,4]T(1,0)}"),
    ),
    Rule(
        "SB406", "unsharded-result", _INFO,
        "A result of a GSPMD program has a sharding if its value has one.",
        "XLA replicates results without a sharding: an all-gather at the end, and a whole copy on each "
        "device. The caller may let propagation shard them instead, as `jax.jit` does. In HLO the root, "
        "often a tuple, has the shardings of the results.",
        _gspmd("{devices=[2,1]<=[2]}").replace(") {", ") -> tensor<8x8xf32> {").replace(
            "return", "return %a : tensor<8x8xf32>"),
        _gspmd("{devices=[2,1]<=[2]}").replace(
            ") {", ') -> (tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) {').replace(
            "return", "return %a : tensor<8x8xf32>"),
    ),
    Rule(
        "SB407", "part-of-an-axis", _INFO, "A sharding uses whole axes.",
        "Propagation takes a part of an axis where the whole does not divide the size: 126 rows on 4 devices "
        "become 2 parts of 63, each on 2 devices.",
        _shardy('[{"y":(1)2}, {}]'), _shardy('[{"y"}, {}]'), is_default=False,
    ),
    Rule(
        "SB501", "loses-openness", _INFO, "Export keeps which dimensions are open.",
        "HLO shardings are closed: propagation may no longer shard them.",
        _shardy('[{"x", ?}, {}]'), _shardy('[{"x"}, {}]'), is_default=False,
    ),
    Rule(
        "SB502", "loses-priority", _INFO, "Export keeps propagation priorities.",
        "HLO shardings have none: every dimension propagates at once.",
        _shardy('[{"x"}p1, {}]'), _shardy('[{"x"}, {}]'), is_default=False,
    ),
    Rule(
        "SB503", "loses-replication", _INFO, "Export keeps explicitly replicated axes.",
        "In an HLO sharding they are absent, and propagation may use them.",
        _shardy('[{"y"}, {}], replicated={"x"}'), _shardy('[{"y"}, {}]'), is_default=False,
    ),
    Rule(
        "SB504", "loses-reduction", _INFO, "Export keeps what is to be reduced, and how.",
        "The HLO shardings of `--target classic` cannot say that a value is unreduced, and only those of "
        "`--target newer` that it is reduced otherwise than by a sum. Readers compute something else.",
        _shardy('[{}, {}], unreduced={"x"}'), _shardy("[{}, {}]"), is_default=False,
    ),
    Rule(
        "SB505", "loses-device-order", _INFO, "Export keeps the order of devices.",
        "The HLO sharding of a tensor that is replicated on a mesh with its own order names no devices.",
        _shardy("[{}, {}]").replace("]>", "], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>", 1), _shardy("[{}, {}]"),
        is_default=False,
    ),
    Rule(
        "SB506", "loses-axis-names", _INFO, "Export keeps axis names.",
        "It never does: in an HLO sharding only the order of the devices is left.",
        _shardy('[{"x"}, {}]'), _shardy("[{}, {}]"), is_default=False,
    ),
)  # fmt: skip

CHECKS: Mapping[str, Rule] = {rule.code: rule for rule in _ALL}
"""All rules by their codes."""
