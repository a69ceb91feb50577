"""Real programs as HLO text and protos, beside what XLA says of the same ones.

They come from XLA's own front end, which writes a Shardy sharding and its HLO form beside each other.
"""

from __future__ import annotations

import functools
import os
import random
import re
from typing import TYPE_CHECKING, NamedTuple

import pytest
from jax._src.interpreters.mlir import make_ir_context
from jaxlib import _hlo, _jax
from jaxlib.mlir import ir
from tests.conftest import SEED_VARIABLE
from tests.differential.programs import PROGRAMS

from sdybridge.checks import check_module
from sdybridge.hlo import HloSharding
from sdybridge.modules import (
    CarrierForm,
    export_module,
    import_module,
    rename_axes,
    rewrite_module,
    strip_shardings,
    verify_module,
)
from sdybridge.modules.carriers import SHARDING
from sdybridge.modules.hlo_program import RESULT_CALL, Edit
from sdybridge.modules.hlo_proto import HloProto
from sdybridge.modules.hlo_text import HloText
from sdybridge.source import Source

if TYPE_CHECKING:
    from sdybridge.modules.hlo_program import HloSite

_SHARDING = re.compile(
    r", sharding=(\{.*?\})(?=, (?:frontend_attributes|metadata|backend_config)=|$)", re.MULTILINE
)
_CARRIER = re.compile(r',?xla\.sdy\.[\w.]+=(?:"(?:[^"\\]|\\.)*"|\{(?:[^{}]|\{[^{}]*\})*\})')


LOOP = """\
module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<8xf32>, %n: tensor<i32>, %w: tensor<8xf32>) -> tensor<8xf32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%i = %c, %x = %a) : tensor<i32>, tensor<8xf32> attributes {\
sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>}
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %i, %c : tensor<i32>
      %2 = stablehlo.add %x, %w : tensor<8xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<8xf32>
    }
    return %0#1 : tensor<8xf32>
  }
}
"""


class Hlo(NamedTuple):
    """One program in both forms of HLO."""

    text: str
    proto: bytes


@functools.cache
def mlir(name: str, devices: int) -> str:
    return PROGRAMS[name].text(devices)


@functools.cache
def hlo(name: str, devices: int = 8) -> Hlo:
    return hlo_of(mlir(name, devices))


def hlo_of(text: str) -> Hlo:
    computation = _jax.mlir.mlir_module_to_xla_computation(text)
    return Hlo(computation.as_hlo_text(True), computation.as_serialized_hlo_module_proto())


def text_by_xla(program: str | bytes) -> str:
    """The program as XLA prints it after reading it."""
    if isinstance(program, str):
        text: str = _hlo.hlo_module_from_text(program).to_string()
    else:
        text = _hlo.HloModule.from_serialized_hlo_module_proto(program).to_string()
    return text


def shardings_by_xla(program: str | bytes) -> list[str]:
    return _SHARDING.findall(text_by_xla(program))


def sites(program: str | bytes) -> list[HloSite]:
    if isinstance(program, bytes):
        return list(HloProto(program).sites())
    return list(HloText(Source(program)).sites())


@pytest.mark.parametrize("name", PROGRAMS)
def test_real_program(name: str) -> None:
    """All checks of one program are one test: some programs take seconds to make."""
    check_both_forms_say_the_same(name)
    check_lines_say_what_their_tokens_say(name)
    check_nothing_changes_unless_asked(name)
    check_stripping_clears_what_xla_has(name)
    check_export_writes_what_stands_beside(hlo(name))
    check_import_and_export(name)
    check_new_names(name)
    for to in ("v1", "v2", "named", "classic"):
        check_spellings(name, to)


@pytest.mark.parametrize("name", ["transformer_step", "mixture_of_experts", "several_results"])
def test_many_devices(name: str) -> None:
    check_export_writes_what_stands_beside(hlo(name, 512))


def test_a_loop_with_captured_values() -> None:
    """They become results of the loop in HLO, for which nothing rides along."""
    both = hlo_of(export_module(LOOP, carrier=CarrierForm.SDY).text)
    (loop,) = [site for site in sites(both.text) if site.opcode == "while"]
    assert str(loop.sharding) == "{{replicated}, {devices=[2]<=[2]}, {replicated}, {replicated}}"
    check_export_writes_what_stands_beside(both)
    back = _jax.mlir.hlo_to_stablehlo(both.proto)
    with make_ir_context():
        text = str(ir.Module.parse(back))
    imported = import_module(text)
    assert [str(loss.kind.value) for loss, _ in imported.losses] == ["result-count"]
    assert not verify_module(imported.text)
    assert not check_module(text)


def check_both_forms_say_the_same(name: str) -> None:
    both = hlo(name)
    text, proto = sites(both.text), sites(both.proto)
    assert [str(site.sharding) for site in text if site.has_sharding] == shardings_by_xla(both.text)
    for one, other in zip(text, proto, strict=True):
        for what in ("name", "opcode", "computation", "is_entry", "is_root", "tensors", "is_tuple", "target"):
            assert getattr(one, what) == getattr(other, what), one.name
        assert one.frontend_attributes == other.frontend_attributes
        assert one.sharding == other.sharding
        assert (one.parameter_number, one.tuple_index) == (other.parameter_number, other.tuple_index)
        one.verify()
    programs = HloText(Source(both.text)), HloProto(both.proto)
    inputs = [[(site.name, site.tensors) for site in program.inputs()] for program in programs]
    assert inputs[0] == inputs[1]
    outputs = [program.output() for program in programs]
    assert [output and output.name for output in outputs] == [outputs[0] and outputs[0].name] * 2


def check_lines_say_what_their_tokens_say(name: str) -> None:
    """A computation with a comment in it is not searched line by line, but read."""
    comment = "/* c */"
    text = hlo(name).text
    tokens = re.sub(r"\{$", "{" + comment, text, flags=re.MULTILINE)
    for one, other in zip(sites(text), sites(tokens), strict=True):
        for what in ("name", "opcode", "shape", "computation", "is_root", "parameter_number", "tuple_index"):
            assert getattr(one, what) == getattr(other, what), one.name
        assert (one.sharding, one.frontend_attributes) == (other.sharding, other.frontend_attributes)
    for change in (strip_shardings, import_module, export_module):
        assert change(tokens).text.replace(comment, "") == change(text).text


def check_nothing_changes_unless_asked(name: str) -> None:
    both = hlo(name)
    same = Edit(attributes={"no.such": None})
    assert HloText(Source(both.text)).edited(lambda _: same, {"no.such": None}) == both.text
    assert HloProto(both.proto).edited(lambda _: same, {"no.such": None}) == both.proto
    for program in (HloText(Source(both.text)), HloProto(both.proto)):
        again = program.edited(lambda site: Edit(keeps_sharding=False, sharding=site.sharding))
        assert again in both


def check_stripping_clears_what_xla_has(name: str) -> None:
    both = hlo(name)
    for program in both:
        cleared = _CARRIER.sub("", _SHARDING.sub("", text_by_xla(program)))
        cleared = cleared.replace("={,", "={").replace(", frontend_attributes={}", "")
        assert text_by_xla(strip_shardings(program).program) == cleared


def check_export_writes_what_stands_beside(both: Hlo) -> None:
    """XLA puts the sharding of a result on the value that is returned, not where it rides along."""
    for program in both:
        before = {site.name: str(site.sharding) for site in sites(program)}
        result = export_module(program, carrier=CarrierForm.SDY).program
        assert {site.name: str(site.sharding) for site in sites(result)} == before
        assert len(shardings_by_xla(result)) == len(shardings_by_xla(program))
        read = HloProto(program) if isinstance(program, bytes) else HloText(Source(program))
        cleared = read.edited(lambda _: Edit(keeps_sharding=False))
        assert not shardings_by_xla(cleared)
        again = export_module(cleared, carrier=CarrierForm.SDY).program
        after = {site.name: str(site.sharding) for site in sites(again)}
        returning = {site.computation for site in sites(program) if site.target == RESULT_CALL}
        wanted = {
            site.name
            for site in sites(program)
            if site.has_carriers or (site.is_root and site.computation in returning)
        }
        assert after == {name: sharding for name, sharding in before.items() if name in wanted}


def check_import_and_export(name: str) -> None:
    for program in hlo(name):
        carriers = import_module(program)
        assert carriers.warnings == ()
        text_by_xla(carriers.program)
        assert not any(site.has_sharding for site in sites(carriers.program))
        kept = export_module(carriers.program, carrier=CarrierForm.SDY).program
        assert import_module(kept).program == carriers.program
        bare = export_module(kept).program
        assert shardings_by_xla(bare) == shardings_by_xla(kept)
        assert not any(SHARDING in site.frontend_attributes for site in sites(bare))
        inferred = import_module(strip_carriers(bare)).program  # on a mesh that is made
        assert shardings_by_xla(export_module(inferred).program) == shardings_by_xla(bare)


def strip_carriers(program: str | bytes) -> str | bytes:
    """The program without anything that rides along."""
    read = HloProto(program) if isinstance(program, bytes) else HloText(Source(program))
    return read.edited(
        lambda site: Edit(attributes=dict.fromkeys(site.frontend_attributes)),
        dict.fromkeys(read.frontend_attributes),
    )


def check_spellings(name: str, to: str) -> None:
    both = hlo(name)
    text, proto = (rewrite_module(program, to).program for program in both)
    assert shardings_by_xla(text) == shardings_by_xla(proto)
    before = [HloSharding.from_string(one) for one in shardings_by_xla(both.text)]
    after = [HloSharding.from_string(one).v3_to_v2_sharding() for one in shardings_by_xla(text)]
    assert after == before
    if to == "v2":
        assert (text, proto) == both


def check_new_names(name: str) -> None:
    text = mlir(name, 8)
    mesh = re.search(r"sdy\.mesh @mesh = <\[(.*?)\]", text)
    assert mesh
    names = {old: f"new {old}" for old in re.findall(r'"(\w+)"=', mesh[1])}
    for program in (text, *hlo(name)):
        renamed = rename_axes(program, names).program
        assert rename_axes(renamed, {new: old for old, new in names.items()}).program == program
        for old in names:
            spelled = [f'"{old}"', f"\\22{old}\\22", f'\\"{old}\\"']
            assert not any((one if isinstance(renamed, str) else one.encode()) in renamed for one in spelled)  # type: ignore[operator]
        if program is not text:
            text_by_xla(renamed)


WORDS = [
    "sharding={replicated}",
    '"',
    "\\",
    "{",
    "}",
    "'",
    "\n",
    "é",
    "xla.sdy.sharding=",
    ", ",
    "a",
    "/*",
    "//",
    "\t",
]


@pytest.mark.parametrize("round_", range(4))
def test_random_frontend_attributes(round_: int) -> None:
    """What we write is what XLA reads, and what XLA prints is what we read."""
    rng = random.Random(f"{os.environ[SEED_VARIABLE]} {round_}" if round_ else 0)
    for _ in range(60):
        values = {
            f"k{i}": "".join(rng.choices(WORDS, k=rng.randrange(6))) for i in range(rng.randrange(1, 4))
        }
        if rng.random() < 0.5:
            values["k0"] = f"{{{values['k0']}}}"
        text = "HloModule m\n\nENTRY e {\n  ROOT a = f32[8] parameter(0), sharding={manual}\n}\n"
        new = HloText(Source(text)).edited(lambda _, values=values: Edit(attributes=values))  # type: ignore[misc]
        (site,) = sites(new)
        assert (site.frontend_attributes, str(site.sharding)) == (values, "{manual}"), new
        proto = _hlo.hlo_module_from_text(new).as_serialized_hlo_module_proto()
        (site,) = sites(proto)
        assert site.frontend_attributes == values
        same = HloProto(proto).edited(lambda _, values=values: Edit(attributes=values))  # type: ignore[misc]
        assert same == proto
        printed = text_by_xla(new)
        try:
            again = _hlo.hlo_module_from_text(printed).as_serialized_hlo_module_proto()
        except Exception:  # noqa: BLE001  (XLA prints `{} //` bare, and then cannot read it)
            continue
        assert sites(printed)[0].frontend_attributes == sites(again)[0].frontend_attributes, printed
