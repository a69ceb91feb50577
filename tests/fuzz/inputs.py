"""Random inputs: real ones, changed a little or a lot, and nonsense."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.readers import Kind
from tests.golden.blocks import read_blocks

from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import HloSharding
from sdybridge.modules import export_module

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
MOST_CHARACTERS = 60_000

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\w.$]+|[@%#!^]|->|<=|\s+|.', re.DOTALL)
_WORDS: Sequence[str] = (
    *'<>()[]{}"\\/,:;=?@%#!^*-+ \t\n\r\0',
    *("->", "<=", "//", "/*", "*/", '"\\22"', '"', '"}', "{-#", "#-}", "\ud800", "\udcff", "é", "\u2028"),
    *("0", "1", "-1", "2", "4", "8", "512", "9223372036854775807", "9223372036854775808", "9" * 20),
    *('"x"', '"y"', '"_axis_0"', '"x":(1)2', '"x":(0)0', "?", "p1", "p99999999999999999999", "@mesh"),
    *("sdy.mesh", "sdy.sharding = ", "#sdy.sharding<@mesh, [{}]>", "#sdy.sharding_per_value<["),
    *("mhlo.sharding = ", '"{replicated}"', '"{devices=[2,4]<=[8]}"', '"\\08\\03"', "devices=[2,2]"),
    *("T(1,0)", "last_tile_dims={manual}", "last_tile_dim_replicate", "{replicated}", "shard_as 1"),
    *('metadata={op_name="a"}', "maximal device=3", "mesh['x'=2]", "unreduced={", "replicated={"),
    *("module {", "module", "func.func @main(", "%a: tensor<8x8xf32> {", "tensor<*xf32>", "tuple<", "!t"),
    *("stablehlo.custom_call @Sharding(%a) {", "stablehlo.while(", " attributes {", "stablehlo.return"),
    *('"builtin.module"() ({', "dense<", "sdy.manual_computation(", "device_ids=[", "sdy.reshard", "loc("),
)  # fmt: skip


@functools.cache
def corpus(kind: Kind) -> Sequence[str]:
    """Real inputs, short enough that many can be tried."""
    if kind is Kind.PROGRAM:
        return _programs()
    if kind is Kind.HLO_PROGRAM:
        return _hlo_programs()
    if kind is Kind.SDY:
        good = [line for line in _lines("parse_print") if line.startswith(("#sdy", "<", "[", "{", "@"))]
        return [*good * 8, *[line for line in _lines("parse_error") if line.startswith(("#sdy", "<", "["))]]
    lines = [line for line in _lines("hlo", "hlo_text") if line.startswith("{")]
    good = [part for line in lines if " => " in line for part in line.split(" => ") if part.startswith("{")]
    return [*dict.fromkeys(good)] * 8 + [line for line in lines if " => " not in line]


def _lines(*folders: str) -> list[str]:
    files = [file for folder in folders for file in sorted((GOLDEN / folder).rglob("*.txt"))]
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line]


def _programs() -> list[str]:
    folders = [GOLDEN / name for name in ("export", "import", "modules", "verify_error")]
    files = sorted(file for folder in folders for file in folder.glob("*.txt"))
    refused = {file for file in files if "error" in f"{file.parent.name}/{file.name}"}
    # A change of what is refused is most often refused, too.
    weights = {file: 1 if file in refused else 4 for file in files}
    programs = [block.given for file in files for block in read_blocks(file) * weights[file]]
    step = (ROOT / "examples" / "transformer_step.mlir").read_text(encoding="utf-8")
    for text in (step, export_module(step).text):
        lines = text.split("\n")
        programs += ["\n".join(lines[i : i + 40]) for i in range(0, len(lines), 200)]
        programs.append("\n".join([*lines[:1], lines[2][:8000], *lines[3:60]]))
    return programs


_HLO_PROGRAM = """\
HloModule m, num_partitions=8, frontend_attributes={{xla.sdy.meshes={{mesh = #sdy.mesh<["x"=2, "y"=4]>}}}}

%region (p: f32[]) -> f32[] {{
  ROOT %p = f32[] parameter(0), metadata={{op_name="a \\"{{ sharding={{}}"}}
}}, execution_thread="t"

ENTRY main.1 {{
  a = f32[8,8]{{1,0:T(8,128)}} parameter(0), sharding={sharding}, frontend_attributes={{b="1",{carrier}}}
  w = (f32[8,8], /*index=1*/(s32[], token[])) while(a), sharding={{{{replicated}}, {{manual}}, {{unknown}}}}
  g = f32[8,8]{{1,0}} get-tuple-element(w), index=0, sharding={sharding}, origin={{{{"a"}}}}
  ROOT c = f32[8,8] custom-call(g), custom_call_target="Sharding", frontend_attributes={{{carrier}}}
}}
"""


_CARRIED = '#sdy.sharding<@mesh, [{"x", ?}, {"y":(1)2}p1], replicated={"y":(2)2}>'


def _hlo_programs() -> list[str]:
    shardings, attributes = corpus(Kind.HLO), corpus(Kind.SDY)
    programs = []
    for i, sharding in enumerate(dict.fromkeys(shardings)):
        # Most are of the matrices and the mesh that the program has.
        attribute = _CARRIED if i % 4 else attributes[i % len(attributes)]
        attribute = attribute.replace("\\", "\\\\").replace('"', '\\"')
        carrier = f'xla.sdy.sharding="{attribute}"'
        programs.append(_HLO_PROGRAM.format(sharding=sharding, carrier=carrier))
        programs.append(programs[-1].partition("ENTRY main.1 {\n")[2].removesuffix("}\n"))
    return programs


def random_text(kind: Kind, rng: random.Random) -> str:
    """A real input with some changes; now and then pure nonsense."""
    if rng.random() < 0.08:
        return "".join(rng.choice(_WORDS) for _ in range(rng.randrange(60)))
    texts = corpus(kind)
    text = rng.choice(texts)
    for _ in range(rng.choice((0, 0, 1, 1, 1, 1, 2, 2, 3, 5, 10))):
        text = rng.choice(_CHANGES)(text, rng, texts)[:MOST_CHARACTERS]
    return text


def random_bytes(rng: random.Random) -> bytes:
    """The bytes of a proto with some changes, or any bytes."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(40))
    data = bytearray(_proto(rng.choice(corpus(Kind.HLO))))
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        change = rng.randrange(5)
        if change == 0:
            data[at:at] = rng.randbytes(rng.randrange(1, 6))
        elif change == 1:
            del data[at : at + rng.randrange(1, 6)]
        elif change == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 3:
            data[at:at] = data[at : at + rng.randrange(1, 40)] * rng.randrange(1, 5)
        else:
            data = bytearray(b"\x08\x02\x2a" + _varint(len(data)) + data)
    return bytes(data)


@functools.cache
def _proto(text: str) -> bytes:
    try:
        return HloSharding.from_string(text).to_proto_bytes()
    except SdyBridgeError:
        return b""


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _delete(text: str, rng: random.Random, _: Sequence[str]) -> str:
    start, end = _span(text, rng)
    return text[:start] + text[end:]


def _insert(text: str, rng: random.Random, _: Sequence[str]) -> str:
    at, _end = _span(text, rng)
    return text[:at] + rng.choice(_WORDS) + text[at:]


def _replace(text: str, rng: random.Random, _: Sequence[str]) -> str:
    start, end = _span(text, rng)
    return text[:start] + rng.choice(_WORDS) + text[end:]


def _repeat(text: str, rng: random.Random, _: Sequence[str]) -> str:
    start, end = _span(text, rng)
    return text[:end] + text[start:end] * rng.choice((1, 2, 10, 500)) + text[end:]


def _nest(text: str, rng: random.Random, _: Sequence[str]) -> str:
    at, _end = _span(text, rng)
    opener, closer = rng.choice(("()", "[]", "{}", "<>", ("<{", "}>"), ("({", "})"), ("[{", "}]")))
    depth = rng.choice((1, 5, 3000))
    return text[:at] + opener * depth + text[at:_end] + closer * rng.choice((depth, depth, 0)) + text[_end:]


def _number(text: str, rng: random.Random, _: Sequence[str]) -> str:
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return text
    found = rng.choice(numbers)
    new = rng.choice(("0", "1", "2", "3", "7", "8", f"{1 << 20}", f"{1 << 40}", f"{1 << 63}", "9" * 5000))
    return text[: found.start()] + new + text[found.end() :]


def _move(text: str, rng: random.Random, _: Sequence[str]) -> str:
    start, end = _span(text, rng)
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[start:end] + text[at:]


def _splice(text: str, rng: random.Random, texts: Sequence[str]) -> str:
    other = rng.choice(texts)
    start, _ = _span(text, rng)
    from_, to = _span(other, rng)
    return text[:start] + rng.choice((other, other[from_:], other[from_:to])) + text[start:]


def _truncate(text: str, rng: random.Random, _: Sequence[str]) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _lines_away(text: str, rng: random.Random, _: Sequence[str]) -> str:
    return text.replace("\n", rng.choice(("", " ", "\r\n", "\n\n", " // \n")))


def _character(text: str, rng: random.Random, _: Sequence[str]) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x11000)))) + text[at + 1 :]


def _span(text: str, rng: random.Random) -> tuple[int, int]:
    """A few tokens."""
    if not text:
        return 0, 0
    at = rng.randrange(len(text))
    window = max(0, at - 200)
    tokens = [found.start() + window for found in _TOKEN.finditer(text[window : at + 1])]
    start = rng.choice(tokens[-3:])
    end = start
    for _ in range(rng.choice((1, 1, 1, 2, 4, 20))):
        found = _TOKEN.match(text, end)
        end = found.end() if found else end
    return start, end


_CHANGES = (
    _delete,
    _insert,
    _replace,
    _replace,
    _repeat,
    _nest,
    _number,
    _move,
    _splice,
    _truncate,
    _lines_away,
    _character,
)  # fmt: skip
