"""Images of attributes with random corruptions: the right object, or a `StorageError`."""

from __future__ import annotations

import contextlib
import os
import random
import struct
from typing import TYPE_CHECKING, Any

import pytest
from tests.differential.random_attributes import random_attribute
from tests.unit.storage.accessors import Accessors, as_tuples
from tests.unit.storage.cores import core_of

from sdybridge.errors import StorageError
from sdybridge.storage import BytesMemory, CoreMemory, read_attribute, write_attribute
from sdybridge.storage.debugger import describe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sdybridge.sdy import Attribute
    from sdybridge.storage import Image

ATTRIBUTES, CORRUPTIONS = 100, 100


@pytest.mark.parametrize("seed", [0, int(os.environ["SDYBRIDGE_SEED"])])
def test_corrupted_images(seed: int) -> None:
    """What is read is what the accessors find; it is only refused if they find nothing, or nothing valid."""
    rng = random.Random(seed)
    same = other = refused = 0
    for _ in range(ATTRIBUTES):
        attr = random_attribute(rng)
        image = write_attribute(attr, base=rng.randrange(1, 1 << 44) * 8)
        original = as_tuples(attr)
        for _ in range(CORRUPTIONS):
            corrupted = corrupt(image, rng)
            expected = naively(corrupted, image.base)
            found = attempt(corrupted, image.base)
            if isinstance(found, StorageError):
                assert expected != original, found
                refused += 1
                with contextlib.suppress(StorageError):  # what looks further fails no other way
                    describe(corrupted, image.base)
            else:
                assert as_tuples(found) == expected
                same, other = same + (found is attr), other + (found is not attr)
    assert same + other + refused == ATTRIBUTES * CORRUPTIONS == 10_000
    assert min(same, other, refused) > 200, (same, other, refused)


def attempt(memory: BytesMemory, address: int) -> Attribute | StorageError:
    try:
        return read_attribute(memory, address)
    except StorageError as error:
        return error


def naively(memory: BytesMemory, address: int) -> Any:
    """What the accessors find, or the exception that they lead to."""
    try:
        return Accessors(memory).read(address)
    except (LookupError, ValueError, TypeError, struct.error, RecursionError) as error:
        return error


def corrupt(image: Image, rng: random.Random) -> BytesMemory:
    """The image with some damage, most of it in what matters."""
    data = bytearray(image.data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        part = rng.choice(rng.choice(image.blocks).parts)
        at = part.address - image.base
        rng.choice(_DAMAGES)(data, at, part.size, image, rng)
    cut = rng.randrange(len(data)) if rng.random() < 0.05 else len(data)
    return BytesMemory(image.base, bytes(data[:cut]))


def _bit(data: bytearray, at: int, size: int, _: Image, rng: random.Random) -> None:
    data[at + rng.randrange(size)] ^= 1 << rng.randrange(8)


def _byte(data: bytearray, at: int, size: int, _: Image, rng: random.Random) -> None:
    data[at + rng.randrange(size)] = rng.randrange(256)


def _anywhere(data: bytearray, _: int, __: int, ___: Image, rng: random.Random) -> None:
    data[rng.randrange(len(data))] = rng.randrange(256)


def _number(data: bytearray, at: int, size: int, _: Image, rng: random.Random) -> None:
    number = rng.choice((0, 1, 2, 3, 7, 8, 2**20, 2**32, 2**48, 2**63 - 1, 2**63, 2**64 - 1))
    data[at : at + size] = struct.pack("<Q", number)[:size].ljust(size, b"\0")


def _pointer(data: bytearray, at: int, size: int, image: Image, rng: random.Random) -> None:
    target = rng.choice(image.blocks).address + rng.choice((0, 0, 0, 8, 4, -8))
    data[at : at + size] = struct.pack("<Q", target)[:size].ljust(size, b"\0")


def _copy(data: bytearray, at: int, size: int, image: Image, rng: random.Random) -> None:
    other = rng.choice(rng.choice(image.blocks).parts).address - image.base
    data[at : at + size] = data[other : other + size].ljust(size, b"\0")


def _padding(data: bytearray, at: int, size: int, _: Image, rng: random.Random) -> None:
    if size == 1:  # a flag: what follows it means nothing
        data[at + 1 : at + 8] = rng.randbytes(7)


_DAMAGES: tuple[Callable[[bytearray, int, int, Image, random.Random], None], ...] = (
    _bit,
    _byte,
    _anywhere,
    _number,
    _pointer,
    _copy,
    _padding,
)


def test_the_padding_of_flags_means_nothing() -> None:
    rng = random.Random(0)
    flags = 0
    for _ in range(300):
        attr = random_attribute(rng)
        image = write_attribute(attr)
        data = bytearray(image.data)
        for part in [part for block in image.blocks for part in block.parts if part.size == 1]:
            _padding(data, part.address - image.base, 1, image, rng)
            flags += 1
        assert read_attribute(BytesMemory(image.base, bytes(data)), image.base) is attr
    assert flags > 300


def test_only_attributes_are_read_as_such() -> None:
    """Every other address in an image is refused, also by what adapts to other records."""
    rng = random.Random(0)
    refused = 0
    for _ in range(100):
        image = write_attribute(random_attribute(rng))
        stored = {block.address for block in image.blocks if block.parts[0].name == "abstract"}
        for address in range(image.base - 8, image.base + len(image.data) + 8, 4):
            if address in stored:
                assert describe(image, address)
                continue
            refused += 1
            with pytest.raises(StorageError):
                describe(image, address)
    assert refused > 10_000


def test_corrupted_core_dumps(tmp_path: Path) -> None:
    rng = random.Random(int(os.environ["SDYBRIDGE_SEED"]))
    attr = random_attribute(rng)
    image = write_attribute(attr)
    library = tmp_path / "library.so"
    split = len(image.data) // 2
    library.write_bytes(image.data[split:])
    mapped = (image.base + split, len(image.data) - split, 0, str(library))
    core = core_of([(image.base, image.data[:split])], [mapped])
    path = tmp_path / "core"
    outcomes = set()
    for _ in range(500):
        data = bytearray(core)
        for _ in range(rng.choice((0, 1, 1, 2, 8))):
            at = rng.randrange(min(400, len(data)) if rng.random() < 0.8 else len(data))
            data[at] = rng.choice((0, 1, 255, rng.randrange(256)))
        path.write_bytes(data[: rng.randrange(len(data)) if rng.random() < 0.1 else len(data)])
        try:
            with CoreMemory(path) as memory:
                read_attribute(memory, image.base)
            outcomes.add("read")
        except StorageError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}
