"""What is verified while a program is converted, in every format and direction: always an error with its place."""

# ruff: noqa: E501  (a program a line)

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from jaxlib import _hlo
from tests.unit.checks.rule_cases import carried, carrier, constraint, grid, hlo, manual, op, results, sdy

from sdybridge.errors import VerificationError
from sdybridge.modules import CarrierForm, export_module, import_module

if TYPE_CHECKING:
    from collections.abc import Callable

OTHER_MESHES = 'mosh = #sdy.mesh<["x"=2]>'
IN_BODY = manual("tensor<4x8xf32>", constraint('[{"x"}, {}]'))
INVALID = [  # what converts, the program, and the rule that it breaks
    ("export", sdy('[{"x"}, {}]', mesh="nomesh"), "unknown-mesh"),
    ("export", sdy('[{"q"}, {}]'), "unknown-axis"),
    ("export", sdy('[{"x"}]'), "rank-mismatch"),
    (
        "export",
        op(f"%0 = stablehlo.abs %a {results('[{}, {}]', '[{}, {}]')} : tensor<8x8xf32>"),
        "sharding-count",
    ),
    ("export", IN_BODY, "axis-is-manual"),
    ("export", manual("tensor<8x8xf32>"), "manual-shape"),
    ("carriers", sdy('[{"x"}, {}]', mesh="nomesh"), "unknown-mesh"),
    ("carriers", sdy('[{"q"}, {}]'), "unknown-axis"),
    ("carriers", sdy('[{"x"}]'), "rank-mismatch"),
    (
        "carriers",
        op(f"%0 = stablehlo.abs %a {results('[{}, {}]', '[{}, {}]')} : tensor<8x8xf32>"),
        "sharding-count",
    ),
    ("carriers", IN_BODY, "axis-is-manual"),
    ("carriers", manual("tensor<8x8xf32>"), "manual-shape"),
    ("import", carrier('[{"x"}, {}]', "a = 1").replace("{mesh = ", "{mosh = "), "unknown-mesh"),
    ("import", carrier('[{"q"}, {}]', "a = 1"), "unknown-axis"),
    ("import", carrier('[{"x"}]', "a = 1"), "rank-mismatch"),
    ("import", grid("{devices=[2]<=[2]}"), "sharding-rank"),
    (
        "import",
        grid("{manual}", body='  %0:2 = "a.b"(%a) {mhlo.sharding = "{{manual}}"} : (i32) -> (i32, i32)\n'),
        "sharding-count",
    ),
    ("import", hlo("ROOT a = f32[8] parameter(0), sharding={devices=[2,1]<=[2]}"), "sharding-rank"),
    (
        "import",
        hlo("ROOT a = (f32[8], f32[8]) parameter(0), sharding={{devices=[2]<=[2]}}"),
        "sharding-count",
    ),
    *[
        (way, text, rule)
        for way in ("export", "import")
        for text, rule in (
            (carried('[{"x"}, {}]', meshes=OTHER_MESHES), "unknown-mesh"),
            (carried('[{"q"}, {}]'), "unknown-axis"),
            (carried('[{"x"}]'), "rank-mismatch"),
            (carried('[{"x"}, {}]').replace("f32[8,8] p", "(f32[8,8], f32[8,8]) p"), "sharding-count"),
        )
    ],
]
WAYS: dict[str, Callable[[str | bytes], object]] = {
    "export": export_module,
    "import": import_module,
    "carriers": lambda text: export_module(f"module {{\n{text!s}}}\n", carrier=CarrierForm.SDY),
}


@pytest.mark.parametrize(("way", "text", "rule"), INVALID)
def test_an_error_with_its_place(way: str, text: str, rule: str) -> None:
    with pytest.raises(VerificationError) as raised:
        WAYS[way](text)
    error = raised.value
    assert error.rule == rule
    assert error.source
    assert error.span
    assert error.span.start < error.span.end <= len(error.source.text)
    assert error.notes or error.help


PROTOS = [case for case in INVALID if case[1].startswith("HloModule") and "={{" not in case[1]]


@pytest.mark.parametrize(("way", "text", "rule"), PROTOS)
def test_protos(way: str, text: str, rule: str) -> None:
    proto = bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    with pytest.raises(VerificationError) as raised:
        WAYS[way](proto)
    assert raised.value.rule == rule
