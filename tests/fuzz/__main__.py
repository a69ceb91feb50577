"""Throws random inputs at every public reader: `python -m tests.fuzz [--seconds N] [--seed S] [--jobs N]`.

Nothing but an answer or an `SdyBridgeError` may come of it, within a second and 500 MB. Failing inputs are
written to `build/fuzz`, with what goes wrong.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
from pathlib import Path

from tests.fuzz.child import given

ROOT = Path(__file__).resolve().parents[2]
FOUND = ROOT / "build" / "fuzz"


def main() -> int:
    """The command; the number of processes that failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print one input of the seed and stop")
    options = parser.parse_args()
    if options.show is not None:
        name, text, data, _ = given(options.seed, options.show)
        print(f"{name}\n{text!r}\n{data!r}")
        return 0
    seeds = [options.seed, *[f"{options.seed}-{job}" for job in range(1, options.jobs)]]
    print(f"seed {options.seed}, {options.seconds:g} s in {options.jobs} processes", flush=True)
    runs = [start(seed, options.seconds) for seed in seeds]
    return sum([finish(run, seed) for seed, run in zip(seeds, runs, strict=True)])


def start(seed: str, seconds: float) -> subprocess.Popen[str]:
    """One process that tries the inputs of a seed."""
    directory = FOUND / seed
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.fuzz.child", seed, str(seconds), str(directory)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )


def finish(run: subprocess.Popen[str], seed: str) -> bool:
    """Wait for a process and show what it found; whether that is a failure."""
    output, _ = run.communicate()
    print(f"seed {seed}: {output.strip()}", flush=True)
    if run.returncode not in range(101):  # it died: the number of the input that it died of is left
        directory = FOUND / seed
        number = int((directory / "current").read_text(encoding="utf-8") or 0)
        name, text, data, _ = given(seed, number)
        file = directory / f"{name}-{seed}-{number}"
        file.write_bytes(data or text.encode("utf-8", "surrogatepass"))
        print(f"exit status {run.returncode} on input {number} for {name}, in {file}", flush=True)
    return run.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
