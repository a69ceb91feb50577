"""SB1: the rules about single shardings and operations."""

from __future__ import annotations

from sdybridge.checks.finding import Rule, Severity
from sdybridge.checks.rules.examples import MESH, body, constraint, gspmd, manual, shardings, shardy

RULES = (
    Rule(
        "SB100", "malformed-program", Severity.ERROR,
        "The text is a program.",
        finds="The operations of the text, or its instructions, cannot be told apart: a bracket or string "
        "is not closed, or the file was cut. Nothing else is checked then.",
        matters="XLA stops here, too. Its parser says what it expected next, such as `expected operation "
        "name in quotes`, at the end of the text, which is seldom where the mistake is. A dump is "
        "cut when the process dies while it writes.",
        fix="Close what is open: the finding points to where it was opened. Write a dump that was cut "
        "again.",
        bad="func.func @main(%a: tensor<8xf32>) {\n",
        good="func.func @main(%a: tensor<8xf32>) {\n}\n",
    ),
    Rule(
        "SB101", "invalid-attribute", Severity.ERROR,
        "Every sharding and mesh is well-formed.",
        finds="A sharding or mesh that does not follow the grammar, or breaks a rule that needs no "
        "context: a part of an axis that does not divide it, two axes of one name, a priority on an "
        "empty dimension.",
        matters="XLA does not load the program. Of a mistake in a Shardy sharding it names the operation "
        "and the number of the argument, not the place in the text, and it stops at the first "
        "one.",
        fix='Write what the help line says, if there is one. A part `"y":(2)4` is 4 devices behind 2: 2 * '
        "4 has to divide the size of `y`.",
        bad=shardy('[{"y":(1)2}, {"y":(2)4}]'),
        good=shardy('[{"y":(1)2}, {"y":(2)2}]'),
    ),
    Rule(
        "SB102", "unknown-mesh", Severity.ERROR,
        "A sharding names a mesh of its module.",
        finds="A sharding on a mesh that nothing declares. In MLIR the innermost module around it does, "
        "with `sdy.mesh`; in HLO the mesh rides along in the module's frontend attribute "
        "`xla.sdy.meshes`.",
        matters="Without the mesh nobody knows how many devices an axis has. XLA does not load the "
        "program: `unknown mesh: @mesh`. The usual cause is a tool that copies functions or "
        "instructions to a new module and leaves the meshes behind.",
        fix="Declare the mesh, or give it to the tool that lost it. `sdybridge export --mesh "
        "@mesh=x=2,y=4` converts HLO that lacks its mesh.",
        bad=shardy("[{}, {}]").removeprefix(MESH),
        good=shardy("[{}, {}]"),
    ),
    Rule(
        "SB103", "unknown-axis", Severity.ERROR,
        "A sharding uses axes of its mesh.",
        finds="An axis name that the mesh does not have.",
        matters="XLA does not load the program: `unknown axis name`. Often a tool renamed the axes of the "
        "mesh, to `_axis_0` say, or those of the shardings, and not the other.",
        fix="Correct the name; a similar one is in the help line. `sdybridge rename-axes` gives axes new "
        "names everywhere in a program.",
        bad=shardy('[{"mesh_idx_1"}, {}]'),
        good=shardy('[{"x"}, {}]'),
    ),
    Rule(
        "SB104", "rank-mismatch", Severity.ERROR,
        "A sharding has one dimension per dimension of its tensor.",
        finds="A sharding with more or fewer dimensions than its tensor. In a device grid, the dimensions "
        "of replicas and subgroups at the end do not count.",
        matters="XLA reads such a sharding in HLO text and fails much later, in a pass that no longer "
        "knows where the sharding came from. On the argument of an MLIR program it says so when "
        "it converts the program. The usual cause is a reshape, or a pass that replaces a value "
        "by one of another rank and keeps the sharding.",
        fix="Add or remove dimensions: of size 1 in a grid, `{}` in a Shardy sharding.",
        bad=gspmd("{devices=[1,1,2,2]<=[4] last_tile_dim_replicate}"),
        good=gspmd("{devices=[1,2,2]<=[4] last_tile_dim_replicate}"),
    ),
    Rule(
        "SB105", "wrong-number-of-shardings", Severity.ERROR,
        "There is one sharding per value.",
        finds="An operation whose list of shardings is not as long as its list of results, or a tuple "
        "with more or fewer shardings than elements.",
        matters="XLA does not load the MLIR program: `result shardings don't match number of values`. It "
        "reads such a tuple in HLO text, and fails later. The usual cause is a pass that adds or "
        "removes results.",
        fix="List one sharding for each result. `<@mesh, [{?}, {?}]>` leaves one to propagation.",
        bad=shardings("[{}, {}]", "[{}, {}]"),
        good=shardings("[{}, {}]"),
    ),
    Rule(
        "SB106", "device-count", Severity.ERROR,
        "Tiles and devices are equally many, and the devices exist.",
        finds="A grid whose tiles and devices are not equally many, or that has more or fewer devices "
        "than the program has partitions.",
        matters="A grid of 4 tiles over 16 devices says nothing about 12 of them. XLA has an internal "
        "check for it: `RET_CHECK failure product_of_dimensions == product_of_iota_dimensions`, "
        "with a C++ stack. A grid of another size than the program fails in a verifier between "
        "passes.",
        fix="Multiply the numbers in `devices=[...]`, all of them: the product is the number of devices. "
        "What is not split has replicas: `{devices=[2,2,4]<=[16] last_tile_dim_replicate}`.",
        bad=gspmd("{devices=[2,2]<=[16]}"),
        good=gspmd("{devices=[2,2]<=[4]}"),
    ),
    Rule(
        "SB107", "axis-used-twice", Severity.ERROR,
        "A sharding uses each axis, and each part of one, once.",
        finds="An axis, or overlapping parts of one, in two places of a sharding: in two dimensions, or "
        "in a dimension and among the replicated or unreduced axes.",
        matters="An axis can split one dimension only: a device has one coordinate along it. XLA does not "
        "load the program: `duplicate axis ref`.",
        fix='Use another axis, or a part of it in each place: `"y":(1)2` and `"y":(2)2` share an axis of '
        "4.",
        bad=shardy('[{"x"}, {"x"}]'),
        good=shardy('[{"x"}, {"y"}]'),
    ),
    Rule(
        "SB108", "axis-is-manual", Severity.ERROR,
        "No sharding in a manual computation uses the axes that are manual there.",
        finds="A sharding in the body of an `sdy.manual_computation`, JAX's `shard_map`, that names an "
        "axis from its `manual_axes`, or from those of a computation around it.",
        matters="The body sees one device's part along these axes; there is nothing left to split. XLA "
        "does not load the program. In JAX, a `with_sharding_constraint` inside of `shard_map` "
        "does this.",
        fix="Leave the axis out, or use another.",
        bad=manual("tensor<4x8xf32>", constraint('[{"x"}, {}]')),
        good=manual("tensor<4x8xf32>", constraint('[{"y"}, {}]')),
    ),
    Rule(
        "SB109", "local-shape", Severity.ERROR,
        "A manual computation's body has the local shapes: each size divided by the manual axes on it.",
        finds="A manual computation whose arguments or returned values do not have the shapes that follow "
        "from the whole ones, the in and out shardings, and the manual axes.",
        matters="XLA does not load the program, and says which shape it expected. Only the manual axes "
        "count: an axis that splits the value but is not manual leaves the local shape as it is.",
        fix="Write the type that the help line gives, or change the in and out shardings.",
        bad=manual("tensor<8x8xf32>"),
        good=manual("tensor<4x8xf32>"),
    ),
    Rule(
        "SB110", "invalid-operation", Severity.ERROR,
        "Every Shardy operation obeys its own rules.",
        finds="A mesh, collective, data flow edge, propagation barrier, named or manual computation that "
        "breaks one of [the rules of programs](../errors.md#rules).",
        matters="XLA does not load the program.",
        fix="Do what the finding says.",
        bad=body("%0 = sdy.propagation_barrier %a allowed_direction=BOTH : tensor<8x8xf32>"),
        good=body("%0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<8x8xf32>"),
    ),
)  # fmt: skip
