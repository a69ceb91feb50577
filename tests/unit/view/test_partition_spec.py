"""JAX's `PartitionSpec` as text, against JAX."""

from __future__ import annotations

import pytest

from sdybridge.errors import ConversionError, ParseError
from sdybridge.sdy import MeshAttr, TensorShardingAttr
from sdybridge.view.partition_spec import format_partition_spec, parse_partition_spec

MESH = MeshAttr.from_sizes({"x": 2, "y": 2, "z": 2})


@pytest.mark.parametrize(
    ("text", "sharding"),
    [
        ("P()", "<@mesh, []>"),
        ("P('x')", '<@mesh, [{"x"}]>'),
        ('P("x", None)', '<@mesh, [{"x"}, {}]>'),
        ("P(('y', 'z'), 'x')", '<@mesh, [{"y", "z"}, {"x"}]>'),
        ("P((), ('x',))", '<@mesh, [{}, {"x"}]>'),
        ("PartitionSpec('x',)", '<@mesh, [{"x"}]>'),
        ("jax.sharding.PartitionSpec('x')", '<@mesh, [{"x"}]>'),
        ("P(P.UNCONSTRAINED, UNCONSTRAINED)", "<@mesh, [{?}, {?}]>"),
        ("P('x', unreduced={'z', 'y'})", '<@mesh, [{"x"}], unreduced={"y", "z"}>'),
        ("P('x', unreduced=frozenset({'y'}), reduced=frozenset())", '<@mesh, [{"x"}], unreduced={"y"}>'),
        ("NamedSharding(Mesh('x': 2), P('x'))".replace("'x': 2", ""), '<@mesh, [{"x"}]>'),
        ("  P(\n  'x',\n  None)  ", '<@mesh, [{"x"}, {}]>'),
    ],
)
def test_read(text: str, sharding: str) -> None:
    assert parse_partition_spec(text, MESH).stripped == sharding


@pytest.mark.parametrize(
    ("sharding", "text"),
    [
        ('<@mesh, [{"x"}, {}, {"y", "z"}]>', "P('x', None, ('y', 'z'))"),
        ("<@mesh, []>", "P()"),
        ('<@mesh, [{?}], unreduced={"y", "z"}>', "P(P.UNCONSTRAINED, unreduced={'y', 'z'})"),
        ('<@mesh, [{"a b"}]>', "P('a b')"),
    ],
)
def test_written(sharding: str, text: str) -> None:
    value = TensorShardingAttr.from_string(sharding)
    assert format_partition_spec(value) == text
    assert parse_partition_spec(text, None) == value
    jax = pytest.importorskip("jax")
    spec = eval(text, {"P": jax.sharding.PartitionSpec})
    assert parse_partition_spec(str(spec), MESH) == value  # JAX prints sets in any order


def test_parts_of_axes_have_no_spec() -> None:
    with pytest.raises(ConversionError, match="whole axes only"):
        format_partition_spec(TensorShardingAttr.from_string('<@mesh, [{"x":(1)2}]>'))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("P('x'", 1),
        ("P('x', 3)", 8),
        ("P('x', y)", 8),
        ("P('x', ('y', 4))", 14),
        ("P('x', other={'y'})", 14),
        ("Q('x')", 1),
        ("P('x') + 1", 1),
        ("P(*a)", 3),
        ("P('" + "x" * 20_000 + "')", 1),
        ("P(" + "(" * 5000, 1),
    ],
)
def test_errors(text: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse_partition_spec(text, MESH)
    assert caught.value.location.startswith(f"<string>:1:{column}") or column == 1
    assert caught.value.help
