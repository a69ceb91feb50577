"""Laws of reading shardings: what is printed or written is read back, and the rest is an error."""

from __future__ import annotations

import base64
from unittest import mock

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.property.hlo_strategies import (
    METADATA,
    REDUCTION_OPS,
    SUBGROUP_TYPES,
    leaf_shardings,
    shardings,
    tile_assignments,
)

from sdybridge.errors import ConversionError, ParseError, ProtoError
from sdybridge.hlo import (
    HloSharding,
    OpMetadata,
    OpShardingType,
    ReductionOp,
    ShardGroup,
    TileAssignment,
    decode_proto_text,
    fast_path,
)
from sdybridge.hlo.proto_text import decode_base64, decode_escaped, decode_hex
from sdybridge.target import Target

UNPRINTED = {OpShardingType.TUPLE, OpShardingType.OTHER, OpShardingType.UNKNOWN}
PIECES = st.sampled_from(
    ["{", "}", "[", "]", "(", ")", ",", "<=", "=", "T", "0", "1", "2", "4", "-1", "1.5", "replicated",
     "manual", "unreduced", "maximal", "device=", "devices=", "devices=[2,2]<=[4]", "devices=[2,2]0,1,2,3",
     "shard_as", "last_tile_dims=", "last_tile_dim_replicate", "metadata=", "op_name=", "'a'", "/*",
     "*/", "//", "{}"]
)  # fmt: skip
TEXTS = st.text(max_size=40) | st.lists(PIECES, max_size=16).map(" ".join) | st.lists(PIECES).map("".join)
NUMBERS = st.builds(lambda field, value: bytes([field << 3, value]), st.integers(1, 15), st.integers(0, 127))
STRINGS = st.builds(
    lambda field, data: bytes([field << 3 | 2, len(data)]) + data, st.integers(1, 15), st.binary(max_size=6)
)
BYTES = st.binary(max_size=40) | st.lists(NUMBERS | STRINGS, max_size=6).map(b"".join)


def by_grammar(text: str, target: Target = Target.CURRENT) -> HloSharding:
    """The sharding without any short cut."""
    with (
        mock.patch.object(fast_path, "sharding", return_value=None),
        mock.patch.object(fast_path, "leaf_at", return_value=None),
    ):
        return HloSharding.from_string(text, target=target)


def check_located(error: ParseError, text: str) -> None:
    assert error.span is not None
    assert 0 <= error.span.start <= error.span.end <= len(text)
    assert str(error).startswith("<string>:")


def is_readable(sharding: HloSharding) -> bool:
    """Whether it prints, and is the normal form of what it prints."""
    if sharding.is_tuple:
        return all(map(is_readable, sharding.tuple_elements))
    if sharding.subgroup_types == (OpShardingType.UNREDUCED,):  # only dropping another subgroup leaves it so
        return sharding.tile_assignment.dims[-1] != sharding.num_devices
    # A grid of one device in a list is no grid for the parser.
    is_one_listed = sharding.is_tiled and sharding.num_devices == 1 and not sharding.tile_assignment.is_iota
    return not UNPRINTED & set(sharding.subgroup_types) and not is_one_listed


class TestText:
    @given(shardings())
    def test_what_is_printed_is_read_back(self, sharding: HloSharding) -> None:
        assume(is_readable(sharding))
        again = HloSharding.from_string(str(sharding))
        assert again == sharding
        assert str(again) == str(sharding)

    @given(shardings())
    def test_the_short_cut_leads_to_the_same(self, sharding: HloSharding) -> None:
        assume(is_readable(sharding))
        short, long = HloSharding.from_string(str(sharding)), by_grammar(str(sharding))
        assert short == long
        assert str(short) == str(long)
        assert short.to_proto_bytes() == long.to_proto_bytes()

    @given(TEXTS, st.sampled_from(Target))
    def test_any_text_is_a_sharding_or_an_error(self, text: str, target: Target) -> None:
        try:
            sharding = HloSharding.from_string(text, target=target)
        except ParseError as error:
            check_located(error, text)
        else:
            assert HloSharding.from_string(str(sharding), target=target) == sharding

    @given(st.lists(st.sampled_from("0123456789,[]<=T()devicslat_m{} "), max_size=30).map("".join))
    def test_the_short_cut_takes_no_more_than_the_grammar(self, middle: str) -> None:
        text = f"{{devices=[2,2]{middle}}}"
        found = fast_path.sharding(text, Target.CURRENT)
        if found is not None:
            assert str(found) == str(by_grammar(text))

    @given(leaf_shardings(), st.lists(METADATA, max_size=3))
    def test_metadata_is_read_back(self, sharding: HloSharding, entries: list[OpMetadata]) -> None:
        assume(is_readable(sharding))
        assume(all(0 <= number <= 3 for entry in entries for number in entry.profile_type))
        # XLA prints this one without escapes.
        assume(not any(c in entry.scheduling_name for entry in entries for c in "\"'\\"))
        printed = sharding.with_metadata(entries).to_string()
        assert list(HloSharding.from_string(printed).metadata) == entries

    @given(leaf_shardings(), REDUCTION_OPS)
    def test_newer_text_keeps_the_reduction(self, sharding: HloSharding, op: ReductionOp) -> None:
        assume(is_readable(sharding))
        reduced = sharding.with_metadata([]).with_reduction_op(op)
        again = HloSharding.from_string(reduced.to_string(target=Target.NEWER), target=Target.NEWER)
        assert again == reduced
        assert again.metadata == ()


class TestProto:
    @given(shardings())
    def test_what_is_written_is_read_back(self, sharding: HloSharding) -> None:
        data = sharding.to_proto_bytes()
        again = HloSharding.from_proto(data)
        assert again == HloSharding.from_proto(sharding.to_proto())
        if is_kept(sharding):
            assert again == sharding
            assert again.to_string() == sharding.to_string()
            assert again.to_proto_bytes() == data

    @given(leaf_shardings(), REDUCTION_OPS)
    def test_newer_protos_keep_the_reduction(self, sharding: HloSharding, op: ReductionOp) -> None:
        reduced = sharding.with_reduction_op(op)
        assume(is_kept(reduced))
        again = HloSharding.from_proto(reduced.to_proto_bytes(target=Target.NEWER), target=Target.NEWER)
        assert again == reduced
        assert again.metadata == reduced.metadata

    @given(shardings())
    def test_classic_protos_are_read_back(self, sharding: HloSharding) -> None:
        assume(is_kept(sharding))
        try:
            data = sharding.to_proto_bytes(target=Target.CLASSIC)
        except ConversionError:
            assert sharding.has_unreduced
        else:
            assert HloSharding.from_proto(data, target=Target.CLASSIC) == sharding

    @given(BYTES, st.sampled_from(Target))
    def test_any_bytes_are_a_sharding_or_an_error(self, data: bytes, target: Target) -> None:
        try:
            sharding = HloSharding.from_proto(data, target=target)
        except ProtoError as error:
            str(error)
        else:
            written = sharding.to_proto_bytes(target=target)
            again = HloSharding.from_proto(written, target=target)
            assert HloSharding.from_proto(again.to_proto_bytes(target=target), target=target) == again

    @given(tile_assignments(), st.lists(SUBGROUP_TYPES, max_size=2))
    def test_a_grid_is_normalised(self, grid: TileAssignment, types: list[OpShardingType]) -> None:
        assume(grid.num_elements > 1 and len(types) <= grid.num_dimensions)
        proto = HloSharding.tile(grid).to_proto()
        proto.last_tile_dims.extend(types)  # type: ignore[arg-type]  # the stub asks for its own enum
        expected = HloSharding.subgroup(grid, types)
        assert HloSharding.from_proto(proto) == expected
        assert str(HloSharding.from_proto(proto)) == str(expected)


def is_kept(sharding: HloSharding) -> bool:
    """Whether the proto says all of it, and XLA reads it without another normal form."""
    if sharding.is_tuple:
        return all(map(is_kept, sharding.tuple_elements))
    if sharding.is_tiled and sharding.num_devices == 1:
        return False
    if sharding.subgroup_types == (OpShardingType.UNREDUCED,):
        return sharding.tile_assignment.dims[-1] != sharding.num_devices
    return sharding.shard_group is None or sharding.shard_group.id != ShardGroup(-1).id


class TestProtoText:
    @given(st.binary())
    def test_each_form_is_decoded(self, data: bytes) -> None:
        escaped = "".join(chr(b) if 0x20 <= b < 0x7F and chr(b) not in '"\\' else f"\\{b:02X}" for b in data)
        assert decode_hex(data.hex()) == data
        assert decode_hex(data.hex(" ").upper()) == data
        assert decode_base64(base64.b64encode(data).decode()) == data
        assert decode_base64(base64.urlsafe_b64encode(data).decode().rstrip("=")) == data
        assert decode_escaped(f'"{escaped}"') == data
        assert decode_proto_text(f'"{escaped}"') == data
        assert decode_proto_text(data.hex()) == data

    @given(st.text())
    def test_any_text_is_bytes_or_an_error(self, text: str) -> None:
        for decode in (decode_hex, decode_base64, decode_escaped, decode_proto_text):
            try:
                assert isinstance(decode(text), bytes)
            except ParseError as error:
                check_located(error, text)
