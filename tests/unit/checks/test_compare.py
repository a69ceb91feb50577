"""Comparisons of two shardings: what is said about them."""

from __future__ import annotations

import pytest

from sdybridge import HloSharding, MeshAttr, TensorShardingAttr
from sdybridge.checks import Comparison, Placed, Verdict, compare_shardings, read_sharding
from sdybridge.errors import ConversionError, ParseError, ProtoError, VerificationError
from sdybridge.hlo import MAX_MATERIALIZED_DEVICES

SAME, MEANING, OTHER = Verdict.SAME_FORM, Verdict.SAME_MEANING, Verdict.DIFFERENT
MESH = '<["x"=2, "y"=4]>'


def compared(a: str, b: str, mesh: str = MESH, shape: tuple[int, ...] | None = None) -> Comparison:
    known = MeshAttr.from_string(mesh)
    return compare_shardings(read_sharding(a, known), read_sharding(b, known), shape=shape)


@pytest.mark.parametrize(
    ("a", "b", "verdict", "differences"),
    [
        ('[{"x"}, {}]', '<@mesh, [{"x"}, {}]>', SAME, []),
        ("{devices=[2,4]<=[8]}", "{ devices=[2,4]<=[8] }", SAME, []),
        ("{replicated}", "{replicated}", SAME, []),
        ('[{"x"}, {}]', "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", MEANING,
         ["notation: Shardy in A, HLO in B"]),
        ('[{"x"}, {?}]', '[{"x", ?}, {}]', MEANING,
         ["dimension 0: closed in A, open in B", "dimension 1: open in A, closed in B"]),
        ('[{"x"}p1, {}]', '[{"x"}, {}]', MEANING, ["priority of dimension 0: p1 in A, none in B"]),
        ('[{"x"}, {}], replicated={"y"}', '[{"x"}, {}]', MEANING, ['replicated axes: "y" in A, none in B']),
        ('<@mesh, [{"x"}]>', '<@other, [{"x"}]>', MEANING, ["mesh: @mesh in A, @other in B"]),
        ('<@mesh, [{"x"}]>', '<mesh<["x"=2, "y"=4]>, [{"x"}]>', MEANING,
         ['mesh: @mesh in A, <["x"=2, "y"=4]> in B']),
        ("[{}]", '[{}], unreduced={"x"}', OTHER, ["unreduced groups: 1 in A, 2 in B"]),
        ("{devices=[2,4]<=[8]}", "{devices=[2,4]0,1,2,3,4,5,6,7}", MEANING,
         ["text: {devices=[2,4]<=[8]} in A, {devices=[2,4]0,1,2,3,4,5,6,7} in B"]),
        ("{devices=[1,1,8]<=[8] last_tile_dim_replicate}", "{replicated}", MEANING,
         ["they are written differently; XLA reads both as {replicated}"]),
        ('{devices=[2]<=[2] metadata={op_name="a"}}', "{devices=[2]<=[2]}", MEANING, ["other metadata"]),
        ("[{}, {}]", "{replicated}", MEANING, ["notation: Shardy in A, HLO in B"]),
        ("[{}, {}]", "{devices=[1,1,8]<=[8] last_tile_dims={manual}}", OTHER,
         ["placement: replicated in A, manual in B"]),
        ("{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}", '[{"x"}, {"y"}]', MEANING,
         ["notation: HLO in A, Shardy in B"]),
        ("{mesh['x'=2,'y'=4], [{'x', ?}]}", "{mesh['x'=2,'y'=4], [{'x'}]}", MEANING,
         ["text: {mesh['x'=2,'y'=4], [{'x', ?}]} in A, {mesh['x'=2,'y'=4], [{'x'}]} in B"]),
        ("{mesh['x'=2,'y'=4], [{'y'}, {'x'}]}", "{devices=[4,2]<=[8]}", OTHER, []),
        ("{devices=[2,4]<=[8]}", "{devices=[4,2]<=[8]}", OTHER,
         ["dimension 0: 2 parts in A, 4 parts in B", "dimension 1: 4 parts in A, 2 parts in B"]),
        ("{devices=[2,4]<=[8]}", "{devices=[8]<=[8]}", OTHER, ["rank: 2 in A, 1 in B"]),
        ("{devices=[2,4]<=[8]}", "{devices=[2,2]<=[4]}", OTHER, ["devices: 8 in A, 4 in B"]),
        ("{maximal device=1}", "{maximal device=2}", OTHER,
         ["placement: on device 1 alone in A, on device 2 alone in B"]),
        ("{devices=[2]4,6}", "{devices=[2]4,5}", OTHER, ["devices: others in B"]),
        ("{manual}", "{unreduced}", OTHER, ["placement: manual in A, unreduced in B"]),
        ("{unknown}", "{devices=[2]<=[2]}", OTHER, ["placement: left to XLA in A ({unknown})",
                                                   "dimension 0: one piece in A, 2 parts in B"]),
        ("{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}",
         "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}", OTHER,
         ["manual groups: of other devices in B"]),
        ("{{replicated}, {devices=[2]<=[2]}}", "{{replicated}, {devices=[2]<=[2]}}", SAME, []),
        ("{{replicated}, {devices=[2]<=[2]}}", "{{replicated}, {devices=[2]1,0}}", OTHER,
         ["element 1: 2 of 2 devices hold another part"]),
        ("{{replicated}}", "{{replicated}, {replicated}}", OTHER, ["elements: 1 in A, 2 in B"]),
        ("08031a0202024a0104520100", "{devices=[2,2]<=[4]}", MEANING, None),
    ],
)  # fmt: skip
def test_verdict(a: str, b: str, verdict: Verdict, differences: list[str] | None) -> None:
    found = compared(a, b)
    assert found.verdict is verdict
    assert found.is_equal is (verdict is not OTHER)
    if differences is not None:
        assert list(found.differences) == differences


@pytest.mark.parametrize(
    ("a", "b", "shape", "changed", "receiving"),
    [
        # some of the devices
        ("{devices=[2]4,6}", "{devices=[2]6,4}", None, [4, 6], [4, 6]),
        # half of what it held, or the other half
        ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "{devices=[4,1]<=[4]}", None, [0, 1, 2, 3], []),
        ("{devices=[2]<=[2]}", "{devices=[2]1,0}", None, [0, 1], [0, 1]),
        ("{devices=[4]<=[4]}", "{devices=[4]0,2,1,3}", None, [1, 2], [1, 2]),
        ("{devices=[2]<=[2]}", "{replicated}", None, [0, 1], [0, 1]),
        # 3 and 2 rows; 2, 2 and 1 rows
        ("{devices=[2,2]<=[4]}", "{devices=[4,1]<=[4]}", (5, 8), [0, 1, 2, 3], [0, 1, 2]),
        # the same elements, though the grids differ: a dimension of one
        ("{devices=[2,1]<=[2]}", "{devices=[2,1]1,0}", (2, 8), [0, 1], [0, 1]),
        ("{devices=[2,1]<=[2]}", "{maximal device=0}", (1, 8), [], []),
        ("{devices=[4]<=[4]}", "{devices=[4]0,1,3,2}", (2,), [], []),
    ],
)
def test_devices(
    a: str, b: str, shape: tuple[int, ...] | None, changed: list[int], receiving: list[int]
) -> None:
    found = compared(a, b, shape=shape)
    assert (list(found.changed), list(found.receiving)) == (changed, receiving)


@pytest.mark.parametrize("ids", ["-8,1", "3,3"])
def test_wrong_device_lists(ids: str) -> None:
    with pytest.raises(VerificationError, match=r"device -?\d (is negative|is listed more than once) in"):
        compared(f"{{devices=[2]{ids}}}", "{devices=[2]0,1}")


def test_a_shape_of_another_rank() -> None:
    with pytest.raises(VerificationError, match="tiles tensors of rank 2, not of rank 1"):
        compared("{devices=[2,4]<=[8]}", "{replicated}", shape=(8,))


def test_grids_of_many_devices() -> None:
    many = 1 << 40
    assert compared(f"{{devices=[{many}]<=[{many}]}}", f"{{devices=[{many}]<=[{many}]}}").verdict is SAME
    half = f"{{devices=[{many // 2},2]<=[{many}]}}"
    with pytest.raises(ConversionError, match="too many to compare them one by one"):
        compared(half, f"{{devices=[2,{many // 2}]<=[{many}]}}")
    assert many > MAX_MATERIALIZED_DEVICES


class TestReadSharding:
    def test_objects(self) -> None:
        mesh = MeshAttr.from_sizes({"x": 2})
        sharding = TensorShardingAttr.from_string('<@m, [{"x"}]>')
        assert read_sharding(sharding, mesh) == Placed(sharding, mesh)
        assert read_sharding(sharding, {"m": mesh}).mesh is mesh
        hlo = HloSharding.from_string("{replicated}")
        assert read_sharding(hlo).sharding is hlo
        assert str(read_sharding(hlo.to_proto_bytes())) == "{replicated}"
        assert str(read_sharding(sharding, mesh, manual_axes=["x"]).manual_axes) == "('x',)"
        with pytest.raises(TypeError, match="not a int"):
            read_sharding(3)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("text", "error", "expected"),
        [
            (
                '[{"z"}]',
                VerificationError,
                '<sharding>:1:3: error: the mesh has no axis named "z"\n[{"z"}]\n  ^~~',
            ),
            ('[{"x"', ParseError, "<sharding>:1:6: error: "),
            (
                "{devices=[2,2]<=[16]}",
                ParseError,
                "has 4 devices, but 16 are counted\n{devices=[2,2]<=[16]}\n",
            ),
            ("ffff", ProtoError, "<sharding>:1:1: error: "),
            ("", ParseError, "<sharding>:1:1: error: "),
        ],
    )
    def test_errors(self, text: str, error: type[Exception], expected: str) -> None:
        with pytest.raises(error) as raised:
            read_sharding(text, MeshAttr.from_string(MESH))
        assert expected in str(raised.value)

    def test_a_mesh_is_missing(self) -> None:
        with pytest.raises(VerificationError, match="unknown mesh @mesh") as raised:
            read_sharding('[{"x"}]')
        assert raised.value.help == "give the mesh, such as x=2,y=4"
