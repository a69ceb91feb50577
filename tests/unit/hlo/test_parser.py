"""What the case files of sharding texts do not show: targets, limits, larger texts, hostile texts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sdybridge.errors import ParseError
from sdybridge.hlo import HloSharding, OpMetadata, ReductionOp, parse_prefix
from sdybridge.source import Source
from sdybridge.target import Target

MAX_TEXT = '{unreduced metadata={op_type="sdy::reduction_op" op_name="MAX"}}'


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param(
            "{devices=[2,2]<=[4] devices=[4]<=[4]T(1)}", "{devices=[2,2,4]<=[16]}", id="iotas go on"
        ),
        pytest.param("{devices=[]<=[1]}", "{devices=[]<=[1]}", id="what XLA exports for a scalar"),
        pytest.param(
            "{devices=[2]<=[2] last_tile_dims={} last_tile_dim_replicate}", "{replicated}", id="no types"
        ),
        pytest.param("{devices=[2]1,/* one */0}", "{devices=[2]1,0}", id="a comment in a list"),
        pytest.param("{devices=[2]18446744073709551615,-0}", "{devices=[2]-1,0}", id="ids that wrap around"),
        pytest.param(
            "{maximal device=-9223372036854775808}", "{maximal device=-9223372036854775808}", id="least id"
        ),
        pytest.param("{maximal /*" + "*" * 50 + "/ device=1}", "{maximal device=1}", id="stars in a comment"),
    ],
)
def test_text(text: str, printed: str) -> None:
    assert str(HloSharding.from_string(text)) == printed


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        (r'{manual metadata={op_name="\x41\101\u0041\U00000041\a\?"}}', OpMetadata(op_name="AAAA\a?")),
        (r'{manual metadata={op_name="\377\xe9"}}', OpMetadata(op_name="\udcff\udce9")),
        ('{manual metadata={op_name="two\nlines \0"}}', OpMetadata(op_name="two\nlines \0")),
        ("{manual metadata={op_name='\"'source_line=-0}}", OpMetadata(op_name='"')),
        ("{manual metadata={source_line=18446744073709551615}}", OpMetadata(source_line=-1)),
        ('{manual metadata={metadata_payload=""}}', OpMetadata(other_fields=bytes.fromhex("a201020a00"))),
    ],
)
def test_metadata(text: str, entry: OpMetadata) -> None:
    assert HloSharding.from_string(text).metadata == (entry,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r'{manual metadata={op_name="\q"}}', r"\q is no escape for a byte or a character"),
        (r'{manual metadata={op_name="\400"}}', r"\400 is no escape for a byte or a character"),
        (r'{manual metadata={op_name="\x141"}}', r"\x141 is no escape for a byte or a character"),
        (r'{manual metadata={op_name="\ud800"}}', r"\ud800 is no escape for a byte or a character"),
        (r'{manual metadata={op_name="\U00110000"}}', r"\U00110000 is no escape for a byte or a character"),
        (r'{manual metadata={op_name="\u12"}}', r"\u is no escape for a byte or a character"),
        ('{manual metadata={op_name="\udc80"}}', "a lone surrogate is no character of a text"),
        ('{manual metadata={op_name="a}}', "the string of the op_name is not closed"),
        ('{manual metadata={op_name="a\\\nb"}}', "the string of the op_name is not closed"),
        ("{manual metadata={,,}}", "expected a field of the metadata after ',', found ','"),
        ("{manual metadata={{} {}}}", "expected ',' or '}' after '}', found '{'"),
        ("{devices=[]<=[1] last_tile_dim_replicate}", "1 types need as many dimensions, the grid [] has 0"),
        ("{device=1 devices=[2]<=[2]}", "the devices are both listed and counted with '<='"),
        ("{devices=[2]<=[2] devices=[2]0,1}", "the devices are both listed and counted with '<='"),
        ("{devices=[2]<=[2] devices=[2]<=[2]T(0)}", "T(..) has a dimension of the count [2,2] twice"),
        (
            "{devices=[1" + ",1" * 32 + "]0}",
            "a grid that lists its devices has at most 32 dimensions, this one has 33",
        ),
        ("{devices=[4294967296,4294967296]<=[1]}", "the grid has more than 2**63 - 1 devices"),
        ("{shard_as " + "9" * 10000 + "}", "the number of a group does not fit 64 bits"),
    ],
)
def test_error(text: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        HloSharding.from_string(text)
    assert error.value.message == message


def test_a_text_must_be_a_str() -> None:
    with pytest.raises(TypeError, match="text must be a str, not bytes"):
        HloSharding.from_string(b"{replicated}")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "{unreduced}",
        "{devices=[2,2]<=[4] last_tile_dims={unreduced}}",
        "{{manual}, {unreduced}}",
        "{mesh[], manual}",
    ],
)
def test_what_the_classic_release_does_not_read(text: str) -> None:
    with pytest.raises(ParseError):
        HloSharding.from_string(text, target=Target.CLASSIC)


@pytest.mark.parametrize(
    ("text", "op", "left"),
    [
        (MAX_TEXT, ReductionOp.MAX, 0),
        (MAX_TEXT.replace("MAX", "MIN"), ReductionOp.MIN, 0),
        (MAX_TEXT.replace("MAX", "SUM"), ReductionOp.SUM, 0),
        ("{unreduced}", ReductionOp.SUM, 0),
        (MAX_TEXT.replace("sdy::reduction_op", "other"), ReductionOp.SUM, 1),
        (
            MAX_TEXT[:-1] + ' metadata={op_type="sdy::reduction_op" op_name="SUM"} metadata={}}',
            ReductionOp.SUM,
            1,
        ),
    ],
)
def test_newer_text_names_the_reduction(text: str, op: ReductionOp, left: int) -> None:
    newer = HloSharding.from_string(text, target=Target.NEWER)
    assert newer.reduction_op is op
    assert len(newer.metadata) == left
    current = HloSharding.from_string(text)
    assert current.reduction_op is ReductionOp.SUM
    assert len(current.metadata) == text.count("op_type") + text.count("metadata={}")


@pytest.mark.parametrize(
    "leaf", ["{devices=[2]<=[2]}", "{maximal  device=1}", "{{manual}, {manual }}", "{ }"]
)
def test_prefix(leaf: str) -> None:
    text = f"f32[8] add(a, b), sharding= /* \n */ {leaf}, metadata={{}}"
    at = text.index("=") + 1
    sharding, end = parse_prefix(text, at)
    assert sharding == HloSharding.from_string(leaf)
    assert text[end:] == ", metadata={}"


def test_an_error_in_a_larger_text_is_located_there() -> None:
    source = Source("HloModule m\nROOT a = f32[] b(), sharding={devices=[2]<=[3]}\n", "m.hlo")
    with pytest.raises(ParseError) as error:
        parse_prefix(source, source.text.index("{"))
    assert str(error.value) == (
        "m.hlo:2:44: error: the grid [2] has 2 devices, but 3 are counted\n"
        "ROOT a = f32[] b(), sharding={devices=[2]<=[3]}\n"
        "                                           ^~~\n"
        "help: write <=[2]"
    )


def test_a_million_devices_in_any_spelling() -> None:
    ids = ",".join(map(str, reversed(range(1 << 20))))
    text = f"{{devices=[1024,1024]{ids}}}"
    sharding = HloSharding.from_string(text)
    assert str(sharding) == text
    assert sharding.tile_assignment.array[0, 0] == (1 << 20) - 1
    assert HloSharding.from_string(text.replace(",", ",\n ")) == sharding
    assert HloSharding.from_string(text[:-1] + " shard_as 1}").tile_assignment == sharding.tile_assignment


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{devices=[1000000000,1000000000]<=[1000000000,1000000000]T(1,0)}", id="huge iota"),
        pytest.param(
            "{devices=[1000000000,1000000000]<=[1000000000000000000] last_tile_dims={manual}}", id="types"
        ),
    ],
)
def test_iotas_are_not_listed(text: str) -> None:
    assert HloSharding.from_string(text).num_devices == 10**18


HOSTILE = {
    "too many to list": "{devices=[2,1500000000]<=[1000000000,3]T(1,0) last_tile_dim_replicate}",
    "a list that never ends": "{devices=[2]" + "0," * 200_000,
    "a list with a bad end": "{devices=[2]" + "0," * 200_000 + "x}",
    "a long size": "{devices=[2]<=" + "9" * 300_000,
    "a long profile": "{manual metadata={profile_type=" + "9" * 300_000,
    "long ids": "{devices=[2]" + "9" * 300_000 + "}",
    "many dimensions": "{devices=[" + "9223372036854775807," * 100_000 + "1]<=[1]}",
    "many ones": "{devices=[2]<=[" + "1," * 100_000 + "2]T(" + ",".join(map(str, range(100_000))) + "}",
    "many braces": "{" * 200_000,
    "many elements": "{" + "{replicated}," * 20_000 + "}",
    "comments": "{" + "/**/" * 100_000,
    "comment that never ends": "{" + "/*" * 200_000,
    "words": "{" + "replicated " * 50_000 + "x",
    "a long word": "{" + "a" * 300_000 + "}",
    "a string that never ends": '{manual metadata={op_name="' + "\\x" * 100_000,
    "metadata": "{manual metadata={" + "op_name= " * 50_000,
    "types": "{devices=[2]<=[2] last_tile_dims={" + "manual," * 50_000 + "manual}}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_errors(text: str) -> None:
    with pytest.raises(ParseError) as error:
        HloSharding.from_string(text)
    assert len(str(error.value)) < 2000


def test_reading_text_loads_numpy_for_lists_only() -> None:
    code = """
import sys
from sdybridge.hlo import HloSharding
HloSharding.from_string("{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}")
HloSharding.from_string("{{replicated metadata={op_name='a'}}, {maximal device=1}}")
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"numpy", "google", "difflib"}, loaded
HloSharding.from_string("{devices=[2]1,0}")
assert "numpy" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
