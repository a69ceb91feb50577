from __future__ import annotations

import pytest

from sdybridge.errors import ParseError
from sdybridge.modules.mlir.enclosing import Enclosing
from sdybridge.modules.mlir.sites import MESH_NAME, SiteKind, code_end, find_sites, near_brace

KEY, OPERATION = SiteKind.KEY, SiteKind.OPERATION
GENERIC, ATTRIBUTE = SiteKind.GENERIC_OPERATION, SiteKind.ATTRIBUTE

# text, the kind and name of each use of a Shardy name
SITES = [
    ("", []),
    ("sdy", []),
    ("sdy.", []),
    ("%0 = sdy.reshard %a", [(OPERATION, "sdy.reshard")]),
    ("sdy.mesh @m", [(OPERATION, "sdy.mesh")]),
    ('"sdy.mesh"() <{}>', [(GENERIC, "sdy.mesh")]),
    ('"sdy.mesh" ()', [(GENERIC, "sdy.mesh")]),
    ('{sdy.sharding = "x"}', [(KEY, "sdy.sharding")]),
    ("{a, sdy.sharding=1}", [(KEY, "sdy.sharding")]),
    ("{sdy.sharding // why\n = 1}", [(KEY, "sdy.sharding")]),
    ('{"sdy.sharding" = 1}', [(KEY, "sdy.sharding")]),
    ("{xla.sdy.manual_axes = 1}", [(KEY, "xla.sdy.manual_axes")]),
    ('{"xla.sdy.manual_axes" = 1}', [(KEY, "xla.sdy.manual_axes")]),
    ("#sdy.sharding<@m, []>", [(ATTRIBUTE, "sdy.sharding")]),
    ("#s = #sdy.mesh<[]>", [(ATTRIBUTE, "sdy.mesh")]),
    ("{sdy.mark}", []),
    ("{sdy.mark, b}", []),
    ("({ sdy.return })", [(OPERATION, "sdy.return")]),
    ('"sdy.sharding"', []),
    ('"sdy.sharding", ', []),
    ('"a sdy.mesh @m"', []),
    ('"a" sdy.mesh "b"', [(OPERATION, "sdy.mesh")]),
    (r'"\"" sdy.mesh "\\" sdy.mesh', [(OPERATION, "sdy.mesh")] * 2),
    (r'"\" sdy.mesh "', []),
    ("// sdy.mesh @m\nsdy.mesh", [(OPERATION, "sdy.mesh")]),
    ('// "\nsdy.mesh // "sdy.mesh', [(OPERATION, "sdy.mesh")]),
    ('"//" sdy.mesh', [(OPERATION, "sdy.mesh")]),
    ("a / b sdy.mesh", [(OPERATION, "sdy.mesh")]),
    ("@sdy.mesh %sdy.mesh !sdy.mesh ^sdy.mesh xsdy.mesh -sdy.mesh _sdy.mesh 1sdy.mesh", []),
    ("@xla.sdy.body my.sdy.mesh xxla.sdy.a = 1", []),
    ("xla.sdy.a = 1", [(KEY, "xla.sdy.a")]),
    ("(sdy.a)[sdy.b]<sdy.c>{sdy.d = 1}", [(OPERATION, f"sdy.{c}") for c in "abc"] + [(KEY, "sdy.d")]),
    ("sdy.a$b-c.d", [(OPERATION, "sdy.a$b-c.d")]),
    ("\tsdy.a\r\nsdy.b", [(OPERATION, "sdy.a"), (OPERATION, "sdy.b")]),
]


@pytest.mark.parametrize(("text", "sites"), SITES)
def test_find_sites(text: str, sites: list[tuple[SiteKind, str]]) -> None:
    found = list(find_sites(text))
    assert [(site.kind, site.name) for site in found] == sites
    for site in found:
        assert site.name in text[site.start : site.end + 1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{sdy.sharding = #sdy.sharding<@m, [{"x"}]>}', '#sdy.sharding<@m, [{"x"}]>'),
        (
            '{sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>, <@m, []>]>}',
            '#sdy.sharding_per_value<[<@m, [{"x"}]>, <@m, []>]>',
        ),
        ('{sdy.sharding = #sdy.sharding<mesh<["x"=2]>, []>}', None),
        (r'{sdy.sharding = #sdy.sharding<@"\22", []>}', None),
        ("{sdy.sharding = #sdy.sharding<@m, // c\n []>}", None),
        ("{sdy.sharding = #s}", None),
        ("{sdy.sharding =  #sdy.sharding<@m, []>}", "#sdy.sharding<@m, []>"),
    ],
)
def test_value_of_a_key(text: str, value: str | None) -> None:
    """The text of a sharding where the pattern can tell its end; otherwise a parser has to."""
    (site,) = (site for site in find_sites(text) if site.kind is KEY)
    assert site.value == value
    assert text[site.end] == "#"


def test_only_meshes() -> None:
    text = 'sdy.mesh @m = <[]> {sdy.mesh = 1} sdy.mesh_x sdy.meshes "sdy.mesh"() #sdy.mesh<[]> sdy.reshard'
    kinds = [site.kind for site in find_sites(text, MESH_NAME)]
    assert kinds == [OPERATION, KEY, GENERIC, ATTRIBUTE]


def test_string_that_does_not_end() -> None:
    with pytest.raises(ParseError, match="1:3: error: the string does not end on its line"):
        list(find_sites('a "sdy.mesh\n"'))


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("a\n{-#\n b\n#-}\n", 1),
        ("a\n{-# b #-}", 1),
        ("a {-# b #-}\n", 12),
        ("a\n{-# b #-} c", 13),
        ("a\n{-# b #-}\n{-# c #-}\n", 11),
        ("", 0),
    ],
)
def test_code_end(text: str, end: int) -> None:
    assert code_end(text) == end


# text with a mark at the place whose enclosing bracket is marked with a dollar sign
ENCLOSING = [
    "$(|)",
    "${a, |b}",
    "${a = {b}, |c}",
    "{a = ${b, |}, c}",
    '${a = "{", |b}',
    '${a = "}", |b}',
    r'${a = "{ \" ", |b}',
    r'${a = "\\", |b}',
    "${a, // {\n |b}",
    "${a, // }\n |b}",
    '${a, // "\n |b}',
    "${a = {b = {c = {d = {e = {f}}}}}, |g}",
    "${a\n{b}\n(c)\n[d]\n<e>\n|f}",
    "({[$<|",
    "{a} ({b} ${c = affine_map<(d0) -> (d0)>, d = (e) -> f, |g",
    "${a = #x<b <= c, d >= e>, |f}",
    "{a}\n(b)\n$[\n\n|]",
    "${) ] > |",
    "$((|)",
]


@pytest.mark.parametrize("marked", ENCLOSING)
def test_enclosing_bracket(marked: str) -> None:
    at = marked.index("|") - 1
    bracket = marked.rindex("$") if marked == "$((|)" else marked.index("$")
    bracket = 1 if marked == "$((|)" else bracket
    text = marked.replace("$", "").replace("|", "")
    assert Enclosing(text).bracket(at) == bracket
    brace = near_brace(text, at, 0)
    if "//" not in text and "\\" not in text:
        assert brace in {-1, bracket} or text[bracket] != "{"


@pytest.mark.parametrize(
    "text", ["", "a", "()", "{a} (b) [c] <d>", "}", '"{"', "// {", "a -> b", "a <= b >= c"]
)
def test_no_enclosing_bracket(text: str) -> None:
    assert Enclosing(text).bracket(len(text)) == -1


def test_enclosing_brackets_in_order() -> None:
    """One reader answers for every offset of a text, in order, as if it had read all of it each time."""
    text = '{a = [b, (c, "]"), {d = <e>}], // }\n f = {g}} (h {i}\n {j = "{", k})'
    enclosing = Enclosing(text)
    for at in (1, 6, 10, 20, 25, 30, 36, 44, 50, 56, len(text)):
        assert enclosing.bracket(at) == Enclosing(text).bracket(at), text[:at]
