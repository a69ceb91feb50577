"""Laws of the Shardy attributes that hold for all values and all texts."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property import strategies

from sdybridge import sdy
from sdybridge.errors import ParseError, SdyBridgeError, VerificationError
from sdybridge.sdy import (
    Attribute,
    AxisRefAttr,
    MeshAttr,
    ReductionOp,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
    fast_path,
    parse_attribute,
    parse_prefix,
    parse_with_spans,
    verify_coexistence,
    verify_sharding,
)
from sdybridge.sdy.grammar import BODIES, Parser, stripped
from sdybridge.source import Source
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdybridge.errors import Path


def parse_slowly(cls: type[Attribute], text: str) -> tuple[Attribute, int] | None:
    """What the full grammar makes of the start of a text, and where it ends."""
    parser = Parser(Source(text), spans={})  # no short cut when spans are asked for
    try:
        return stripped(parser, cls, ()), parser.pos
    except SdyBridgeError:
        return None


def error_of(ask: Callable[[], object]) -> SdyBridgeError | None:
    try:
        ask()
    except SdyBridgeError as error:
        return error
    return None


def follow(value: object, path: Path) -> object:
    for step in path:
        value = value[step] if isinstance(step, int) else getattr(value, step)  # type: ignore[index]
    return value


@given(strategies.attributes())
def test_parsing_what_is_printed_gives_the_same_object(value: Attribute) -> None:
    assert parse_attribute(str(value)) is value
    assert type(value).from_string(str(value)) is value
    assert type(value).from_string(value.stripped) is value


@given(strategies.tensor_shardings(reduction_ops=tuple(ReductionOp)))
def test_parsing_what_is_printed_for_newer_targets(value: TensorShardingAttr) -> None:
    assert parse_attribute(str(value), target=Target.NEWER) is value


@given(strategies.attributes())
def test_evaluating_the_repr_gives_the_same_object(value: Attribute) -> None:
    assert eval(repr(value), dict(vars(sdy))) is value


@given(strategies.attributes())
def test_copying_and_pickling_give_the_same_object(value: Attribute) -> None:
    assert copy.deepcopy(value) is value
    assert pickle.loads(pickle.dumps(value)) is value


@given(st.data(), strategies.attributes())
def test_white_space_and_comments_do_not_matter(data: st.DataObject, value: Attribute) -> None:
    spaced = data.draw(strategies.spaced(str(value)))
    assert parse_attribute(spaced) is value


@given(
    st.data(),
    st.one_of(strategies.tensor_shardings(), strategies.meshes_and_shardings().map(lambda pair: pair[1])),
)
def test_the_fast_path_reads_what_the_grammar_reads(data: st.DataObject, value: TensorShardingAttr) -> None:
    texts = [str(value), value.stripped]
    texts += [data.draw(strategies.mutated(text)) for text in texts for _ in range(3)]
    for text in texts:
        found = fast_path.sharding(text)
        assert found is None or (found, len(text)) == parse_slowly(TensorShardingAttr, text), text
        found_at = fast_path.sharding_at(f"<{text} : t", 1)
        assert found_at is None or (found_at[0], found_at[1] - 1) == parse_slowly(
            TensorShardingAttr, f"{text} : t"
        )


@given(st.data(), st.lists(strategies.tensor_shardings(), max_size=3).map(TensorShardingPerValueAttr))
def test_the_fast_path_reads_lists_as_the_grammar_does(
    data: st.DataObject, value: TensorShardingPerValueAttr
) -> None:
    texts = [str(value), value.stripped, value.stripped[1:-1]]
    texts += [data.draw(strategies.mutated(text)) for text in texts for _ in range(2)]
    for text in texts:
        found = fast_path.per_value(text)
        assert found is None or (found, len(text)) == parse_slowly(TensorShardingPerValueAttr, text), text


@given(strategies.meshes_and_shardings())
def test_the_fast_path_reads_all_canonical_text_of_plain_names(
    pair: tuple[MeshAttr, TensorShardingAttr],
) -> None:
    _, value = pair
    if all(ref.name.isalnum() and ref.name.isascii() for ref in value.axis_refs):
        assert fast_path.sharding(str(value)) is value
        assert fast_path.sharding_at(f"x{value} : t", 1) == (value, len(str(value)) + 1)


@given(st.one_of(strategies.attribute_texts(), strategies.random_texts(), st.text(max_size=30)))
def test_any_text_has_an_answer_or_a_located_error(text: str) -> None:
    for read in (parse_attribute, *(cls.from_string for cls in BODIES)):
        error = error_of(lambda read=read: read(text))  # type: ignore[misc]
        if error is not None:
            assert isinstance(error, ParseError | VerificationError)
            assert error.span is not None
            assert 0 <= error.span.start <= error.span.end <= len(text)
            assert str(error).startswith("<string>:")


@given(strategies.attributes(), st.sampled_from(["", " ", " : t", "\n// c", " {a}", "<@m, []>", " %0", ")"]))
def test_a_prefix_ends_where_the_attribute_does(value: Attribute, rest: str) -> None:
    texts = [str(value), value.stripped]
    if isinstance(value, AxisRefAttr) and rest == " : t":
        texts.remove(value.stripped)  # the colon would belong to it
    for text in texts:
        before = "op %0 "
        assert parse_prefix(before + text + rest, len(before), type(value)) == (value, len(before + text))


@given(st.data(), strategies.attributes())
def test_spans_hold_the_text_of_their_part(data: st.DataObject, value: Attribute) -> None:
    text = data.draw(strategies.spaced(str(value)))
    parsed, spans = parse_with_spans(text, type(value))
    assert parsed is value
    for path, span in spans.items():
        part = follow(value, path)
        piece = text[span.start : span.end]
        assert piece == piece.strip()
        if isinstance(part, Attribute):
            start = span.start + len("mesh") * piece.startswith("mesh")
            assert parse_prefix(text, start, type(part)) == (part, span.end)


@given(strategies.meshes_and_shardings())
def test_valid_shardings_verify_and_break_with_their_mesh(pair: tuple[MeshAttr, TensorShardingAttr]) -> None:
    mesh, sharding = pair
    verify_sharding(sharding, mesh, rank=sharding.rank)
    with pytest.raises(VerificationError) as raised:
        verify_sharding(sharding, mesh, rank=sharding.rank + 1)
    assert raised.value.rule == "rank-mismatch"
    for ref in sharding.axis_refs:
        with pytest.raises(VerificationError) as raised:
            verify_sharding(sharding, mesh, manual_axes=[ref.name])
        assert raised.value.rule == "axis-is-manual"
    rest = MeshAttr(axis for axis in mesh.axes if not sharding.is_bound(axis.name))
    if sharding.axis_refs:
        with pytest.raises(VerificationError) as raised:
            verify_sharding(sharding, rest)
        assert raised.value.rule == "unknown-axis"


@given(strategies.tensor_shardings(), strategies.meshes())
def test_verification_has_an_answer_and_a_path_that_leads_somewhere(
    sharding: TensorShardingAttr, mesh: MeshAttr
) -> None:
    checks = (lambda: verify_sharding(sharding, mesh), lambda: verify_coexistence(sharding))
    for error in map(error_of, checks):
        if error is None:
            continue
        assert isinstance(error, VerificationError)
        assert error.rule in sdy.RULES
        assert str(error)
        follow(sharding, error.path)


@given(strategies.meshes_and_shardings())
def test_coexistence_is_that_of_all_pairs(pair: tuple[MeshAttr, TensorShardingAttr]) -> None:
    _, sharding = pair
    assert all(a.can_coexist(b) for a, b in itertools.combinations(sharding.axis_refs, 2))


@given(st.data(), st.integers(2, 60))
def test_coexistence_breaks_when_that_of_a_pair_does(data: st.DataObject, size: int) -> None:
    parts = st.builds(lambda pre, k: AxisRefAttr.sub("x", pre, k), st.integers(1, size), st.integers(2, 8))
    refs = data.draw(st.lists(parts, max_size=4))
    sharding = TensorShardingAttr("mesh", (), (), refs)
    coexist = all(a.can_coexist(b) for a, b in itertools.combinations(refs, 2))
    if coexist:
        verify_coexistence(sharding)
        return
    with pytest.raises(VerificationError):
        verify_coexistence(sharding)


@given(strategies.meshes_and_shardings(), st.data())
def test_local_shapes_cover_the_tensor(
    pair: tuple[MeshAttr, TensorShardingAttr], data: st.DataObject
) -> None:
    mesh, sharding = pair
    shape = data.draw(st.lists(st.integers(0, 100), min_size=sharding.rank, max_size=sharding.rank))
    local = sharding.get_local_shape(shape, mesh)
    for size, mine, dim in zip(shape, local, sharding.dim_shardings, strict=True):
        pieces = dim.get_sharded_size(mesh)
        assert mine is not None
        assert mine * pieces >= size > (mine - 1) * pieces or size == mine == 0
