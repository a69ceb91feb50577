"""The report: what it holds, that nothing in a program can break it, and that it works in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sdybridge.cli import cli
from sdybridge.errors import ConversionError, ParseError
from sdybridge.modules import export_module
from sdybridge.view.report import MOST_PICTURES, render_report

CHROMIUM = shutil.which("chromium")
PROGRAM = """\
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<64x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, \
%arg1: tensor<64x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<64x32xbf16> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"y", ?}]> : tensor<64x32xbf16>
    return %0 : tensor<64x32xbf16>
  }
}
"""


def data_of(page: str) -> dict[str, Any]:
    """What the page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def many_values(count: int) -> str:
    lines = "".join(
        f'    %{i} = stablehlo.abs %a {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>}} '
        ": tensor<8xf32>\n"
        for i in range(count)
    )
    return f'sdy.mesh @mesh = <["x"=2]>\nfunc.func @main(%a: tensor<8xf32>) {{\n{lines}  return\n}}\n'


def test_what_it_holds() -> None:
    page = render_report(PROGRAM, name="step.mlir")
    data = data_of(page)
    assert [value[:4] for value in data["values"]] == [
        ["%arg0", 3, "argument", "main"],
        ["%arg1", 3, "argument", "main"],
        ["%0", 4, "sdy.sharding_constraint", "main"],
    ]
    shape, local, size, text, sharding, carrier, picture = data["uses"][data["values"][0][4]]
    assert (shape, local, size, text) == ("bf16[64,32]", "bf16[32,8]", 512, "512 B")
    assert (sharding, carrier) == ('<@mesh, [{"x"}, {"y"}]>', "sdy.sharding")
    assert data["pictures"][picture]["svg"].startswith("<svg")
    assert "dimension 0   64 in 2 shards of 32" in data["pictures"][picture]["text"]
    for part in ("step.mlir", "module jit_f", "8 partitions", "3</b><span>values", "@mesh", "No findings."):
        assert part in page


def test_the_largest_copies_come_first() -> None:
    rows = re.findall(r'data-value="(\d+)">([^<]*)<.*?class="n">([^<]*)</td><td class="n">(\d+)',
                      render_report(PROGRAM), re.DOTALL)  # fmt: skip
    assert rows == [("1", "%arg1", "4.0 KiB", "8"), ("2", "%0", "1.0 KiB", "2")]


def test_findings() -> None:
    program = PROGRAM.replace("<@mesh, [{}, {}]>", "<@other, [{}, {}]>")
    page = render_report(program, name="step.mlir")
    assert re.search(r'<li class="error"><b>SB\d+</b>', page)
    assert "<small>step.mlir:3:" in page
    assert ">Checks<" not in render_report(program, check=False)


def test_hlo_text_and_exported_programs() -> None:
    hlo = "HloModule m\n\nENTRY e {\n  ROOT a = f32[8]{0} parameter(0), sharding={devices=[2]<=[2]}\n}\n"
    assert [value[0] for value in data_of(render_report(hlo))["values"]] == ["a"]
    assert len(data_of(render_report(export_module(PROGRAM).text))["values"]) == 3


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "a&b<c>", '"quoted"'])
def test_nothing_in_a_program_is_code(name: str) -> None:
    axis = name.replace('"', r"\22")
    page = render_report(PROGRAM.replace('"x"', f'"{axis}"'), name=name)
    assert page.count("</script>") == 2
    assert name not in page.replace(html.escape(name), "")
    assert html.escape(name, quote=False) in page.replace("&#34;", '"')
    assert name in data_of(page)["pictures"][0]["text"] or name in data_of(page)["pictures"][1]["text"]


@pytest.mark.parametrize("text", ["", "module {}"])
def test_a_program_without_shardings(text: str) -> None:
    assert data_of(render_report(text)) == {"values": [], "uses": [], "pictures": []}


def test_a_malformed_sharding() -> None:
    with pytest.raises(ParseError, match=r"^step\.mlir:3:"):
        render_report(PROGRAM.replace('{"x"}, {"y"}', '{"x"'), name="step.mlir")


def test_a_sharding_on_a_mesh_that_is_not_declared_is_shown_without_a_picture() -> None:
    data = data_of(render_report(PROGRAM.replace("<@mesh, [{}, {}]>", "<@lost, [{}, {}]>")))
    assert any("svg" not in picture and "@lost" in picture["text"] for picture in data["pictures"])


def test_at_most_so_many_pictures() -> None:
    shapes = "".join(
        f'    %{i} = stablehlo.abs %a {{mhlo.sharding = "{{devices=[2]<=[2]}}"}} : tensor<{2 + i}xf32>\n'
        for i in range(MOST_PICTURES + 5)
    )
    data = data_of(render_report(f"func.func @f(%a: tensor<8xf32>) {{\n{shapes}  return\n}}\n", check=False))
    assert len(data["pictures"]) == MOST_PICTURES
    assert [use[6] for use in data["uses"]].count(-1) == 5


def test_without_jinja(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConversionError, match=r"Jinja2") as caught:
        render_report(PROGRAM)
    assert "pip install 'sdybridge[report]'" in str(caught.value)


def test_command(tmp_path: Path) -> None:
    source, page = tmp_path / "step.mlir", tmp_path / "step.html"
    source.write_text(PROGRAM)
    assert CliRunner().invoke(cli, ["report", str(source), "-o", str(page)]).exit_code == 0
    assert page.read_text() == render_report(PROGRAM, name=str(source))
    assert CliRunner().invoke(cli, ["report", "-"], input=PROGRAM).stdout == render_report(
        PROGRAM, name="<stdin>"
    )


def browse(page: str, actions: str, tmp_path: Path) -> str:
    """The page as Chromium has it after some JavaScript ran."""
    if not CHROMIUM:
        pytest.skip("NOT TESTED: the report in a browser needs Debian's chromium")
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", f"<script>{actions}</script></body>"))
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--window-size=1400,1000",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


SEARCH = """
const search = document.getElementById("search"), table = document.getElementById("table");
const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const type = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
"""


def text_of(dom: str, id_: str) -> str:
    found = re.search(rf'<(\w+)[^>]*id="{id_}"[^>]*>(.*?)</\1>', dom, re.DOTALL)
    assert found, id_
    return html.unescape(re.sub(r"<[^>]+>", " ", found[2]))


def test_search_and_keys_in_a_browser(tmp_path: Path) -> None:
    actions = SEARCH + 'press(document.body, "/"); type("CONSTRAINT ?}"); press(search, "Enter");'
    dom = browse(render_report(PROGRAM, name="step.mlir"), actions, tmp_path)
    assert text_of(dom, "count") == "1 of 3"
    assert 'class="row chosen"' in dom
    assert "bf16[64,8]" in text_of(dom, "detail")
    assert re.search(r'<aside id="detail".*<svg', dom, re.DOTALL)


def test_the_demo_program_in_a_browser(tmp_path: Path) -> None:
    program = Path(__file__).parents[3] / "examples" / "transformer_step.mlir"
    actions = SEARCH + (
        'document.querySelector("[data-value]").click();'  # the largest tensor with copies
        'const copied = document.getElementById("detail").textContent;'
        'press(document.body, "/"); type("constraint 512 16");'
        'document.querySelectorAll("#body .row")[1].click();'
        'document.body.dataset.copied = copied.includes("8.0 MiB");'
    )
    dom = browse(render_report(program.read_text(), name=program.name), actions, tmp_path)
    assert 'data-copied="true"' in dom
    assert text_of(dom, "count") == "13 of 140"
    detail = text_of(dom, "detail")
    assert "f32[4,512,2,64]" in detail
    assert "dimension 0   64 in 16 shards of 4 by" in detail


def test_sorting_in_a_browser(tmp_path: Path) -> None:
    actions = SEARCH + (
        'document.querySelectorAll("#head button")[5].click();'  # per device, the largest first
        'table.focus(); press(table, "Home");'
    )
    dom = browse(render_report(PROGRAM), actions, tmp_path)
    assert "%arg1" in text_of(dom, "detail")


def test_ten_thousand_values_in_a_browser(tmp_path: Path) -> None:
    actions = SEARCH + 'press(table, "End");'
    dom = browse(render_report(many_values(10_000), check=False), actions, tmp_path)
    assert text_of(dom, "count") == "10000 of 10000"
    assert dom.count('role="row"') < 100  # only the rows that are seen exist
    assert "%9999" in text_of(dom, "detail")


def test_cards_count_and_say_what_is_not_known() -> None:
    page = render_report(
        'sdy.mesh @m = <["x"=2]>\n'
        'func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {\n'
        "  return %a : tensor<8xf32>\n}\n"
    )
    text = re.sub(r"<[^>]+>", " ", page)
    assert re.search(r"\b1\s+value with a sharding\s+1\s+distinct sharding\s", text)
    assert re.search(r"\b16 B\s+1 input, per device\s+unknown\s+1 output, per device", text)
