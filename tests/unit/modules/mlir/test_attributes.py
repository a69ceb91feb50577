from __future__ import annotations

import pytest

from sdybridge.errors import ParseError
from sdybridge.modules.mlir.attributes import (
    attribute_end,
    find_aliases,
    find_type_aliases,
    quote,
    without_unused_aliases,
)
from sdybridge.modules.mlir.lexer import unescape


@pytest.mark.parametrize(
    "value",
    [
        '#sdy.sharding<@m, [{"x"}]>',
        "#sdy<manual_axes{}>",
        "#alias",
        "#a.b-c$d",
        '"a } string"',
        r'"a\"b"',
        "[1, {a = 2}]",
        '{a = "}"}',
        "(i32)",
        "<@m, [{}]>",
        "@symbol",
        '@"a b"',
        "1",
        "-1",
        "1.5",
        "true",
        "!stablehlo.token",
        "!quant.uniform<i8:f32, 1.0>",
        "dense<[1, 2]>",
        "array<i64: 1, 2>",
        "tensor<8xf32>",
        "affine_map<(d0) -> (d0)>",
    ],
)
@pytest.mark.parametrize("behind", ["", ", b = 1}", "}", " : i64", "\n"])
def test_attribute_end(value: str, behind: str) -> None:
    assert attribute_end(f"a = {value}{behind}", 4) == 4 + len(value)


@pytest.mark.parametrize("text", ["", ",", "}", "=", '"', "[", "#sdy.sharding<", "@"])
def test_no_attribute(text: str) -> None:
    with pytest.raises(ParseError):
        attribute_end(text, 0)


def test_find_aliases() -> None:
    text = '#a = #sdy.mesh<[]>\n  #b.c-d$e=1 : i64\n// #n = 1\n"#n = 1"\n{x = #n}\n#loc = loc("x")'
    aliases = find_aliases(text)
    assert {name: alias.value for name, alias in aliases.items()} == {
        "a": "#sdy.mesh<[]>",
        "b.c-d$e": "1",
        "loc": "loc",
    }
    for alias in aliases.values():
        assert text[: alias.end].endswith(alias.value)
        assert text[alias.start : alias.end].lstrip().startswith("#")


def test_find_aliases_in_any_spacing() -> None:
    text = '#a=1 #b // c\n = // #n = 1\n "#n = 1" module {} #c = 2 // #n = 1'
    assert {name: alias.value for name, alias in find_aliases(text).items()} == {
        "a": "1",
        "b": '"#n = 1"',
        "c": "2",
    }


def test_find_type_aliases() -> None:
    text = '!t = tensor <8xf32> !u\n= !t // !n = i32\n{s = "!n = i32"} !f = (i32) -> i32\n'
    assert find_type_aliases(text) == {
        "!t": "tensor <8xf32>",
        "!u": "tensor <8xf32>",
        "!f": "(i32) -> i32",
    }


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("#a = #sdy.mesh<[]>\nb", "b"),
        ("#a = #sdy.mesh<[]>\n{x = #a}", "#a = #sdy.mesh<[]>\n{x = #a}"),
        ("#a = #sdy.mesh<[]>\n#b = #sdy.x<#a>\n#c = #sdy.x<[#b, #a]>\nd", "d"),
        ("#a = #sdy.mesh<[]>\n#b = #sdy.x<#a>\n{x = #a}", "#a = #sdy.mesh<[]>\n{x = #a}"),
        ("#a = #sdy.x<#b>\n#b = #sdy.x<#a>\nc", "#a = #sdy.x<#b>\n#b = #sdy.x<#a>\nc"),
        ("#a = 1 : i64\nb", "#a = 1 : i64\nb"),
        ("#a = @m\nb", "b"),
        ("b\n#a = #sdy.mesh<[]>", "b\n"),
        ("#a = #sdy.mesh<[]>\n#aa = #sdy.mesh<[]>\n{x = #aa}", "#aa = #sdy.mesh<[]>\n{x = #aa}"),
        ('#a = #sdy.x<"}">module @m', "module @m"),
        ("#a = #sdy.x<[]> #b = #sdy.x<#a> c", "  c"),
        ("#a = #sdy.x<[]> // #a\nb", " // #a\nb"),
        ("#a = #sdy.x<[]> #b = #a // c\nd", "  // c\nd"),
        ('#a = #sdy.x<[]>\n{s = "#a"} // #a', '{s = "#a"} // #a'),
        ("#a // c\n =\n #sdy.x<[]>\nb", "b"),
        ("{x = 1} #a = #sdy.x<[]> }", "{x = 1}  }"),
        ("", ""),
    ],
)
def test_without_unused_aliases(text: str, left: str) -> None:
    assert without_unused_aliases(text) == left


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("", '""'),
        ("{devices=[2]<=[2]}", '"{devices=[2]<=[2]}"'),
        ('a"b', r'"a\22b"'),
        ("a\\b", r'"a\\b"'),
        ("a\nb\t", r'"a\0Ab\09"'),
        ("é", r'"\C3\A9"'),
        ("\udcff", r'"\FF"'),
    ],
)
def test_quote(value: str, quoted: str) -> None:
    assert quote(value) == quoted
    assert unescape(quoted) == value
