"""Laws of carriers: whatever the names look like, what is written is read back, and errors are placed."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from tests.property import strategies

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.carriers import (
    CARRIERS,
    CarrierValue,
    Quoting,
    read_carrier,
    write_carrier,
    write_string,
)
from sdybridge.modules.mlir.attributes import quote
from sdybridge.sdy import ManualAxesAttr, TensorShardingPerValueAttr
from sdybridge.source import Source, Span

Escape = Callable[[str], str]
QUOTINGS = st.sampled_from(Quoting)
ESCAPES = st.sampled_from([quote, lambda value: f'"{escaped_as_in_c(value)}"'])


def escaped_as_in_c(value: str) -> str:
    return write_string("." + value, Quoting.HLO)[2:-1]  # the dot: nothing bare


def carried() -> st.SearchStrategy[tuple[str, CarrierValue]]:
    """A carrier's key, and a value that it can keep."""
    sharding = st.one_of(
        strategies.tensor_shardings(),
        st.builds(TensorShardingPerValueAttr, st.lists(strategies.tensor_shardings(), max_size=3)),
    )
    values: list[tuple[str, st.SearchStrategy[CarrierValue]]] = [
        ("xla.sdy.sharding", sharding),
        ("xla.sdy.meshes", st.dictionaries(strategies.mesh_names(), strategies.meshes(), max_size=3)),
        ("xla.sdy.manual_axes", st.builds(ManualAxesAttr, st.lists(strategies.names(), max_size=3))),
        ("xla.sdy.sharding_group_id", st.integers(-(2**63), 2**63 - 1)),
        ("xla.sdy.allowed_direction", st.integers(-(2**31), 2**31 - 1)),
    ]
    return st.one_of([st.tuples(st.just(key), value) for key, value in values])


def error_of(ask: Callable[[], object]) -> SdyBridgeError | None:
    try:
        ask()
    except SdyBridgeError as error:
        return error
    return None


def read(key: str, text: str, quoting: Quoting) -> CarrierValue:
    return read_carrier(key, Source(text), Span(0, len(text)), quoting).parse()


@given(carried(), QUOTINGS)
def test_what_is_written_is_read_back(carrier: tuple[str, CarrierValue], quoting: Quoting) -> None:
    key, value = carrier
    assert read(key, write_carrier(key, value, quoting), quoting) == value


@given(carried(), QUOTINGS, st.lists(ESCAPES, min_size=1, max_size=2), st.booleans())
def test_further_escapes_are_undone(
    carrier: tuple[str, CarrierValue], quoting: Quoting, escapes: list[Escape], keep_quotes: bool
) -> None:
    key, value = carrier
    text = write_carrier(key, value, Quoting.PLAIN)
    for escape in escapes:
        text = escape(text) if keep_quotes else escape(text)[1:-1]
    assert read(key, write_string(text, quoting), quoting) == value


@given(
    st.sampled_from(sorted(CARRIERS)), strategies.attribute_texts(), QUOTINGS, st.lists(ESCAPES, max_size=2)
)
def test_every_text_is_read_or_has_a_placed_error(
    key: str, text: str, quoting: Quoting, escapes: list[Escape]
) -> None:
    for escape in escapes:
        text = escape(text)
    written = write_string(text, quoting)
    source = Source(f"({written})")
    error = error_of(lambda: read_carrier(key, source, Span(1, 1 + len(written)), quoting).parse())
    if error:
        assert error.source is source
        assert error.span is not None
        assert 1 <= error.span.start <= error.span.end <= 1 + len(written)
