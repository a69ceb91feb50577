"""Every line of the case files, `input => result`, and every block of those in `errors/`: the whole error.

A text that is not one printable line stands there as a JSON string.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.golden.blocks import check

from sdybridge.errors import ParseError, ProtoError
from sdybridge.hlo import HloSharding, op_sharding_pb2, parse_prefix
from sdybridge.target import Target

HERE = Path(__file__).parent
UNREADABLE = {"{mesh['a'b'=2], [{'a'b'}]}", "{mesh['a\\b'=2], [{'a\\b'}]}"}
"""What XLA prints and no reader can read: names stand between quotes as they are."""


def cases(name: str) -> list[tuple[str, str]]:
    lines = (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition(" => ") for line in lines if not line.startswith("#")]
    return [(plain(given), "" if result == "(no bytes)" else result) for given, _, result in pairs]


def plain(given: str) -> str:
    return str(json.loads(given)) if given.startswith('"') else given


@pytest.mark.parametrize(("given", "result"), [*cases("text"), *cases("named_text")])
def test_text(given: str, result: str) -> None:
    sharding = HloSharding.from_string(given)
    assert str(sharding) == result
    if result not in UNREADABLE:
        assert str(HloSharding.from_string(result)) == result


@pytest.mark.parametrize(("given", "result"), [*cases("text"), *cases("named_text")])
def test_text_within_a_larger_one(given: str, result: str) -> None:
    sharding, end = parse_prefix(f"add(a), sharding={given}, metadata={{}}", len("add(a), sharding="))
    assert str(sharding) == result
    assert end == len("add(a), sharding=") + given.rindex("}") + 1


@pytest.mark.parametrize(("given", "result"), cases("metadata"))
def test_metadata(given: str, result: str) -> None:
    assert HloSharding.from_string(given).to_string() == result


@pytest.mark.parametrize(("given", "result"), cases("classic_text"))
def test_classic_text(given: str, result: str) -> None:
    assert str(HloSharding.from_string(given, target=Target.CLASSIC)) == result


@pytest.mark.parametrize(("given", "result"), [*cases("text_to_proto"), *cases("named_text_to_proto")])
def test_text_to_proto(given: str, result: str) -> None:
    assert HloSharding.from_string(given).to_proto_bytes().hex() == result


@pytest.mark.parametrize(("given", "result"), cases("classic_text_to_proto"))
def test_classic_text_to_proto(given: str, result: str) -> None:
    sharding = HloSharding.from_string(given, target=Target.CLASSIC)
    assert sharding.to_proto_bytes(target=Target.CLASSIC).hex() == result


@pytest.mark.parametrize(("given", "result"), cases("proto"))
def test_proto(given: str, result: str) -> None:
    assert str(HloSharding.from_proto(bytes.fromhex(given))) == result


@pytest.mark.parametrize(("given", "result"), cases("classic_proto"))
def test_classic_proto(given: str, result: str) -> None:
    assert str(HloSharding.from_proto(bytes.fromhex(given), target=Target.CLASSIC)) == result


@pytest.mark.parametrize(("given", "result"), cases("named_text_to_proto"))
def test_named_proto_to_proto(given: str, result: str) -> None:
    sharding = HloSharding.from_proto(bytes.fromhex(result))
    assert sharding.to_proto_bytes().hex() == result
    assert sharding == HloSharding.from_string(given)


@pytest.mark.parametrize(("given", "result"), cases("named_grid"))
def test_grid_of_named(given: str, result: str) -> None:
    sharding, grid = HloSharding.from_string(given), HloSharding.from_string(result)
    assert str(sharding.v3_to_v2_sharding()) == result
    assert sharding == grid
    assert hash(sharding) == hash(grid)


@pytest.mark.parametrize(("given", "result"), [*cases("proto_to_proto"), *cases("named_proto")])
def test_proto_to_proto(given: str, result: str) -> None:
    assert HloSharding.from_proto(bytes.fromhex(given)).to_proto_bytes().hex() == result


@pytest.mark.parametrize(("given", "result"), cases("classic_proto_to_proto"))
def test_classic_proto_to_proto(given: str, result: str) -> None:
    sharding = HloSharding.from_proto(bytes.fromhex(given), target=Target.CLASSIC)
    assert sharding.to_proto_bytes(target=Target.CLASSIC).hex() == result


@pytest.mark.parametrize(("given", "result"), cases("message"))
def test_message(given: str, result: str) -> None:
    assert op_sharding_pb2.OpSharding.FromString(bytes.fromhex(given)).SerializeToString().hex() == result


def error(given: str, kind: str) -> str:
    target = Target.CLASSIC if kind.startswith("classic") else Target.CURRENT
    if kind.endswith("_text"):
        with pytest.raises(ParseError) as parse_error:
            HloSharding.from_string(plain(given), target=target)
        return str(parse_error.value)
    with pytest.raises(ProtoError) as proto_error:
        HloSharding.from_proto(bytes.fromhex(given), target=target)
    return str(proto_error.value)


@pytest.mark.parametrize("path", sorted(HERE.glob("errors/*.txt")), ids=lambda path: path.stem)
def test_error(path: Path) -> None:
    check(path, lambda given: error(given, path.stem))
