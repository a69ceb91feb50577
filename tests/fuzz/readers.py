"""The public readers that any input must leave with an answer or an `SdyBridgeError`."""

from __future__ import annotations

import contextlib
import enum
from typing import TYPE_CHECKING, NamedTuple

from sdybridge.bridge import infer_mesh, to_v3_sharding
from sdybridge.checks import check_module, compare_programs, compare_shardings, open_program, read_sharding
from sdybridge.cli.check_formats import as_sarif
from sdybridge.errors import SdyBridgeError
from sdybridge.hlo import HloSharding, decode_proto_text
from sdybridge.modules import (
    CarrierForm,
    Spelling,
    export_module,
    import_module,
    read_hlo,
    rename_axes,
    rewrite_module,
    round_trip,
    strip_shardings,
    verify_module,
)
from sdybridge.modules.hlo_proto.frontend_attributes import map_entry
from sdybridge.modules.hlo_proto.wire import message_field
from sdybridge.sdy import (
    AxisRefAttr,
    ManualAxesAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    parse_attribute,
    parse_mesh_dictionary,
)
from sdybridge.source import Source
from sdybridge.target import Target
from sdybridge.view import draw, explain
from sdybridge.view.messages import find_shardings
from sdybridge.view.sites import all_shardings

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from sdybridge.modules import ConvertedModule


class Kind(enum.Enum):
    """What a reader reads, and so which inputs are near to what it accepts."""

    SDY = "sdy"
    HLO = "hlo"
    PROTO = "proto"
    PROGRAM = "program"
    HLO_PROGRAM = "hlo program"


class Reader(NamedTuple):
    """One reader: what it reads, and the call, which may choose options at random."""

    kind: Kind
    call: Callable[[str, bytes, random.Random], object]


_MOST_DEVICES = 1 << 16
MESHES = (MeshAttr.from_sizes({"x": 2, "y": 4}), MeshAttr.from_sizes({"model": 512}))


def _import(text: str, _: bytes, rng: random.Random) -> object:
    mesh = rng.choice(
        (None, None, MeshAttr.from_sizes({"x": 2, "y": 4}), MeshAttr.from_sizes({"model": 512}))
    )
    flags = rng.choice(((), (True,), (True, False, True)))
    return import_module(
        text, mesh=mesh, open_arguments=flags, open_results=flags, target=rng.choice(list(Target))
    )


def _export(text: str, _: bytes, rng: random.Random) -> object:
    carrier = rng.choice((None, CarrierForm.SDY))
    return export_module(text, target=rng.choice(list(Target)), carrier=carrier)


def _round_trip(text: str, _: bytes, rng: random.Random) -> object:
    return round_trip(text, keep_meshes=rng.random() < 0.5)


def _hlo(text: str, _: bytes, rng: random.Random) -> object:
    sharding = HloSharding.from_string(text, target=rng.choice(list(Target)))
    return _answers(sharding), sharding == sharding.to_proto_bytes()


def _proto(_: str, data: bytes, rng: random.Random) -> object:
    return _answers(HloSharding.from_proto(data, target=rng.choice(list(Target))))


def _hlo_program(text: str, _: bytes, rng: random.Random) -> object:
    return _changed(text, rng)


def _hlo_proto(_: str, data: bytes, rng: random.Random) -> object:
    """The bytes as the sharding of an instruction, in a module that may be damaged, too."""
    instruction = b"\x0a\x01a\x12\x09parameter\x1a\x04\x10\x0b\x18\x08" + message_field(40, data)
    program = message_field(3, b"\x0a\x01e" + message_field(2, instruction) * rng.randrange(1, 3))
    whole = bytearray(b"\x0a\x01m\x12\x01e" + program + message_field(19, map_entry("a", "b")))
    for _change in range(rng.choice((0, 0, 0, 1, 2))):
        at = rng.randrange(5, len(whole))
        whole[at : at + 1] = rng.randbytes(rng.randrange(3))
    return _changed(bytes(whole), rng)


def _changed(program: str | bytes, rng: random.Random) -> object:
    """What a conversion of a program in HLO answers, and all that it says about its shardings."""
    found = read_hlo(program, "program")
    for site in found.sites() if found else ():
        site.verify()
        assert site.frontend_attributes is not None
    changes: list[Callable[[], ConvertedModule]] = [
        lambda: export_module(program, mesh=MESHES[0], target=rng.choice(list(Target))),
        lambda: import_module(program, carriers=rng.random() < 0.5),
        lambda: rewrite_module(program, rng.choice(list(Spelling))),
        lambda: strip_shardings(program),
        lambda: rename_axes(program, {"x": "y", "y": "x"}),
    ]
    changed = rng.choice(changes)().program
    return changed, found and (found.inputs(), found.output(), found.num_partitions)


def _answers(sharding: HloSharding) -> object:
    grid = sharding.v3_to_v2_sharding()
    named = None
    if sum(leaf.num_devices for leaf in grid.tuple_elements or (grid,)) <= _MOST_DEVICES:
        with contextlib.suppress(SdyBridgeError):
            named = to_v3_sharding(sharding)
            infer_mesh([named])
    return str(sharding), repr(sharding), hash(sharding), str(grid), str(named)


def _check(text: str, _: bytes, rng: random.Random) -> object:
    options = {"select": ["ALL"], "target": rng.choice(list(Target))}
    return list(map(str, check_module(text, **options))), as_sarif(check_module(text))  # type: ignore[arg-type]


def _diff(text: str, _: bytes, rng: random.Random) -> object:
    """With what differs in a few characters."""
    at = rng.randrange(len(text) + 1)
    other = text[:at] + rng.choice(("", '"x"', "{}", "?", "2", "[2,4]<=[8]")) + text[at + rng.randrange(9) :]
    return compare_programs(open_program(text, "a"), open_program(other, "b"))


def _compare(text: str, _: bytes, rng: random.Random) -> object:
    mesh = rng.choice((None, *MESHES))
    other = rng.choice(("{replicated}", "{manual}", "{devices=[2,4]<=[8]}", '[{"x"}, {}]', text))
    target = rng.choice(list(Target))
    one, two = (read_sharding(one, mesh, target=target) for one in (text, other))
    return compare_shardings(one, two, shape=rng.choice((None, None, (8, 7))), target=target)


def _text(read: Callable[[str], object]) -> Callable[[str, bytes, random.Random], object]:
    """A reader of texts without options; what it answers is shown, too."""
    return lambda text, _data, _rng: repr(read(text))


def _explain(text: str, _: bytes, rng: random.Random) -> object:
    mesh = rng.choice((None, *MESHES))
    shape = rng.choice((None, "f32[8,8]", "7,3", "f32[16]"))
    target = rng.choice(list(Target))
    explained = explain(text, rng.choice((None, text)), mesh=mesh, shape=shape, target=target)
    drawing = draw(text, mesh=mesh, shape=shape, target=target)
    drawn = drawing.to_text(width=rng.randint(20, 120), height=rng.randint(5, 60))
    return str(explained), explained.to_dict(), drawn, drawing.to_svg()


def _found(text: str, _: bytes, rng: random.Random) -> object:
    target = rng.choice(list(Target))
    return find_shardings(Source(text), target), all_shardings(Source(text), target)


READERS: dict[str, Reader] = {
    "parse_attribute": Reader(Kind.SDY, _text(parse_attribute)),
    "TensorShardingAttr": Reader(Kind.SDY, _text(TensorShardingAttr.from_string)),
    "TensorShardingPerValueAttr": Reader(Kind.SDY, _text(TensorShardingPerValueAttr.from_string)),
    "MeshAttr": Reader(Kind.SDY, _text(MeshAttr.from_string)),
    "AxisRefAttr": Reader(Kind.SDY, _text(AxisRefAttr.from_string)),
    "ManualAxesAttr": Reader(Kind.SDY, _text(ManualAxesAttr.from_string)),
    "parse_mesh_dictionary": Reader(Kind.SDY, _text(parse_mesh_dictionary)),
    "HloSharding.from_string": Reader(Kind.HLO, _hlo),
    "HloSharding.from_proto": Reader(Kind.PROTO, _proto),
    "decode_proto_text": Reader(Kind.PROTO, _text(decode_proto_text)),
    "HLO text": Reader(Kind.HLO_PROGRAM, _hlo_program),
    "HLO proto": Reader(Kind.PROTO, _hlo_proto),
    "export_module": Reader(Kind.PROGRAM, _export),
    "import_module": Reader(Kind.PROGRAM, _import),
    "verify_module": Reader(Kind.PROGRAM, _text(lambda text: list(map(str, verify_module(text))))),
    "check_module": Reader(Kind.PROGRAM, _check),
    "compare_programs": Reader(Kind.PROGRAM, _diff),
    "compare_shardings": Reader(Kind.SDY, _compare),
    "compare_hlo_shardings": Reader(Kind.HLO, _compare),
    "round_trip": Reader(Kind.PROGRAM, _round_trip),
    "explain (Shardy)": Reader(Kind.SDY, _explain),
    "explain (HLO)": Reader(Kind.HLO, _explain),
    "all_shardings": Reader(Kind.PROGRAM, _found),
}
