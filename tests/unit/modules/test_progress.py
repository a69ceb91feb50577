"""Reading a long program tells how far it has come, in every format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sdybridge.checks import check_module
from sdybridge.modules import inspect_module, progress
from sdybridge.modules.mlir import condensed, reader
from sdybridge.view.report import render_report

if TYPE_CHECKING:
    from collections.abc import Callable

LINE = "    %{} = sdy.reshard %a <@mesh, []> : tensor<f32>\n"
MLIR = 'sdy.mesh @mesh = <["x"=2]>\nfunc.func @main(%a: tensor<f32>) {\n'
PROGRAMS = {
    "mlir": MLIR + "".join(map(LINE.format, range(100))) + "  return\n}\n",
    "mlir in one go": MLIR.replace("{\n", "{ /* */\n")
    + "".join(map(LINE.format, range(100)))
    + "  return\n}\n",
    "hlo": "HloModule m\n\nENTRY e {\n"
    + "".join(f"  a.{i} = f32[8] parameter({i}), sharding={{devices=[2]<=[2]}}\n" for i in range(100))
    + "}\n",
}


@pytest.mark.parametrize("read", [inspect_module, check_module, render_report])
@pytest.mark.parametrize("program", PROGRAMS)
def test_progress(read: Callable[..., object], program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (condensed, reader, progress):
        monkeypatch.setattr(module, "REPORT_EVERY", 1000)
    monkeypatch.setattr(condensed, "SHORT", 0)
    text = PROGRAMS[program].replace("/* */", "// /*")
    told: list[int] = []
    assert read(text, progress=told.append) == read(text)
    assert len(told) >= 3
    assert told == sorted(told)
    assert len(text) - 2500 < told[-1] <= len(text)
