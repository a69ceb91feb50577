from __future__ import annotations

import pytest

from sdybridge.errors import ConversionError
from sdybridge.modules.export.custom_calls import export_custom_calls

CALL = "stablehlo.custom_call @xla_ffi_python_cpu_callback(%a)"
UNPACK = "stablehlo.get_tuple_element %callback_0[0] : (tuple<f32>) -> f32"

# a program and the same with its callback retupled
PROGRAMS = [
    (
        f"%0 = {CALL} {{a}} : () -> f32\nreturn %0",
        f"%callback_0 = {CALL} {{a}} : () -> tuple<f32>\n%0 = {UNPACK}\nreturn %0",
    ),
    (
        f"%0 = {CALL} : () -> f32\nreturn %0",
        f"%callback_0 = {CALL} : () -> tuple<f32>\n%0 = {UNPACK}\nreturn %0",
    ),
    (
        f"  %0 = {CALL} {{a}} : () -> f32\r\n  return %0\r\n",
        f"  %callback_0 = {CALL} {{a}} : () -> tuple<f32>\r\n  %0 = {UNPACK}\r\n  return %0\r\n",
    ),
    (
        f"%0 = {CALL} {{a}} : () -> f32 return %0",
        f"%callback_0 = {CALL} {{a}} : () -> tuple<f32>\n%0 = {UNPACK} return %0",
    ),
    (
        f'%0 = {CALL} {{a}} : () -> f32 loc("x)"(#l)) // %0\nreturn %0',
        f'%callback_0 = {CALL} {{a}} : () -> tuple<f32> loc("x)"(#l))\n%0 = {UNPACK} // %0\nreturn %0',
    ),
    (
        f"%x = a.b : f32 %0=\n{CALL} // c\n : ( )->f32 return %0",
        f"%x = a.b : f32 %callback_0=\n{CALL} // c\n : ( )->tuple<f32>\n%0 = {UNPACK} return %0",
    ),
    (
        f"%0 : 1 = {CALL} : () -> ( f32 // c\n ) // d\n loc (#l) return %0#0",
        f"%callback_0 : 1 = {CALL} : () -> ( tuple<f32> // c\n ) // d\n loc (#l)\n%0 = {UNPACK} return %0#0",
    ),
    (
        f"%0 = {CALL} {{\n  a = {{b = 1}}\n}} : () -> f32\nreturn %0",
        f"%callback_0 = {CALL} {{\n  a = {{b = 1}}\n}} : () -> tuple<f32>\n%0 = {UNPACK}\nreturn %0",
    ),
]


@pytest.mark.parametrize(("text", "expected"), PROGRAMS)
def test_callback(text: str, expected: str) -> None:
    assert export_custom_calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"%0 = {CALL} {{a}} : () -> f32",
        f"%0 = {CALL} {{a}} : () -> f32\nfunc.func @g() {{ return %0 }}",
        f"%0 = {CALL} {{a}} : () -> f32\nreturn %01, %0a, %0$, %x0",
        f"%0 = {CALL} {{a}} : () -> tuple<f32>\nreturn %0",
        f"!t = tuple<f32>\n%0 = {CALL} {{a}} : () -> !t\nreturn %0",
        f'%0 = {CALL} {{a}} : () -> f32\n// %0\nreturn %1 loc("%0")',
        f"{{ %0 = {CALL} {{a}} : () -> f32 }} {{ return %0 }}",
        f"%0, %1 = {CALL} {{a}} : () -> (f32, f32)\nreturn %0",
        f"%0:2 = {CALL} {{a}} : () -> (f32, f32)\nreturn %0#1",
        f"{CALL} {{a}} : () -> ()\n",
        f"// %0 = {CALL} {{a}} : () -> f32\nreturn %0",
        f'%0 = a.b {{s = "{CALL} {{a}} : () -> f32"}} : f32\nreturn %0',
        "%0 = stablehlo.custom_call @other(%a) {a} : () -> f32\nreturn %0",
        "%0 = stablehlo.custom_call @mhlo.erf(%a) : () -> f32\nreturn %0",
        '%0 = "stablehlo.custom_call"(%a) <{call_target_name = "other"}> : () -> f32\nreturn %0',
        '%0 = "stablehlo.custom_call"(%a) <{has_side_effect = true}> : () -> f32\nreturn %0',
    ],
)
def test_others_stay(text: str) -> None:
    assert export_custom_calls(text) == text


def test_names_of_several_callbacks() -> None:
    text = "".join(f"%{i} = {CALL} {{a}} : () -> f32\n" for i in range(50)) + "%callback_3 = a.b "
    text += ", ".join(f"%{i}" for i in range(50))
    new = export_custom_calls(text)
    names = [line.partition(" = ")[0] for line in new.splitlines()]
    assert len(set(names)) == 101
    assert new.count("get_tuple_element") == 50


@pytest.mark.parametrize(
    "call",
    [
        "stablehlo.custom_call @mhlo.erf(%a)",
        'stablehlo.custom_call\n@"mhlo.erf" (%a)',
        '"stablehlo.custom_call" (%a) < {call_target_name="mhlo.erf"}>',
        '"stablehlo.custom_call"(%a) <{call_target_name // c\n = #erf}>',
    ],
)
@pytest.mark.parametrize(
    ("entries", "moved"),
    [
        ("{mhlo.sharding = 1}", "{mhlo.attributes = {mhlo.sharding = 1}}"),
        ("{mhlo.sharding = 1 // c\n}", "{mhlo.attributes = {mhlo.sharding = 1} // c\n}"),
        (
            "{mhlo.attributes = {a}, mhlo.sharding = 1}",
            "{mhlo.attributes = {mhlo.sharding = 1, a}}",
        ),
        (
            "{mhlo.attributes = #attributes, mhlo.sharding = 1}",
            "{mhlo.attributes = {mhlo.sharding = 1, a = 2}}",
        ),
    ],
)
def test_moved_sharding(call: str, entries: str, moved: str) -> None:
    before = '#erf = "mhlo.erf"\n#other = {a = 2} #attributes = #other\n%0 = a.b : f32 %1 = '
    text = f"{before}{call} {entries} : (f32) -> f32"
    assert export_custom_calls(text) == f"{before}{call} {moved} : (f32) -> f32"


def test_target_in_the_dictionary() -> None:
    call = '"stablehlo.custom_call"(%a)'
    text = f'{call} {{call_target_name = "mhlo.erf", mhlo.sharding = 1}} : (f32) -> f32'
    new = f'{call} {{call_target_name = "mhlo.erf", mhlo.attributes = {{mhlo.sharding = 1}}}} : (f32) -> f32'
    assert export_custom_calls(text) == new


@pytest.mark.parametrize(
    "text",
    [
        f"%0 = {CALL} : !t\nreturn %0",
        f"%0 = {CALL} : () f32\nreturn %0",
        f"%0 // c\n :x = {CALL} : () -> f32\nreturn %0",
        "%0 = stablehlo.custom_call @mhlo.erf(%a) {mhlo.attributes = #a, mhlo.sharding = 1} : () -> f32",
    ],
)
def test_unclear(text: str) -> None:
    with pytest.raises(ConversionError) as raised:
        export_custom_calls(text)
    span = raised.value.span
    assert span
    assert text[span.start : span.end] == "stablehlo.custom_call"
