from __future__ import annotations

import pytest

from sdybridge.modules.splice import removal, splice, statement


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ([], "abcdef"),
        ([(0, 0, "x")], "xabcdef"),
        ([(6, 6, "x")], "abcdefx"),
        ([(0, 6, "")], ""),
        ([(4, 5, "y"), (1, 2, "x")], "axcdyf"),
        ([(1, 2, ""), (2, 3, "z"), (3, 3, "!")], "az!def"),
    ],
)
def test_splice(edits: list[tuple[int, int, str]], text: str) -> None:
    assert splice("abcdef", edits) == text


# a dictionary in which R is the entry to remove, and what is left
REMOVALS = [
    ("op {R} : T", "op : T"),
    ("op { R } : T", "op : T"),
    ("op {\n  R\n} : T", "op : T"),
    ("op {R, b} : T", "op {b} : T"),
    ("op {a, R} : T", "op {a} : T"),
    ("op {a, R, b} : T", "op {a, b} : T"),
    ("op {a,R,b} : T", "op {a,b} : T"),
    ("op {\n  a,\n  R,\n  b\n} : T", "op {\n  a,\n  b\n} : T"),
    ("op {\n  a,\n  R\n} : T", "op {\n  a\n} : T"),
    ("op {\n  R,\n  b\n} : T", "op {\n  b\n} : T"),
    ("op {a , R , b} : T", "op {a  , b} : T"),
    ("op attributes {R}\ncond", "op\ncond"),
    ("op attributes {R, b}\ncond", "op attributes {b}\ncond"),
    ("op {a = 1, // x, y\n  R} : T", "op {a = 1} : T"),
    ('op {a = "//",\n  R} : T', 'op {a = "//"} : T'),
    ("op {a, // {\n  // b\n  R} : T", "op {a} : T"),
    ("op {// a\n R} : T", "op : T"),
    ("op {a, R // c\n} : T", "op {a // c\n} : T"),
    ("op {R // c\n} : T", "op : T"),
    ("op <{R}> : T", "op <> : T"),
]


@pytest.mark.parametrize(("text", "left"), REMOVALS)
def test_removal(text: str, left: str) -> None:
    at = text.index("R")
    start, end = removal(text, at, at + 1)
    assert text[:start] + text[end:] == left


def test_removal_takes_nothing_before_a_floor() -> None:
    text = "{a, R}"
    assert removal(text, 4, 5, floor=4) == (4, 5)
    assert removal(text, 4, 5, floor=3) == (4, 5)
    assert removal(text, 4, 5, floor=2) == (2, 5)


# text in which OP is the operation to remove, and what is left
STATEMENTS = [
    ("a\n  OP\n  b", "a\n  b"),
    ("OP\nb", "b"),
    ("a\n\tOP", "a\n"),
    ("OP", ""),
    ("a\r\n  OP\r\n  b", "a\r\n  b"),
    ("a\n  OP loc(#l)\n  b", "a\n  b"),
    ('a\n  OP loc("x)"(#l))  \n  b', "a\n  b"),
    ("a\n  OP // c\n loc (#l)\n  b", "a\n  b"),
    ("a\n  OP loc\n(#l) b", "a\n   b"),
    ("a\n  OP located(#l)", "a\n   located(#l)"),
    ("a OP b", "a  b"),
    ("a\n  OP // c\n", "a\n   // c\n"),
    ("{ OP\n", "{ \n"),
    ("a\n  OP }\n", "a\n   }\n"),
]


@pytest.mark.parametrize(("text", "left"), STATEMENTS)
def test_statement(text: str, left: str) -> None:
    at = text.index("OP")
    start, end = statement(text, at, at + 2)
    assert text[:start] + text[end:] == left
