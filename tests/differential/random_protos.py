"""Seeded random `OpSharding` messages on the wire: sound ones, wrong ones, and ones with unknown fields."""

from __future__ import annotations

import random

from tests.differential.random_texts import factors

_DEVICES = (1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 24, 60)
_TYPES = (0, 0, 4, 4, 6, 6, 1, 2, 3, 5)
_METADATA: tuple[tuple[int, int | str | bytes | list[int]], ...] = (
    (1, "a"), (2, "b"), (2, ""), (3, "é"), (4, 7), (4, 0), (4, -1), (5, [1, 3]), (8, 5), (9, 6), (10, [8, 1]),
    (12, "d"), (13, 1), (15, 4), (16, "s"), (17, 9), (18, 1), (19, 2), (20, b"\x0a\x01p"), (20, b""),
    (20, b"\x0a\x00"), (20, b"\x12\x01p"), (99, 1), (101, "z"), (1, "sdy::reduction_op"),
)  # fmt: skip


def random_protos(seed: int, count: int) -> list[bytes]:
    """`count` messages; the same ones for the same seed, in any process."""
    rng = random.Random(seed)
    return [message(rng) for _ in range(count)]


def message(rng: random.Random, depth: int = 0) -> bytes:
    fields = body(rng, depth)
    if rng.random() < 0.2:
        fields += [field(7, metadata(rng)) for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.2:
        fields += group(rng)
    if rng.random() < 0.15:
        extra = [
            field(15, 1),
            field(99, b"x"),
            field(2, field(2, 11)),
            field(6, 0),
            field(10, [0]),
            field(8, [4]),
        ]
        fields.append(rng.choice(extra))
    if rng.random() < 0.1 and fields:
        del fields[rng.randrange(len(fields))]
    if rng.random() < 0.2:
        rng.shuffle(fields)
    return b"".join(fields)


def body(rng: random.Random, depth: int) -> list[bytes]:
    kind = rng.random()
    if kind < 0.1 and depth < 3:
        return [field(1, 2), *[field(5, message(rng, depth + 1)) for _ in range(rng.randint(0, 3))]]
    if kind < 0.2:
        return [field(1, rng.choice((0, 4, 5, 6, 7, 100, -1)))]
    if kind < 0.27:
        return [field(1, 1), field(4, [rng.choice((0, 3, -1, 300))] * rng.choice((0, 1, 1, 1, 2)))]
    return tiled(rng)


def tiled(rng: random.Random) -> list[bytes]:
    total = rng.choice(_DEVICES)
    dims = factors(rng, total)
    fields = [field(1, 3)]
    if rng.random() < 0.35:
        ids = list(range(total))
        rng.shuffle(ids)
        fields.append(repeated(rng, 4, damaged(rng, ids)))
    else:
        sizes = factors(rng, total)
        perm = rng.sample(range(len(sizes)), len(sizes))
        if rng.random() < 0.02:  # of a permutation with other numbers XLA may read anything
            perm[0] = perm[-1]
        fields += [repeated(rng, 9, damaged(rng, sizes)), repeated(rng, 10, perm)]
    fields.append(repeated(rng, 3, damaged(rng, dims)))
    if rng.random() < 0.4:
        fields.append(repeated(rng, 8, rng.choices(_TYPES, k=rng.randint(1, min(3, len(dims))))))
    if rng.random() < 0.3:
        fields.append(field(6, rng.choice((0, 1, 1, 2))))
    return fields


def damaged(rng: random.Random, numbers: list[int]) -> list[int]:
    """Mostly the same numbers."""
    if rng.random() < 0.95:
        return numbers
    at = rng.randrange(len(numbers))
    return [
        *numbers[:at],
        *rng.choice(([], [0], [-1], [numbers[at] + 1], [1, 1], [2**32, 2**32])),
        *numbers[at + 1 :],
    ]


def group(rng: random.Random) -> list[bytes]:
    fields = [field(11, 1), field(12, rng.choice((0, 1, 7, -1))), field(13, rng.choice((0, 1, 2)))]
    return rng.sample(fields, rng.choice((1, 2, 3, 3, 3)))


def metadata(rng: random.Random) -> bytes:
    return b"".join([field(number, value) for number, value in rng.sample(_METADATA, rng.randint(0, 4))])


def field(number: int, value: int | str | bytes | list[int]) -> bytes:
    """One field on the wire; a list is packed."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, list):
        value = b"".join(map(varint, value))
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def repeated(rng: random.Random, number: int, values: list[int]) -> bytes:
    """A repeated field of numbers, packed or not."""
    if rng.random() < 0.8:
        return field(number, values)
    return b"".join([field(number, value) for value in values])


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    low.append(value)
    return bytes(low)
