"""Shardings in logs and lines of programs, with what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sdybridge.source import Source
from sdybridge.target import Target
from sdybridge.view.messages import distinct, find_shardings

GRID = "{devices=[2,4]<=[8]}"


@pytest.mark.parametrize(
    ("text", "shardings", "tensors", "name"),
    [
        (
            f"from sharding {GRID} to {{replicated}} for %a = f32[8]{{0}} copy",
            [GRID, "{replicated}"],
            ["f32[8]"],
            "%a",
        ),
        (f"cannot go from {GRID} to {GRID}.", [GRID, GRID], [], ""),
        (f"  %p.1 = bf16[8,8]{{1,0}} parameter(0), sharding={GRID}", [GRID], ["bf16[8,8]"], "%p.1"),
        (
            f"  ROOT t = (f32[8]{{0}}, s32[]) tuple(a), sharding={{{GRID}, {{manual}}}}",
            [f"{{{GRID}, {{manual}}}}"],
            ["f32[8]", "s32[]"],
            "t",
        ),
        (f"log: op x.3 = f32[4,4] add(a, b), sharding={GRID} more", [GRID], ["f32[4,4]"], "x.3"),
        (
            f'%0 = "op"(%a) {{mhlo.sharding = "{GRID}"}} : (tensor<2xf32>) -> tensor<8x8xf32>',
            [GRID],
            ["f32[8,8]"],
            "%0",
        ),
        (
            '(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})',
            ['#sdy.sharding<@m, [{"x"}]>'],
            ["f32[8]"],
            "%arg0",
        ),
        ('%1 = sdy.reshard %0 <@m, [{"x"}]> : tensor<8xf32>', ['<@m, [{"x"}]>'], ["f32[8]"], "%1"),
        ('a="#sdy.sharding<@m, [{\\"x\\"}]>"', ['#sdy.sharding<@m, [{"x"}]>'], [], ""),
        ("got PartitionSpec('x', None), want other", ["PartitionSpec('x', None)"], [], ""),
        ("{mesh['x'=2], [{'x'}]} is new", ["{mesh['x'=2], [{'x'}]}"], [], ""),
        ("{not} a {sharding}, P(broken, {devices=[2]<=[3]}", [], [], ""),
        ("", [], [], ""),
    ],
)
def test_found(text: str, shardings: list[str], tensors: list[str], name: str) -> None:
    found = find_shardings(Source(text), Target.CURRENT)
    assert [one.source.text for found_ in found for one in found_.parsed] == shardings
    if found:
        first = found[0]
        assert list(map(str, first.tensors)) == tensors
        assert first.name == name
        assert first.is_pair is (len(shardings) == 2)


def test_meshes_of_jax() -> None:
    for mesh in (
        "Mesh('x': 4, 'y': 2, axis_types=(Auto,))",
        "Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'))",
    ):
        text = f"got NamedSharding(mesh={mesh}, spec=PartitionSpec('y',), memory_kind=device)"
        (found,) = find_shardings(Source(text), Target.CURRENT)
        assert found.mesh is not None
        assert dict(found.mesh.axis_sizes) == {"x": 4, "y": 2}


def test_the_same_is_counted() -> None:
    lines = [f"a = f32[8,8] p(), sharding={GRID}"] * 3 + [f"b = f32[4,4] p(), sharding={GRID}"]
    found = distinct(find_shardings(Source("\n".join(lines)), Target.CURRENT))
    assert [(one.name, count) for one, count in found] == [("a", 3), ("b", 1)]


REPEATED = (
    "#sdy.sharding<@mesh, [{",
    "#sdy.sharding<",
    '#sdy.sharding<@mesh, [{"',
    '#sdy.sharding<mesh<["x"=2',
    "#sdy.sharding_per_value<[<",
    '#sdy.sharding_per_value<[<@m, [{"x"}]>, ',
    '#sdy.sharding<@mesh, [{\\"x\\"',
    '"#sdy.sharding<@mesh, [{\\22',
    "<@mesh, [{",
    "<@mesh, [",
    '<@"a, [ ',
    '<@mesh, ["", ',
    "{{",
    "{devices=[2,",
    "{devices=[2]<=[2] ",
    '{devices=[2]0,1 metadata={op_name="',
    "{mesh[",
    "{mesh['x'=2], [{",
    "{maximal ",
    "{replicated ",
    "{{replicated}, ",
    "P(",
    "PartitionSpec(('x', ",
    "P('x'",
    '"',
    "([{<",
    "tensor<8x<{replicated} ",
    "%a = (f32[2], {replicated} ",
    " = ({replicated} ",
    "a = f32[8]{replicated} ",
    "from sharding {replicated} to ",
    "Mesh('x': 2, P('x') ",
    "axis_sizes=(P('x') ",
    '<@m, [{"x"}]> ',
    "tensor<8xf32> {#sdy.sharding<@m, [{}]> ",
)
"""What a line may hold over and over, complete or broken off: nested, unclosed, with quotes or brackets."""


@pytest.mark.parametrize("part", REPEATED)
def test_long_lines(part: str) -> None:
    """Each gets an answer; `python -m benchmarks hostile` measures how its time grows."""
    assert isinstance(find_shardings(Source(f"%0 = abs %a {part * 1600}"), Target.CURRENT), Sequence)
