"""Trivia, strings, symbols and brackets of MLIR text."""

from __future__ import annotations

import pytest

from sdybridge.errors import ParseError
from sdybridge.modules.mlir import lexer


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("x", "x"),
        (" \t\r\n x", "x"),
        ('// a { " \n// b\n x', "x"),
        ("// to the end", ""),
        ("/ x", "/ x"),
        ("", ""),
    ],
)
def test_skip_trivia(text: str, rest: str) -> None:
    assert text[lexer.skip_trivia(text, 0) :] == rest


@pytest.mark.parametrize(
    "group",
    [
        "()",
        "[[], {<>}]",
        '{a = "}", b = "\\"}"}',
        '{a = "\\\\"}',
        '{a = "\\22}\\5C"}',
        "{ // } a comment\n }",
        "(a -> b)",
        "<(d0, d1) -> (d0)>",
        "<(d0) : (d0 >= 0, d0 - 1 <= 0)>",
        "<[<@mesh, []>]>",
        '<{a = dense<"0x0000>"> : tensor<2x?xf32>, b = -1, c = 1 / 2}>',
        '{-#\n  dialect_resources: { builtin: { a: "0x00}" } }\n#-}',
        "<a=<b>>",
    ],
)
def test_matching_bracket_passes_over_the_group(group: str) -> None:
    text = f"x {group} ) }}"
    assert lexer.matching_bracket(text, 2) == 2 + len(group)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("{ (", 3, "'(' is never closed"),
        ("{ ( }", 5, "expected ')' before '}'"),
        ("[ a >", 5, "expected ']' before '>'"),
        ('{ a = "b\n}', 7, "the string does not end on its line"),
        ('{ a = "b', 7, "the string does not end on its line"),
        ("a", 1, "expected an opening bracket, found 'a'"),
        ("", 1, "expected an opening bracket, found the end of the text"),
        ("{ // }", 1, "'{' is never closed"),
    ],
)
def test_matching_bracket_says_what_is_open(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        lexer.matching_bracket(text, 0)
    assert caught.value.message == message
    line, at = caught.value.location.split(":")[1:]
    assert (line, at) == ("1", str(column))


def test_matching_bracket_of_any_depth() -> None:
    text = "<(" * 100_000 + ")>" * 100_000
    assert lexer.matching_bracket(text, 0) == len(text)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("", []),
        ("  // nothing\n", []),
        ("a", ["a"]),
        (" a , b ", ["a", "b"]),
        ('a = [1, 2], "b,c" = {x, y}', ["a = [1, 2]", '"b,c" = {x, y}']),
        ("<a, b>, (c, d) -> e", ["<a, b>", "(c, d) -> e"]),
        ("a,,b", ["a", "", "b"]),
        ("a,", ["a", ""]),
        ("d0 >= 0, 1 <= d0", ["d0 >= 0", "1 <= d0"]),
    ],
)
def test_items_splits_at_top_level_commas(inside: str, expected: list[str]) -> None:
    text = f"({inside})"
    spans = lexer.items(text, 1, len(text) - 1)
    assert [text[s.start : s.end] for s in spans] == expected


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ('""', ""),
        ('"plain"', "plain"),
        (r'"\22\5C\0A\09"', '"\\\n\t'),
        (r'"\"\\\n\t"', '"\\\n\t'),
        (r'"\C3\A9"', "é"),
        (r'"é\C3\A9"', "éé"),
        (r'"\FF"', "\udcff"),
    ],
)
def test_unescape(literal: str, value: str) -> None:
    assert lexer.unescape(literal) == value


@pytest.mark.parametrize(
    ("symbol", "name"), [("@a.b$1", "a.b$1"), ('@"my \\22 mesh"', 'my " mesh'), ('@""', "")]
)
def test_symbols(symbol: str, name: str) -> None:
    assert lexer.symbol_end(symbol + ", []", 0) == len(symbol)
    assert lexer.symbol_name(symbol) == name


@pytest.mark.parametrize("text", ["mesh", "@", "@1", '@"a', "@é"])
def test_symbol_end_wants_a_symbol(text: str) -> None:
    with pytest.raises(ParseError, match="expected a symbol"):
        lexer.symbol_end(text, 0)
