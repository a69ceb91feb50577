"""The process that tries inputs, under limits: `python -m tests.fuzz.child SEED SECONDS DIRECTORY`."""

from __future__ import annotations

import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.inputs import random_bytes, random_text
from tests.fuzz.readers import READERS, Kind

from sdybridge.errors import SdyBridgeError

if TYPE_CHECKING:
    from types import FrameType

MOST_SECONDS = 1.0  # of CPU time, so that a busy machine makes no difference
MOST_BYTES = 500 << 20
_MOST_FAILURES = 10


class Hang(BaseException):
    """A reader takes too long; nothing that it catches itself."""


def given(seed: str, number: int) -> tuple[str, str, bytes, random.Random]:
    """The input of that number: the reader's name, text and bytes, and what decides on options."""
    rng = random.Random(f"{seed}/{number}")
    name = rng.choice(list(READERS))
    kind = READERS[name].kind
    if kind is Kind.PROTO:
        data = random_bytes(rng)
        text = rng.choice((data.hex(), "".join(f"\\{byte:02X}" for byte in data), random_text(Kind.HLO, rng)))
        return name, text, data, rng
    return name, random_text(kind, rng), b"", rng


def attempt(name: str, text: str, data: bytes, rng: random.Random) -> str | None:
    """What is wrong with how the reader takes the input; None if nothing is."""
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        READERS[name].call(text, data, rng)
    except SdyBridgeError as error:
        try:
            str(error)
        except Exception:  # noqa: BLE001  (an error that cannot be shown is a defect)
            return traceback.format_exc()
    except Hang:
        return f"took more than {MOST_SECONDS} s\n{traceback.format_exc()}"
    except BaseException:  # noqa: BLE001  (any other is what is looked for)
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def hang(_signal: int, _frame: FrameType | None) -> None:
    raise Hang


def limit() -> None:
    """Limit this process; what it has by now does not count."""
    signal.signal(signal.SIGPROF, hang)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, size + MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(seed: str, seconds: float, directory: Path) -> int:
    """Try inputs for some seconds; the number of failures."""
    failures = number = 0
    warm_up()
    limit()
    deadline = time.monotonic() + seconds
    with (directory / "current").open("w", encoding="utf-8") as current:
        while time.monotonic() < deadline and failures < _MOST_FAILURES:
            current.seek(0)
            current.write(f"{number:<12}")
            current.flush()
            name, text, data, rng = given(seed, number)
            problem = attempt(name, text, data, rng)
            if problem is not None:
                failures += 1
                report(seed, number, name, text, data, problem, directory)
            number += 1
    print(f"{number} inputs, {failures} failures", flush=True)
    return failures


def warm_up() -> None:
    """Load everything that is loaded on first use, so that no input is charged for it."""
    for name, text in (
        ("HloSharding.from_string", "{devices=[2,2]0,2,1,3}"),
        ("import_module", 'func.func @f(%a: tensor<4xf32> {mhlo.sharding = "{devices=[4]0,2,1,3}"}) {\n}'),
        ("verify_module", "module {}"),
    ):
        READERS[name].call(text, b"", random.Random(0))
    READERS["HloSharding.from_proto"].call("", b"\x08\x04", random.Random(0))
    for kind in Kind:
        random_text(kind, random.Random(0))
    random_bytes(random.Random(0))


def report(seed: str, number: int, name: str, text: str, data: bytes, problem: str, directory: Path) -> None:
    """Write a failing input to a file, and say what went wrong."""
    file = directory / f"{name}-{seed}-{number}"
    file.write_bytes(data or text.encode("utf-8", "surrogatepass"))
    print(f"\ninput {number} of seed {seed} for {name}, in {file}:\n{problem}", flush=True)


if __name__ == "__main__":
    sys.exit(min(100, run(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))))
