"""Valid shardings, the order of the rules, and the check that upstream leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sdybridge.sdy
from sdybridge.errors import VerificationError
from sdybridge.sdy import RULES, MeshAttr, TensorShardingAttr, verify_coexistence, verify_sharding

ABC = '<["a"=2, "b"=4, "c"=8]>'


@pytest.mark.parametrize(
    ("mesh", "rank", "sharding"),
    [
        (ABC, 2, '<@mesh, [{"a"}, {}]>'),
        (ABC, 2, '<@mesh, [{"c", "b"}, {"a"}]>'),
        (ABC, 2, '<@mesh, [{"b":(1)2}, {"b":(2)2}]>'),
        (ABC, 2, '<@mesh, [{"b":(2)2, "b":(1)2}, {}]>'),
        (ABC, 2, '<@mesh, [{"b":(1)2, "a", "b":(2)2}, {}]>'),
        (ABC, 2, '<@mesh, [{"c":(1)2, "c":(4)2}, {}]>'),
        (ABC, 2, '<@mesh, [{}, {}], replicated={"c":(1)2, "c":(4)2}>'),
        (ABC, 2, '<@mesh, [{"c":(1)2}, {}], replicated={"c":(2)2}, unreduced={"c":(4)2}>'),
        (ABC, 2, "<@mesh, [{?}p1, {}]>"),
        (ABC, 2, '<@mesh, [{"a"}p0, {}]>'),
        (ABC, 0, "<@mesh, []>"),
        (ABC, 0, '<@mesh, [], replicated={"a"}>'),
        (ABC, 0, '<@mesh, [], unreduced={"a"}>'),
        (ABC, None, '<@mesh, [{"a"}]>'),
        ('<["a"=1]>', 2, '<@mesh, [{"a"}, {}]>'),
        ('<["a"=2, "b"=2], device_ids=[3, 2, 1, 0]>', 2, '<@mesh, [{"a"}, {"b"}]>'),
        ("<[]>", 2, "<@mesh, [{}, {}]>"),
        ("<[], device_ids=[5]>", 2, "<@mesh, []>"),
        ('<["x"=12]>', 1, '<@mesh, [{"x":(1)2, "x":(3)2}]>'),
    ],
)
def test_valid(mesh: str, rank: int | None, sharding: str) -> None:
    verify_sharding(TensorShardingAttr.from_string(sharding), MeshAttr.from_string(mesh), rank=rank)


def test_manual_axes_forbid_only_themselves() -> None:
    mesh = MeshAttr.from_string(ABC)
    verify_sharding(TensorShardingAttr.from_string('<@mesh, [{"a"}, {"c":(1)2}]>'), mesh, manual_axes=["b"])


ORDER = [
    ("rank-mismatch", '[{"a"}p0, {}p1, {"z"}]'),
    ("unknown-axis", '[{"z"}p0, {}p1]'),
    ("empty-dimension-priority", '[{}p1, {"z"}]'),
    ("duplicate-axis", '[{"a"}, {"b":(1)2, "a", "z"}]'),
    ("unknown-axis", '[{"b":(1)2, "z"}, {"b":(1)2}], replicated={"c", "a"}'),
    ("mergeable-sub-axes", '[{"b":(0)2, "b":(0)4}, {"z"}]'),
    ("replicated-order", '[{"a"}, {}], replicated={"c", "a"}, unreduced={"c", "b"}'),
    ("duplicate-axis", '[{"a"}, {"b":(3)5}], replicated={"a", "c"}, unreduced={"c", "b"}'),
    ("unreduced-order", '[{"c":(0)0}, {}], unreduced={"c", "b"}'),
    ("whole-and-part", '[{"c":(0)0}, {"c"}]'),
    ("sub-axis-pre-size", '[{"c":(0)0}, {"c":(3)5}]'),
    ("sub-axis-size", '[{"c":(1)1}, {"c":(3)5}]'),
    ("sub-axis-divides", '[{"c":(1)16}, {"c":(1)32}]'),
    ("sub-axis-whole", '[{"c":(1)8}, {"c":(2)2}]'),
    ("sub-axis-overlap", '[{"c":(1)4}, {"c":(2)2}]'),
    ("axis-is-manual", '[{"c":(1)4}, {"b"}]'),
]


@pytest.mark.parametrize(("rule", "rest"), ORDER)
def test_the_first_broken_rule_is_reported(rule: str, rest: str) -> None:
    sharding = TensorShardingAttr.from_string(f"<@mesh, {rest}>")
    with pytest.raises(VerificationError) as raised:
        verify_sharding(sharding, MeshAttr.from_string(ABC), rank=2, manual_axes=("b",))
    assert raised.value.rule == rule


@pytest.mark.parametrize(
    ("sharding", "path"),
    [
        ('[{"x":(1)2}, {"x":(2)3}]', None),
        ('[{"x":(1)4}, {"x":(2)6}]', None),
        ('[{"x"}, {"y"}], replicated={"z":(1)2}', None),
        ('[{"x":(1)2}, {"y":(3)2}]', None),
        ('[{"x":(0)2}, {"x":(3)0}]', None),
        ('[{"x":(1)2}, {"x":(3)2}]', ("dim_shardings", 1, "axes", 0)),
        ('[{"x":(1)4}, {"x":(6)2}]', ("dim_shardings", 1, "axes", 0)),
        ('[{"x":(6)2}, {}], replicated={"x":(1)4}', ("dim_shardings", 0, "axes", 0)),
        ('[{}, {}], replicated={"x":(1)2}, unreduced={"x":(3)2}', ("unreduced_axes", 0)),
    ],
)
def test_coexistence(sharding: str, path: tuple[str | int, ...] | None) -> None:
    attr = TensorShardingAttr.from_string(f"<@mesh, {sharding}>")
    refs = [ref for ref in attr.axis_refs if ref.sub_axis_info and ref.sub_axis_info.pre_size > 0]
    assert (path is None) is all(a.can_coexist(b) for a in refs for b in refs if b.get_size(MeshAttr()) > 0)
    if path is None:
        verify_coexistence(attr)
        return
    with pytest.raises(VerificationError) as raised:
        verify_coexistence(attr)
    assert (raised.value.rule, raised.value.path) == ("coexistence", path)


def test_every_rule_is_explained_and_every_explanation_is_of_a_rule() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in Path(sdybridge.sdy.__file__).parent.rglob("*.py")
        if path.name != "rules.py"
    )
    used = set(re.findall(r'rule="([a-z0-9-]+)"', code)) | {"replicated-order", "unreduced-order"}
    assert used == set(RULES)
    assert 'rule=f"{field}-order"' in code
    assert all(text[0].isupper() and text.endswith(".") for text in RULES.values())
