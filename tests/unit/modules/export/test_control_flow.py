from __future__ import annotations

import pytest

from sdybridge.errors import ParseError
from sdybridge.modules.export.control_flow import add_missing_shardings

ADDED = '{mhlo.sharding = "{replicated}"}'
BODY = "cond {\n  stablehlo.return %p : i1\n} do {\n  stablehlo.return %i : f32\n}"

# a program with a $ where ` {mhlo.sharding = ...}` is added, and how many are
PROGRAMS = [
    (f"%0 = stablehlo.while(%i = %a) : f32 attributes$\n{BODY}", 1),
    (f"%0 = stablehlo.while (%i = %a) :f32 attributes$\n{BODY}", 1),
    (f"%0:2 = stablehlo.while(%i = %a, %j = %b) : tensor<8xq<f32>>, !q.t<1, (2)> attributes$\n{BODY}", 1),
    (f"%0 = stablehlo.while(%i = %a) : tensor<8xf32,\n  #e<1>>,\n f32 attributes$ // c\n{BODY}", 1),
    ('%0 = "stablehlo.if"(%p) ({\n  stablehlo.return\n}, {\n  stablehlo.return\n})$ : (i1) -> f32', 1),
    ('%0 = "stablehlo.case"(%p) <{a = ")"}> ({\n  stablehlo.return\n})$ : (i32) -> f32', 1),
    ('%0 = "stablehlo.case"(%p) ({\n  stablehlo.return\n})$ // c\n : (i32) -> f32', 1),
    ('"stablehlo.if" (%p) ({\n  "stablehlo.return"() : () -> ()\n})$ : (i1) -> ()', 1),
    ('"stablehlo.if"(%p) ({\n"stablehlo.if"(%p) ({\nstablehlo.return\n})$ : X\nstablehlo.return\n})$ : X', 2),
    (f'a.b {{s = "stablehlo.while(%i)", t = "\\"stablehlo.if\\"("}} // "stablehlo.if"(%p)\n// {BODY}\n', 0),
    (f"%0 = a.b : f32\n{BODY}", 0),
    (f"stablehlo.while\n // (\n (%i = %a) : tensor <8xf32>, tensor // <\n <f32> attributes$ // c\n{BODY}", 1),
    ('"stablehlo.if" // "(\n(%p) ({\n  "stablehlo.return"() : () -> ()\n})$ : (i1) -> ()', 1),
    (
        f"stablehlo.while(%i = %a) : f32 attributes$\n{BODY}".replace(
            "  stablehlo.return", '  // "stablehlo.sort"(%a) ({\n  stablehlo.return'
        ),
        1,
    ),
    ("", 0),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "count"), PROGRAMS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_added(marked: str, count: int, end: str) -> None:
    marked = marked.replace("\n", end)
    text = marked.replace(" attributes$", "").replace("$", "")
    assert add_missing_shardings(text) == (marked.replace("$", f" {ADDED}"), count)


@pytest.mark.parametrize("dictionary", ["", "a.b", 'a = "}", b', "mhlo.x = {mhlo.sharding = 1}"])
def test_added_to_a_dictionary(dictionary: str) -> None:
    entry = ADDED[1:-1]
    joined = f"{{{', '.join(filter(None, (entry, dictionary)))}}}"
    for text in (
        f"%0 = stablehlo.while(%i = %a) : f32 attributes {{{dictionary}}}\n{BODY}",
        f'%0 = "stablehlo.if"(%p) ({{\n  stablehlo.return\n}}) {{{dictionary}}} : (i1) -> f32',
    ):
        assert add_missing_shardings(text) == (text.replace(f"{{{dictionary}}}", joined), 1)


@pytest.mark.parametrize(
    "dictionary", ['{mhlo.sharding = "x"}', '{a, mhlo.sharding = "x", z}', '{"mhlo.sharding" = "x"}']
)
def test_a_sharding_stays(dictionary: str) -> None:
    for text in (
        f"%0 = stablehlo.while(%i = %a) : f32 attributes {dictionary}\n{BODY}",
        f'%0 = "stablehlo.case"(%p) ({{\n  stablehlo.return\n}}) {dictionary} : (i32) -> f32',
    ):
        assert add_missing_shardings(text) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        f"{BODY}\nstablehlo.while(%i = %a",
        f"stablehlo.while(%i = %a] : f32\n{BODY}",
        f"stablehlo.while(%i = %a) : tensor<8\n{BODY}",
        f"stablehlo.while(%i = %a) : f32 attributes {{a\n{BODY}",
        f"stablehlo.while(%i = %a) : f32 attributes {{a = }}\n{BODY}",
        '"stablehlo.if"(%p) ({\n  stablehlo.return\n} : (i1) -> f32',
        '"stablehlo.if"(%p) ({\n  stablehlo.return\n}) {1} : (i1) -> f32',
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(ParseError):
        add_missing_shardings(text)


def test_many_regions_of_other_operations() -> None:
    """Whether there is control flow at all is not told by the first regions alone."""
    sort = '%1 = "stablehlo.sort"(%a) ({\n^bb0(%x: f32):\n  %2 = a.b : f32\n  stablehlo.return %2\n}) : X\n'
    branch = '%3 = "stablehlo.if"(%p) ({\n  stablehlo.return %4 : f32\n}) : (i1) -> f32\n'
    for before in range(40):
        assert add_missing_shardings(sort * before)[1] == 0
        assert add_missing_shardings(sort * before + branch)[1] == 1
        assert add_missing_shardings(sort * before + branch + sort * 3)[1] == 1
