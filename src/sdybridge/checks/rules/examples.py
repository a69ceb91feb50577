"""Programs that the rules show: short ones, put together of the parts that they share."""

from __future__ import annotations

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
ARGUMENT = "func.func @main(%a: tensor<8x8xf32> {{{}}}) {{\n  return\n}}\n"


def shardy(sharding: str, of_type: str = "tensor<8x8xf32>") -> str:
    """A program with one Shardy sharding."""
    entry = f"sdy.sharding = #sdy.sharding<@mesh, {sharding}>"
    return MESH + ARGUMENT.format(entry).replace("tensor<8x8xf32>", of_type)


def gspmd(sharding: str, of_type: str = "tensor<8x8xf32>") -> str:
    """A program with one HLO sharding."""
    return ARGUMENT.format(f'mhlo.sharding = "{sharding}"').replace("tensor<8x8xf32>", of_type)


def body(*lines: str) -> str:
    """A program with operations on `%a`."""
    inside = "".join([f"  {line}\n" for line in lines])
    return f"{MESH}func.func @main(%a: tensor<8x8xf32>) {{\n{inside}  return\n}}\n"


def manual(inner: str, *lines: str) -> str:
    """A program with a computation that is manual along `x`."""
    return body(
        '%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]',
        f'    out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}} (%b: {inner}) {{',
        *(f"  {line}" for line in lines),
        f"  sdy.return %b : {inner}",
        "} : (tensor<8x8xf32>) -> tensor<8x8xf32>",
    )


def constraint(sharding: str, value: str = "%b", of_type: str = "tensor<4x8xf32>") -> str:
    """A line with a constraint."""
    return f"%1 = sdy.sharding_constraint {value} <@mesh, {sharding}> : {of_type}"


def shardings(*several: str) -> str:
    """A program with an operation that has a list of shardings."""
    listed = ", ".join(f"<@mesh, {sharding}>" for sharding in several)
    return body(
        "%0 = stablehlo.abs %a",
        f"    {{sdy.sharding = #sdy.sharding_per_value<[{listed}]>}} : tensor<8x8xf32>",
    )


def with_line(program: str, line: str) -> str:
    """The program with one more operation."""
    return program.replace("  return", f"  {line}\n  return")


def carried(sharding: str, beside: str) -> str:
    """A program whose argument has a sharding that rides along as text, and another entry."""
    entry = f'mhlo.frontend_attributes = {{xla.sdy.sharding = "#sdy.sharding<@mesh, {sharding}>"}}, {beside}'
    meshes = r'{xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=2]>}"}'
    function = ARGUMENT.format(entry)
    return f"module attributes {{mhlo.frontend_attributes = {meshes}}} {{\n{function}}}\n"


CALL = "%0 = stablehlo.custom_call @Sharding(%a)"
CALL_TYPE = " : (tensor<8x8xf32>) -> tensor<8x8xf32>"
GRID = 'mhlo.sharding = "{devices=[2,1]<=[2]}"'
