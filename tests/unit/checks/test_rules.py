"""Every rule, on programs that break it and programs that do not."""

from __future__ import annotations

import pytest
from jaxlib import _hlo
from tests.unit.checks.rule_cases import CASES

from sdybridge.checks import CHECKS, Finding, check_module

EVERY = ["ALL"]


def codes(program: str | bytes) -> list[str]:
    return [one.code for one in check_module(program, select=EVERY)]


def listed(kind: int) -> list[object]:
    return [
        pytest.param(code, text, id=f"{code}-{i}")
        for code, cases in CASES.items()
        for i, text in enumerate(cases[kind])
    ]


@pytest.mark.parametrize(("code", "text"), listed(0))
def test_is_found(code: str, text: str) -> None:
    found = [one for one in check_module(text, select=EVERY) if one.code == code]
    assert found
    for one in found:
        assert one.span is not None
        assert 0 <= one.span.start <= one.span.end <= len(text)
        assert (one.line, one.column) == one.source.location(one.span.start)
        assert str(one).startswith(
            f"<string>:{one.line}:{one.column}: {one.severity}[{code}]: {one.message}\n"
        )


@pytest.mark.parametrize(("code", "text"), listed(1))
def test_is_not_found(code: str, text: str) -> None:
    assert code not in codes(text)


@pytest.mark.parametrize("code", CHECKS)
def test_examples(code: str) -> None:
    """What the documentation shows: the bad one breaks this rule, the good one this and no other."""
    rule = CHECKS[code]
    assert [one.code for one in check_module(rule.bad, select=[code])][:1] == [code]
    assert not [one.code for one in check_module(rule.good, select=[code])]
    assert not check_module(rule.good)


def test_every_rule_has_cases() -> None:
    assert set(CASES) == set(CHECKS)
    assert all(len(bad) > 1 and len(good) > 1 for bad, good in CASES.values())


def as_proto(text: str) -> bytes:
    return bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


ON_HLO = ["SB102", "SB103", "SB104", "SB105", "SB107", "SB201", "SB202", "SB204", "SB301", "SB401", "SB402",
          "SB403", "SB404", "SB406", "SB407"]  # fmt: skip
"""The rules with cases that XLA's own parser of HLO text reads."""


@pytest.mark.parametrize("code", ON_HLO)
@pytest.mark.parametrize("kind", [0, 1])
def test_protos(code: str, kind: int) -> None:
    """An HLO proto has the findings of its text, at instructions instead of lines."""
    checked = 0
    for text in CASES[code][kind]:
        is_configured = "num_partitions" in text or "allow_spmd" in text  # that is not in the proto
        if not text.startswith("HloModule") or is_configured:
            continue
        try:
            data = as_proto(text)
        except Exception:  # noqa: BLE001  (XLA's parser rejects some; its exception type is its own)
            continue
        checked += 1
        found: list[Finding] = check_module(data, name="m.pb", select=EVERY)
        assert (code in [one.code for one in found]) is (kind == 0)
        assert all(one.line == 0 and str(one).startswith("m.pb: ") for one in found)
        assert all(one.where or "hlo_module.computations[" in one.message for one in found)
    assert checked
