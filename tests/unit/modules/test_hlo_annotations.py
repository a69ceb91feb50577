"""What HLO programs say about their values: parameters, tuples, carriers, text and proto alike."""

from __future__ import annotations

import pytest

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.hlo_annotations import HloAnnotations
from sdybridge.modules.hlo_text import HloText
from sdybridge.modules.inspection import inspect_program
from sdybridge.source import Source

HEADER = (
    "HloModule jit_f, num_partitions=8, frontend_attributes="
    '{xla.sdy.meshes={mesh = #sdy.mesh<["x"=2, "y"=4]>}}\n\nENTRY main {\n'
)


def annotated(*lines: str, errors: list[SdyBridgeError] | None = None) -> HloAnnotations:
    body = "".join(f"  {line}\n" for line in lines)
    return HloAnnotations(HloText(Source(HEADER + body + "}\n")), errors=errors)


def test_a_partitioned_program() -> None:
    """Its shapes are those of the parts, and what they are parts of is not known."""
    lines = (
        "a = f32[4,6]{1,0} parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}",
        "b = f32[2,6]{1,0} parameter(1), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}",
        "ROOT t = (f32[4,6]{1,0}, s32[]) tuple(a, c)",
    )
    text = HEADER.replace("main", "main.7_spmd") + "".join(f"  {line}\n" for line in lines) + "}\n"
    found = inspect_program(HloAnnotations(HloText(Source(text))))
    assert found.is_partitioned
    assert [use.bytes_per_device for use in found.shardings] == [4 * (24 + 12)]
    assert [(one.name, one.shape, str(one.local_shape)) for one in (*found.inputs, *found.outputs)] == [
        ("a", None, "f32[4,6]"),
        ("b", None, "f32[2,6]"),
        ("t{0}", None, "f32[4,6]"),
        ("t{1}", None, "s32[]"),
    ]
    whole = inspect_program(HloAnnotations(HloText(Source(text.replace("_spmd", "")))))
    assert not whole.is_partitioned
    assert str(whole.inputs[0].local_shape) == "f32[2,6]"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "a = f32[8,6]{1,0} parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}",
            ["sharding main a parameter f32[8,6] f32[4,6]"],
        ),
        (
            "ROOT t = (bf16[8]{0}, s32[]) tuple(a, b), sharding={{devices=[8]<=[8]}, {replicated}}",
            ["sharding main t{0} tuple bf16[8] bf16[1]", "sharding main t{1} tuple s32[] s32[]"],
        ),
        (
            "w = (bf16[8]{0}, pred[4]{0}) while(a), condition=c, body=b, sharding={replicated}",
            ["sharding main w{0} while bf16[8] bf16[8]", "sharding main w{1} while pred[4] pred[4]"],
        ),
        (
            ("a = f32[8]{0} parameter(0), sharding={maximal device=0}, frontend_attributes="
            r'{xla.sdy.sharding="#sdy.sharding<@mesh, [{\"y\"}]>"}'),
            ["sharding main a parameter f32[8] f32[8]", "xla.sdy.sharding main a parameter f32[8] f32[2]"],
        ),
        (
            ('c = (f32[8]{0}, f32[6]{0}) custom-call(a), custom_call_target="f", frontend_attributes={'
            r'xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>, <@mesh, [{}]>]>"}'),
            [
                "xla.sdy.sharding main c{0} custom-call f32[8] f32[4]",
                "xla.sdy.sharding main c{1} custom-call f32[6] f32[6]",
            ],
        ),
        (
            ("a = f32[8]{0} parameter(0), frontend_attributes="
            r'{xla.sdy.sharding="#sdy.sharding<@lost, [{\"y\"}]>"}'),
            ["xla.sdy.sharding main a parameter f32[8] None"],
        ),
        ("s = (f32[8]{0}, token[]) send(a, b), sharding={{maximal device=1}, {maximal device=1}}",
         ["sharding main s{0} send f32[8] f32[8]", "sharding main s{1} send token[] token[]"]),
        ('a = f32[8]{0} parameter(0), metadata={op_name="sharding={replicated}"}', []),
        ("a = f32[8,4]{1,0} parameter(0), sharding={mesh['a'=2,'b'=4], [{'b'}, {'a', ?}]}",
         ["sharding main a parameter f32[8,4] f32[2,2]"]),
    ],
)  # fmt: skip
def test_annotations(line: str, expected: list[str]) -> None:
    found = [
        f"{one.carrier} {one.scope} {one.name} {one.opcode} {one.shape} {one.local_shape}"
        for one in annotated(line).annotations()
    ]
    assert found == expected


def test_the_program() -> None:
    program = annotated(
        "p1 = f32[8]{0} parameter(1)",
        "p0 = (f32[4]{0}, s32[]) parameter(0), sharding={{devices=[2]<=[2]}, {replicated}}",
        "ROOT r = f32[8]{0} add(p1, p1), sharding={devices=[8]<=[8]}",
    )
    assert (program.format, program.name, program.num_partitions) == ("HLO text", "jit_f", 8)
    assert {name: mesh.stripped for name, mesh in program.meshes.items()} == {"mesh": '<["x"=2, "y"=4]>'}
    assert [(one.name, str(one.shape), str(one.sharding)) for one in program.inputs()] == [
        ("p0{0}", "f32[4]", "{devices=[2]<=[2]}"),
        ("p0{1}", "s32[]", "{replicated}"),
        ("p1", "f32[8]", "None"),
    ]
    assert [(one.name, str(one.local_shape)) for one in program.outputs()] == [("r", "f32[1]")]


def test_tallies_count_what_differs_in_names_only() -> None:
    lines = [f"a{i} = f32[8]{{0}} abs(p), sharding={{devices=[4]<=[4]}}" for i in range(5)]
    program = annotated(*lines, "b = f32[4]{0} abs(p), sharding={devices=[4]<=[4]}")
    assert [(one.name, count) for one, count in program.tallies()] == [("a0", 5), ("b", 1)]
    [use] = inspect_program(program).shardings
    assert (use.count, use.devices, use.bytes_per_device, use.example.name) == (6, 4, 5 * 8 + 4, "a0")


BROKEN = {
    "rank": "a = f32[8]{0} parameter(0), sharding={devices=[2,4]<=[8]}",
    "arity": "a = (f32[8]{0}, s32[]) parameter(0), sharding={{replicated}}",
    "grammar": "a = f32[8]{0} parameter(0), sharding={devices=[2}",
    "carrier": 'a = f32[8]{0} parameter(0), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh>"}',
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_errors_are_raised_at_their_line(line: str) -> None:
    for read in (HloAnnotations.annotations, HloAnnotations.tallies):
        with pytest.raises(SdyBridgeError, match=r"^<string>:4:\d+: error: "):
            list(read(annotated(line)))


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_errors_are_kept_while_reading_goes_on(line: str) -> None:
    errors: list[SdyBridgeError] = []
    program = annotated(line, "b = f32[8]{0} abs(a), sharding={devices=[8]<=[8]}", errors=errors)
    assert [one.name for one in program.annotations()] == ["b"]
    assert len(errors) == 1
