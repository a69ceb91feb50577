"""SB2 and SB3: the rules about who reads which annotation, and about manual computations."""

from __future__ import annotations

from sdybridge.checks.finding import Rule, Severity
from sdybridge.checks.rules.examples import (
    CALL,
    CALL_TYPE,
    GRID,
    body,
    carried,
    constraint,
    manual,
    shardy,
    with_line,
)

RULES = (
    Rule(
        "SB201", "call-without-sharding", Severity.ERROR,
        "A call of `@Sharding` has a sharding.",
        finds="A call of `@Sharding`, `@SPMDFullToShardShape` or `@SPMDShardToFullShape` that says "
        "nothing about devices.",
        matters="XLA compiles no program with such a call whose value is used. With Shardy: `expected "
        "CustomCallOp with a sharding attribute`. Without: `RET_CHECK failure "
        "instruction->has_sharding()`. The usual cause is a pass, or a conversion between "
        "dialects, that drops attributes it doesn't know.",
        fix="Give the call an `mhlo.sharding`, in HLO a `sharding=`; or remove it.",
        bad=body(CALL + CALL_TYPE),
        good=body(CALL + ' {mhlo.sharding = "{replicated}"}' + CALL_TYPE),
    ),
    Rule(
        "SB202", "mixed-annotations", Severity.WARNING,
        "A program has GSPMD or Shardy annotations, not both.",
        finds="HLO shardings and Shardy shardings in one program, on different values. Values with both "
        "kinds are as XLA's own export writes them, and no problem.",
        matters="XLA reads those of one kind. An HLO sharding on a result of a function, on a call of "
        "`@Sharding`, or on an argument of another function than `@main` makes its front end turn "
        "Shardy off for the whole program. All that tells is a line in the log, `Module has GSPMD "
        "attrs or ops, but Shardy is enabled. Disabling Shardy and falling back to using GSPMD "
        "propagation.` Any other HLO sharding is not read.",
        fix="Make them one kind: `sdybridge import` gives Shardy shardings, `sdybridge export` HLO "
        "shardings.",
        bad=with_line(shardy('[{"x"}, {}]'), CALL + ' {mhlo.sharding = "{replicated}"}' + CALL_TYPE),
        good=with_line(shardy('[{"x"}, {}]'), constraint("[{}, {}]", "%a", "tensor<8x8xf32>")),
    ),
    Rule(
        "SB203", "leftover-carrier", Severity.WARNING,
        "Shardy shardings are attributes or ride along as text, not both.",
        finds="A value with an `sdy.sharding`, and with another one as text in its frontend attributes, "
        "`xla.sdy.sharding`.",
        matters="On their way through HLO, Shardy shardings are text in the frontend attributes "
        "`xla.sdy.*`; XLA's import takes them out again. Where both stand, XLA follows the "
        "attribute and drops the text, without a word. Another consumer may do the opposite.",
        fix="Remove the one that is out of date.",
        bad=shardy('[{"x"}, {}]').replace(
            "{sdy", '{mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{}, {}]>"}, sdy'),
        good=shardy('[{"x"}, {}]'),
    ),
    Rule(
        "SB204", "contradicting-shardings", Severity.WARNING,
        "The Shardy sharding and the HLO sharding of one value place it alike.",
        finds="A value with a Shardy sharding and an HLO sharding, which put different parts of it on "
        "some device.",
        matters="With Shardy on, XLA follows the one, without it the other: a flag changes the layout of "
        "the program. XLA's export writes both alike, so a pass changed one of them since.",
        fix="Remove the wrong one, or export the Shardy sharding again. `sdybridge diff` names the "
        "devices.",
        bad=carried("[{}, {" + r"\22x\22" + "}]", GRID),
        good=carried("[{" + r"\22x\22" + "}, {}]", GRID),
    ),
    Rule(
        "SB301", "manual-value-outside", Severity.ERROR,
        "A value of a manual computation is used in it only.",
        finds="A value from the body of a manual computation, or from between the calls that mark one in "
        "HLO, that is used outside.",
        matters="In the computation, a value is one device's part; outside there are whole values. In "
        "MLIR the name is not known there, and XLA does not load the program: `use of undeclared "
        "SSA value name`. In HLO nothing forbids it, and one part is taken for the whole.",
        fix="Return it from the body with `sdy.return`, or convert it with a call of "
        "`@SPMDShardToFullShape`.",
        bad=manual("tensor<4x8xf32>", "%1 = stablehlo.abs %b : tensor<4x8xf32>").replace(
            "  return", "  %2 = stablehlo.abs %1 : tensor<4x8xf32>\n  return"),
        good=manual("tensor<4x8xf32>", "%1 = stablehlo.abs %b : tensor<4x8xf32>").replace(
            "  return", "  %2 = stablehlo.abs %0 : tensor<8x8xf32>\n  return"),
    ),
)  # fmt: skip
