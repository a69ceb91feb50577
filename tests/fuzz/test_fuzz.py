"""Twenty seconds of random inputs, from a fresh seed, and every input that once failed."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.child import MOST_SECONDS, attempt, given
from tests.fuzz.inputs import corpus, random_bytes, random_text
from tests.fuzz.readers import READERS, Kind

ROOT = Path(__file__).resolve().parents[2]
FOUND = sorted((Path(__file__).parent / "found").iterdir())


def test_random_inputs() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--seconds", "20", "--jobs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) inputs, 0 failures", done.stdout)
    assert found is not None
    assert int(found[1]) > 1000


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_inputs_that_once_failed(path: Path) -> None:
    """Files are named `READER-what` and hold the input."""
    data = path.read_bytes()
    text = (
        data.decode("utf-8", "surrogatepass")
        if READERS[path.name.partition("-")[0]].kind != Kind.PROTO
        else ""
    )
    for seed in range(5):  # of the options
        assert attempt(path.name.partition("-")[0], text, data, random.Random(seed)) is None


def test_inputs_depend_on_the_seed_only() -> None:
    first, again, other = given("a", 7), given("a", 7), given("a", 8)
    assert first[:3] == again[:3] != other[:3]
    assert first[3].random() == again[3].random()


@pytest.mark.parametrize("kind", Kind)
def test_many_inputs_are_accepted(kind: Kind) -> None:
    """Inputs that are all rejected at their first character would find little."""
    rng = random.Random(0)
    if kind is not Kind.PROTO:
        assert len(corpus(kind)) > 50
    # The other readers of MLIR programs refuse nothing, or little.
    names = {"export_module", "import_module"} if kind is Kind.PROGRAM else READERS
    readers = [reader for name, reader in READERS.items() if reader.kind is kind and name in names]
    accepted = 0
    for _ in range(300):
        text, data = random_text(kind if kind is not Kind.PROTO else Kind.HLO, rng), random_bytes(rng)
        for reader in readers:
            try:
                reader.call(text, data, rng)
            except ValueError:
                continue
            accepted += 1
            break
    assert accepted > 30


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda *_: 1 // 0, "ZeroDivisionError"),
        (lambda *_: endless(), f"took more than {MOST_SECONDS} s"),
    ],
)
def test_failures_are_noticed(call: object, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    from tests.fuzz.child import hang

    before = signal.signal(signal.SIGPROF, hang)
    try:
        monkeypatch.setitem(READERS, "bad", READERS["parse_attribute"]._replace(call=call))  # type: ignore[arg-type]
        problem = attempt("bad", "", b"", random.Random(0))
    finally:
        signal.signal(signal.SIGPROF, before)
    assert problem is not None
    assert said in problem


def endless() -> None:
    while True:
        pass
