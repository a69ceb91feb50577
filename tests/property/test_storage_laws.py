"""Laws of the storage of attributes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.property.strategies import attributes, tensor_shardings
from tests.unit.storage.accessors import Accessors, as_tuples

from sdybridge.sdy import Attribute, ReductionOp, TensorShardingAttr
from sdybridge.storage import CURRENT, NEWER, read_attribute, write_attribute

BASES = st.integers(1, (1 << 59) - 1).map(lambda word: word * 8)


@given(attributes(), BASES)
def test_what_was_written_is_read(attr: Attribute, base: int) -> None:
    image = write_attribute(attr, base=base)
    assert read_attribute(image, base) is attr
    assert Accessors(image).read(base) == as_tuples(attr)


@given(tensor_shardings(reduction_ops=list(ReductionOp)), BASES)
def test_with_reduction_operators(attr: TensorShardingAttr, base: int) -> None:
    image = write_attribute(attr, base=base, build=NEWER)
    assert read_attribute(image, base, build=NEWER) is attr
    fields = [getattr(attr, field) for field in attr.__match_args__[:-1]]
    assert read_attribute(image, base, build=CURRENT) is TensorShardingAttr(*fields)


@given(attributes(), BASES, BASES)
def test_an_image_elsewhere_differs_in_its_pointers_only(attr: Attribute, one: int, other: int) -> None:
    first, second = write_attribute(attr, base=one), write_attribute(attr, base=other)
    assert len(first.data) == len(second.data)
    for block, moved in zip(first.blocks, second.blocks, strict=True):
        assert (moved.address - other, moved.title) == (block.address - one, block.title)
        for part, same in zip(block.parts, moved.parts, strict=True):
            before, after = first.read(part.address, part.size), second.read(same.address, same.size)
            if before != after:
                shift = int.from_bytes(after, "little") - int.from_bytes(before, "little")
                assert shift == other - one
