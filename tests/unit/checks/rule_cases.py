"""Programs that break each rule, and programs that look like them and do not; MLIR and HLO."""

# ruff: noqa: E501  (a program a line)

from __future__ import annotations

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
OTHERS = 'sdy.mesh @one = <["x"=2, "one"=1]>\nsdy.mesh @turned = <["x"=2], device_ids=[1, 0]>\n'
GENERIC = '"stablehlo.custom_call"(%a) <{call_target_name = "Sharding"}>'


def sdy(sharding: str, of_type: str = "tensor<8x8xf32>", mesh: str = "mesh", body: str = "") -> str:
    """A program with a Shardy sharding on its argument."""
    argument = f"%a: {of_type} {{sdy.sharding = #sdy.sharding<@{mesh}, {sharding}>}}"
    return f"{MESH}{OTHERS}func.func @main({argument}) {{\n{body}  return\n}}\n"


def grid(sharding: str, of_type: str = "tensor<8x8xf32>", body: str = "", module: str = "") -> str:
    """A program with an HLO sharding on its argument."""
    text = f'func.func @main(%a: {of_type} {{mhlo.sharding = "{sharding}"}}) {{\n{body}  return\n}}\n'
    return f"module attributes {{{module}}} {{\n{text}}}\n" if module else text


def op(line: str) -> str:
    """A program with one operation."""
    return f"{MESH}{OTHERS}func.func @main(%a: tensor<8x8xf32>) {{\n  {line}\n  return\n}}\n"


def results(*shardings: str, mesh: str = "mesh") -> str:
    """The dictionary of an operation."""
    return (
        f"{{sdy.sharding = #sdy.sharding_per_value<[{', '.join(f'<@{mesh}, {one}>' for one in shardings)}]>}}"
    )


def manual(inner: str, body: str = "", after: str = "") -> str:
    """A computation that is manual along `x`."""
    return op(
        '%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] '
        'out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} '
        f"(%b: {inner}) {{\n{body}    sdy.return %b : {inner}\n  }} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n{after}"
    )


def constraint(sharding: str, value: str = "%b", of_type: str = "tensor<4x8xf32>") -> str:
    return f"    %1 = sdy.sharding_constraint {value} <@mesh, {sharding}> : {of_type}\n"


def hlo(*lines: str, header: str = "") -> str:
    """An HLO program."""
    inside = "".join(f"  {line}\n" for line in lines)
    return f"HloModule m{header}\n\nENTRY main {{\n{inside}}}\n"


def partitioned(*lines: str) -> str:
    """The same, as XLA names what it has partitioned."""
    return hlo(*lines).replace("ENTRY main", "ENTRY main_spmd")


def open_results(flags: str) -> str:
    """An HLO program with a result without a sharding, and flags whether propagation may shard it."""
    return hlo(
        "a = f32[8,8] parameter(0), sharding={devices=[2,1]<=[2]}",
        "b = f32[] constant(0)",
        "ROOT t = (f32[], f32[8,8]) tuple(b, a)",
        header=f", allow_spmd_sharding_propagation_to_output={flags}",
    )


def root(sharding: str, shape: str = "f32[8,8]", header: str = "") -> str:
    """An HLO program of one parameter."""
    return hlo(f"ROOT a = {shape} parameter(0), sharding={sharding}", header=header)


def carried(sharding: str, meshes: str | None = 'mesh = #sdy.mesh<["x"=2]>', more: str = "") -> str:
    """An HLO program with a Shardy sharding that rides along."""
    text = f"#sdy.sharding<@mesh, {sharding}>".replace('"', '\\"')
    return hlo(
        f'ROOT a = f32[8,8] parameter(0){more}, frontend_attributes={{xla.sdy.sharding="{text}"}}',
        header="" if meshes is None else f", frontend_attributes={{xla.sdy.meshes={{{meshes}}}}}",
    )


def carrier(sharding: str, more: str) -> str:
    """An MLIR program with a Shardy sharding that rides along."""
    text = f"#sdy.sharding<@mesh, {sharding}>".replace('"', r"\22")
    meshes = r'{xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=2]>}"}'
    argument = f'%a: tensor<8x8xf32> {{mhlo.frontend_attributes = {{xla.sdy.sharding = "{text}"}}, {more}}}'
    return (
        f"module attributes {{mhlo.frontend_attributes = {meshes}}} {{\n"
        f"func.func @main({argument}) {{\n  return\n}}\n}}\n"
    )


def full_to_shard(after: str) -> str:
    """GSPMD's way into a manual region, and what follows."""
    call = "(tensor<8x8xf32>) -> tensor<4x8xf32>"
    return grid(
        "{devices=[2,1]<=[2]}",
        body=f'  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {{mhlo.sharding = "{{manual}}"}} : {call}\n'
        f"  {after}\n",
    )


MIXED_HLO = (
    'HloModule m, frontend_attributes={{xla.sdy.meshes={{mesh = #sdy.mesh<["x"=2]>}}}}\n\nENTRY main {{\n'
    '  a = f32[8,8] parameter(0), frontend_attributes={{xla.sdy.sharding="#sdy.sharding<@mesh, [{{\\"x\\"}}, {{}}]>"}}\n'
    "  b = f32[8,8] {call}\n  ROOT t = (f32[8,8], f32[8,8]) tuple(a, b){root}\n}}\n"
)
CALL = 'custom-call(a), custom_call_target="Sharding", sharding={replicated}'
ATTRIBUTE = ', frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>"}'
NAMED = "{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}"
HALVES = "{devices=[2,1]<=[2]}"
ANY = "tensor<8x8xf32>) -> tensor<8x8xf32>"
REDUCED = "#sdy.sharding_per_value<[<@{mesh}, [{{}}, {{}}], unreduced={{{axes}}}>]>"

RESULT = (
    carrier('[{"x"}, {}]', f'mhlo.sharding = "{HALVES}"')
    .replace(") {\n  return", f') -> (tensor<8x8xf32> {{mhlo.sharding = "{HALVES}"}}) {{\n  return')
    .replace(
        "  return\n",
        "  %0 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%a) {mhlo.frontend_attributes = {xla.sdy.sharding = "
        '"#sdy.sharding_per_value<[<@mesh, [{\\22x\\22}, {}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n'
        "  return %0 : tensor<8x8xf32>\n",
    )
)

CASES: dict[str, tuple[list[str], list[str]]] = {
    "SB100": (
        ["func.func @main(%a: tensor<8xf32>) {\n", "func.func @f(%a: i32) {\n  %0 = )\n}\n",
         "HloModule m\n\nENTRY main {\n  a = f32[8] parameter(0", "HloModule m\n\nENTRY main {\n  a = f32[8] parameter(0)\n"],
        ["func.func @main(%a: tensor<8xf32>) {\n}\n", "", "// nothing\n", "HloModule m\n",
         "HloModule m\n\nENTRY main {\n  ROOT a = f32[8] parameter(0)\n}\n"],
    ),
    "SB101": (
        [sdy('[{"x":(2)4}, {}]'), sdy('[{"x" "y"}, {}]'), sdy("[{}p1, {}]"), grid("{devices=[2,2<=[4]}"),
         op('%0 = sdy.reshard %a <@mesh, [{"y":(2)4}, {}]> : tensor<8x8xf32>'), 'sdy.mesh @m = <["x"=0]>\n',
         root("{replicatd}"), carried('[{"x"}, {'), carrier('[{"x"', "a = 1")],
        [sdy('[{"y":(2)2}, {}]'), sdy('[{"x"}p1, {?}p0]'), grid("{devices=[2,2]<=[4]}"), root("{replicated}"),
         carried('[{"x"}, {}]'), carrier('[{"x"}, {}]', "a = 1"),
         'func.func @f() attributes {doc = "#sdy.sharding<@mesh, [{bad}]>"} { return }\n'],
    ),
    "SB102": (
        [sdy("[{}, {}]", mesh="other"), op("%0 = sdy.reshard %a <@mseh, [{}, {}]> : tensor<8x8xf32>"),
         carried("[{}, {}]", None), carried("[{}, {}]", 'other = #sdy.mesh<["x"=2]>')],
        [sdy("[{}, {}]"), sdy('[{"x"}, {}]', mesh="turned"), carried("[{}, {}]"),
         op('%0 = sdy.reshard %a <mesh<["q"=2]>, [{"q"}, {}]> : tensor<8x8xf32>')],
    ),
    "SB103": (
        [sdy('[{"modle"}, {}]'), sdy('[{}, {}], replicated={"z"}'), carried('[{"y"}, {}]'),
         manual("tensor<4x8xf32>").replace('manual_axes={"x"}', 'manual_axes={"x", "q"}'),
         carried('[{"x"}, {}]', 'mesh = #sdy.mesh<["_axis_0"=2]>'), carrier('[{"z"}, {}]', "a = 1")],
        [sdy('[{"y"}, {}]'), carried('[{"x"}, {}]'), manual("tensor<4x8xf32>"), carrier('[{"x"}, {}]', "a = 1")],
    ),
    "SB104": (
        [sdy('[{"x"}]'), sdy("[{}]", "i32"), grid("{devices=[2]<=[2]}"), carried('[{"x"}]'),
         root("{devices=[1,1,2,2]<=[4] last_tile_dim_replicate}", "f64[96]"), carrier('[{"x"}]', "a = 1"),
         root("{{devices=[2]<=[2]}, {replicated}}", "(f32[8,8], f32[8])"), root(NAMED, "f32[8]")],
        [sdy('[{"x"}, {}]'), sdy("[]", "i32"), grid("{devices=[2,1]<=[2]}"), grid("{manual}", "tensor<f32>"),
         root("{devices=[2,2]<=[4] last_tile_dim_replicate}", "f64[96]"),
         root("{{devices=[2,1]<=[2]}, {replicated}}", "(f32[8,8], f32[8])"), root(NAMED)],
    ),
    "SB105": (
        [op(f"%0 = stablehlo.abs %a {results('[{}, {}]', '[{}, {}]')} : tensor<8x8xf32>"),
         op("%0 = stablehlo.abs %a {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} : tensor<8x8xf32>"),
         op('%0:2 = a.b %a {mhlo.sharding = "{{replicated}, {replicated}, {manual}}"} : (i32) -> (i32, i32)'),
         root("{{replicated}, {replicated}, {replicated}}", "(f32[8], f32[8])"), root("{{replicated}}")],
        [op(f"%0 = stablehlo.abs %a {results('[{}, {}]')} : tensor<8x8xf32>"),
         op('%0:2 = a.b %a {mhlo.sharding = "{{replicated}, {replicated}}"} : (i32) -> (i32, i32)'),
         op('%0 = a.b %a {mhlo.sharding = "{{replicated}, {replicated}}"} : (i32) -> tuple<i32, i32>'),
         root("{{replicated}, {replicated}}", "(f32[8], f32[8])"), root("{replicated}", "(f32[8], f32[8])")],
    ),
    "SB106": (
        [grid("{devices=[2,2]<=[16]}"), grid("{devices=[2,2]0,1,2}"), grid("{devices=[2,2]0,1,2,2}"), root("{devices=[2,1]0,-1}"), root("{devices=[2,2]<=[16]}"),
         grid("{devices=[4,2]<=[8]}", module="mhlo.num_partitions = 4 : i32"),
         'sdy.mesh @m = <["x"=2], device_ids=[0, 1, 2]>\n', root("{maximal device=9}", header=", num_partitions=4"),
         root("{devices=[4,2]<=[8]}", header=", num_partitions=4")],
        [grid("{devices=[2,2]<=[4]}"), root("{devices=[2,2]0,1,2,3}"), 'sdy.mesh @m = <["x"=2], device_ids=[1, 0]>\n',
         grid("{devices=[4,2]<=[8]}", module="mhlo.num_partitions = 8 : i32"),
         grid("{devices=[4,2]<=[8]}", module="mhlo.num_partitions = 1 : i32"),
         root("{devices=[4,2]<=[8]}", header=", num_partitions=8"), root("{maximal device=9}")],
    ),
    "SB107": (
        [sdy('[{"x"}, {"x"}]'), sdy('[{"y"}, {"y":(1)2}]'), sdy('[{"x"}, {}], replicated={"x"}'),
         carried('[{"x"}, {"x"}]')],
        [sdy('[{"x"}, {"y"}]'), sdy('[{"y":(1)2}, {"y":(2)2}]'), carried('[{}, {"x"}]')],
    ),
    "SB108": (
        [manual("tensor<4x8xf32>", constraint('[{"x"}, {}]')), manual("tensor<4x8xf32>", constraint('[{}, {"x", ?}]'))],
        [manual("tensor<4x8xf32>", constraint('[{"y"}, {}]')),
         manual("tensor<4x8xf32>", after=constraint('[{"x"}, {}]', "%0", "tensor<8x8xf32>"))],
    ),
    "SB109": (
        [manual("tensor<8x8xf32>"), manual("tensor<2x8xf32>"), manual("tensor<4x8xf32>").replace("8x8", "7x8")],
        [manual("tensor<4x8xf32>"), manual("tensor<4x8xf32>", constraint("[{}, {}]"))],
    ),
    "SB110": (
        [op("%0 = sdy.propagation_barrier %a allowed_direction=BOTH : tensor<8x8xf32>"), MESH + MESH,
         op('sdy.mesh @inner = <["x"=2]>'),
         sdy('[{"x"}, {}]', body='  %0 = sdy.all_gather [{"y"}, {}] %a out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>\n')],
        [op("%0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<8x8xf32>"),
         sdy('[{"x"}, {}]', body='  %0 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>\n')],
    ),
    "SB201": (
        [op(f"%0 = stablehlo.custom_call @Sharding(%a) : ({ANY}"), op(f"%0 = {GENERIC} : ({ANY}"),
         op(f"%0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {{a = 1}} : ({ANY}"),
         hlo("a = f32[8] parameter(0)", 'ROOT b = f32[8] custom-call(a), custom_call_target="Sharding"')],
        [op(f'%0 = stablehlo.custom_call @Sharding(%a) {{mhlo.sharding = "{{replicated}}"}} : ({ANY}'),
         op(f"%0 = stablehlo.custom_call @Sharding(%a) {results('[{}, {}]')} : ({ANY}"),
         op(f"%0 = stablehlo.custom_call @Other(%a) : ({ANY}"),
         hlo("a = f32[8] parameter(0)", 'ROOT b = f32[8] custom-call(a), custom_call_target="x"'),
         hlo("a = f32[8] parameter(0)", 'ROOT b = f32[8] custom-call(a), custom_call_target="Sharding", sharding={manual}')],
    ),
    "SB202": (
        [sdy('[{"x"}, {}]', body=f'  %0 = stablehlo.custom_call @Sharding(%a) {{mhlo.sharding = "{{replicated}}"}} : ({ANY}\n'),
         sdy('[{"x"}, {}]', body='  %0 = stablehlo.abs %a {mhlo.sharding = "{replicated}"} : tensor<8x8xf32>\n'),
         sdy('[{"x"}, {}]') + 'func.func @g() -> (i32 {mhlo.sharding = "{replicated}"}) {\n  return\n}\n',
         MIXED_HLO.format(call=CALL, root=""), RESULT.replace("xla.sdy.FuncResultSharding", "other")],
        [sdy('[{"x"}, {}]', body=constraint("[{}, {}]", "%a", "tensor<8x8xf32>")), grid("{replicated}"), RESULT,
         "module attributes {mhlo.use_auto_spmd_partitioning = false} {\n" + sdy('[{"x"}, {}]') +
         'func.func @g() -> (i32 {mhlo.sharding = "{replicated}"}) {\n  return\n}\n}\n',
         carrier('[{"x"}, {}]', f'mhlo.sharding = "{HALVES}"'),
         sdy('[{"x"}, {}]').replace("{sdy.", f'{{mhlo.sharding = "{HALVES}", sdy.'),
         RESULT.replace("}}) {\n".replace("}}", '"}'), '"}, i32 {mhlo.sharding = "{replicated}"}) {\n'),
         RESULT.replace("  %0 =", '  %1 = stablehlo.abs %a {mhlo.sharding = "{replicated}"} : tensor<8x8xf32>\n  %0 ='),
         MIXED_HLO.format(call=CALL + ATTRIBUTE, root=""), MIXED_HLO.format(call="negate(a)", root=""),
         MIXED_HLO.format(call="negate(a)", root="").replace("ENTRY", "f {\n  ROOT p = f32[8] parameter(0), sharding={replicated}\n}\n\nENTRY"),
         MIXED_HLO.format(call="negate(a)", root=", sharding={{devices=[2,1]<=[2]}, {replicated}}")],
    ),
    "SB203": (
        [sdy('[{"x"}, {}]').replace("{sdy.", '{mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{}, {}]>"}, sdy.'),
         carrier("[{}, {}]", "a = 1").replace("func.func", f"{MESH}func.func", 1).replace("  return", "  " + constraint("[{}, {}]", "%a", "tensor<8x8xf32>").strip() + "\n  return")],
        [sdy('[{"x"}, {}]'), carrier("[{}, {}]", "a = 1"), carried("[{}, {}]"),
         sdy('[{"x"}, {}]').replace("{sdy.", '{mhlo.frontend_attributes = {a = "b"}, sdy.')],
    ),
    "SB204": (
        [carrier('[{}, {"x"}]', f'mhlo.sharding = "{HALVES}"'), carrier("[{}, {}]", f'mhlo.sharding = "{HALVES}"'),
         carried('[{}, {"x"}]', more=f", sharding={HALVES}"), carried("[{}, {}]", more=", sharding={devices=[1,2]1,0}")],
        [carrier('[{"x"}, {}]', f'mhlo.sharding = "{HALVES}"'), carried('[{"x"}, {}]', more=f", sharding={HALVES}"),
         carried("[{}, {}]", more=", sharding={replicated}"), carried('[{"x"}, {}]', more=", sharding={devices=[2,1]0,1}")],
    ),
    "SB301": (
        [manual("tensor<4x8xf32>", "    %1 = stablehlo.abs %b : tensor<4x8xf32>\n", "  %2 = stablehlo.abs %1 : tensor<4x8xf32>\n"),
         manual("tensor<4x8xf32>", after="  %2 = stablehlo.abs %b : tensor<4x8xf32>\n"),
         full_to_shard('%1 = stablehlo.abs %0 {mhlo.sharding = "{replicated}"} : tensor<4x8xf32>'),
         hlo("a = f32[8] parameter(0), sharding={manual}", "ROOT b = f32[8] negate(a), sharding={devices=[2]<=[2]}"),
         hlo("a = f32[8] parameter(0), sharding={devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}",
             "ROOT b = f32[8] negate(f32[8]{0} %a), sharding={replicated}")],
        [manual("tensor<4x8xf32>", "    %1 = stablehlo.abs %b : tensor<4x8xf32>\n", "  %1 = stablehlo.abs %0 : tensor<8x8xf32>\n  %2 = stablehlo.abs %1 : tensor<8x8xf32>\n"),
         full_to_shard('%1 = stablehlo.abs %0 {mhlo.sharding = "{manual}"} : tensor<4x8xf32>'),
         full_to_shard('%1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<4x8xf32>) -> tensor<8x8xf32>'),
         hlo("a = f32[8] parameter(0), sharding={manual}", "ROOT b = f32[8] negate(a), sharding={manual}"),
         hlo("a = f32[8] parameter(0), sharding={replicated}", "ROOT b = f32[8] negate(a), sharding={devices=[2]<=[2]}"),
         hlo("a = f32[4] parameter(0), sharding={manual}",
             'ROOT b = f32[8] custom-call(a), custom_call_target="SPMDShardToFullShape", sharding={devices=[2]<=[2]}'),
         partitioned("a = f32[8] parameter(0), sharding={manual}", "ROOT b = f32[8] negate(a), sharding={replicated}")],
    ),
    "SB401": (
        [grid("{devices=[4,1]<=[4]}", "tensor<126x8xf32>"), sdy('[{"y"}, {}]', "tensor<7x2xf32>"),
         root("{devices=[3]<=[3]}", "f32[8]"), root(NAMED, "f32[8,7]"), carried('[{"x"}, {}]').replace("8,8", "9,8")],
        [grid("{devices=[2,1]<=[2]}", "tensor<126x8xf32>"), sdy('[{}, {"x"}]', "tensor<7x2xf32>"),
         root("{devices=[4]<=[4]}", "f32[8]"), grid("{devices=[4,1]<=[4]}", "tensor<?x8xf32>")],
    ),
    "SB402": (
        [grid("{devices=[8,1]<=[8]}", "tensor<17x16xf32>"), sdy('[{"y"}, {}]', "tensor<1x2xf32>"),
         root("{devices=[8]<=[8]}", "f32[4]"), root(NAMED, "f32[8,2]"), carried('[{"x"}, {}]').replace("8,8", "1,8")],
        [grid("{devices=[8,1]<=[8]}", "tensor<24x16xf32>"), grid("{devices=[4,1]<=[4]}", "tensor<7x2xf32>"),
         sdy('[{"y"}, {}]', "tensor<4x2xf32>"), root("{devices=[8]<=[8]}", "f32[8]"),
         partitioned("ROOT a = f32[1] parameter(0), sharding={devices=[8]<=[8]}")],
    ),
    "SB403": (
        [sdy("[{}, {}]", "tensor<32768x4096xf32>"), grid("{replicated}", "tensor<32768x4096xf32>"),
         root("{replicated}", "f32[32768,4096]"), carried("[{}, {}]").replace("8,8", "8192,8192")],
        [sdy('[{"y"}, {}]', "tensor<32768x4096xf32>"), sdy("[{?}, {}]", "tensor<32768x4096xf32>"), grid("{replicated}"),
         root("{replicated}", "s4[32768,4096]"), root("{replicated}", "f32[32768,4096]", ", num_partitions=1"),
         root("{devices=[2,1]<=[2]}", "f32[32768,4096]")],
    ),
    "SB404": (
        [op(f'%0 = stablehlo.constant {{sdy.sharding = {REDUCED.format(mesh="mesh", axes=chr(34) + "x" + chr(34))}}} dense<1.0> : tensor<8x8xf32>'),
         op(f'%0 = stablehlo.dot %a, %a {{sdy.sharding = {REDUCED.format(mesh="one", axes=chr(34) + "one" + chr(34))}}} : tensor<8x8xf32>'),
         hlo("ROOT a = f32[8] iota(), iota_dimension=0, sharding={devices=[1,2]<=[2] last_tile_dims={unreduced}}"),
         hlo("ROOT a = f32[] constant(1), sharding={unreduced}")],
        [op(f'%0 = stablehlo.dot %a, %a {{sdy.sharding = {REDUCED.format(mesh="mesh", axes=chr(34) + "x" + chr(34))}}} : tensor<8x8xf32>'),
         op(f"%0 = stablehlo.constant {results('[{}, {}]')} dense<1.0> : tensor<8x8xf32>"),
         hlo("ROOT a = f32[8] parameter(0), sharding={devices=[1,2]<=[2] last_tile_dims={unreduced}}"),
         hlo("ROOT a = f32[] constant(1), sharding={replicated}")],
    ),
    "SB405": (
        [grid(r"{devices=[4,2]<=[2,4]T(1,0) metadata={op_type=\22sdy::reduction_op\22 op_name=\22MAX\22}}"),
         grid(r"{replicated metadata={op_type=\22sdy::reduction_op\22 op_name=\22MIN\22}}"),
         root('{devices=[4,2]<=[8] metadata={op_type="sdy::reduction_op" op_name="MAX"}}'),
         root('{replicated metadata={op_type="sdy::reduction_op" op_name="MAX"}}')],
        [grid("{devices=[4,2]<=[2,4]T(1,0)}"), root('{devices=[4,2]<=[8] metadata={op_name="MAX"}}'),
         root('{devices=[4,1,2]<=[8] last_tile_dims={unreduced} metadata={op_type="sdy::reduction_op" op_name="MAX"}}'),
         grid(r"{devices=[4,2]<=[2,4]T(1,0) metadata={op_name=\22f\22}}")],
    ),
    "SB406": (
        [grid(HALVES, body="").replace(") {", ") -> tensor<8x8xf32> {").replace("return", "return %a : tensor<8x8xf32>"),
         grid(HALVES).replace(") {", ') -> (i32 {mhlo.sharding = "{replicated}"}, tensor<8x8xf32>) {').replace("return", "return %c, %a : i32, tensor<8x8xf32>"),
         hlo(f"a = f32[8,8] parameter(0), sharding={HALVES}", "ROOT t = (f32[8,8]) tuple(a)"),
         hlo(f"a = f32[8,8] parameter(0), sharding={HALVES}", "b = f32[] constant(0)", "ROOT t = (f32[], f32[8,8]) tuple(b, f32[8,8] %a)"),
         open_results("{true,false}"), open_results("{false}")],
        [grid(HALVES).replace(") {", f') -> (tensor<8x8xf32> {{mhlo.sharding = "{HALVES}"}}) {{').replace("return", "return %a : tensor<8x8xf32>"),
         grid("{replicated}").replace(") {", ") -> tensor<8x8xf32> {").replace("return", "return %a : tensor<8x8xf32>"),
         sdy('[{"x"}, {}]').replace(") {", ") -> tensor<8x8xf32> {").replace("return", "return %a : tensor<8x8xf32>"),
         hlo(f"a = f32[8,8] parameter(0), sharding={HALVES}", f"ROOT t = (f32[8,8]) tuple(a), sharding={{{HALVES}}}"),
         hlo(f"a = f32[8,8] parameter(0), sharding={HALVES}", "b = f32[] constant(0)", "ROOT t = (f32[]) tuple(b)"),
         partitioned(f"a = f32[8,8] parameter(0), sharding={HALVES}", "ROOT t = (f32[8,8]) tuple(a)"),
         open_results("{true}"), open_results("{false,true}")],
    ),
    "SB407": (
        [sdy('[{"y":(1)2}, {}]'), carried('[{"x":(1)2}, {}]', 'mesh = #sdy.mesh<["x"=4]>')],
        [sdy('[{"y"}, {}]'), sdy('[{"y":(1)2}, {"y":(2)2}]'), carried('[{"x"}, {}]')],
    ),
    "SB501": ([sdy('[{"x", ?}, {}]'), sdy("[{}, {?}]")], [sdy('[{"x"}, {}]'), carried("[{?}, {}]")]),
    "SB502": ([sdy('[{"x"}p1, {}]'), sdy("[{}, {?}p2]")], [sdy('[{"x"}, {}]'), grid("{replicated}")]),
    "SB503": ([sdy('[{}, {}], replicated={"x"}'), sdy('[{"y"}, {}], replicated={"x"}')], [sdy("[{}, {}]"), grid("{replicated}")]),
    "SB504": ([sdy('[{}, {}], unreduced={"x"}'), sdy('[{"x"}, {}], unreduced={"y"}')], [sdy('[{"x"}, {"y"}]'), grid("{replicated}")]),
    "SB505": ([sdy("[{}, {}]", mesh="turned"), sdy("[{?}, {}]", mesh="turned")], [sdy('[{"x"}, {}]', mesh="turned"), sdy("[{}, {}]")]),
    "SB506": ([sdy('[{"x"}, {}]'), sdy('[{}, {"y", "x"}]')], [sdy("[{}, {}]"), grid(HALVES)]),
}  # fmt: skip
"""By the code of the rule: programs that break it, programs that do not."""
