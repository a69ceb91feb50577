from __future__ import annotations

import pytest

from sdybridge.errors import ParseError
from sdybridge.modules.attributes import attribute_end, find_aliases, quote, without_unused_aliases
from sdybridge.modules.lexer import unescape


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
