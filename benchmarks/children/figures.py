"""What a child measures with: a stopwatch, its own peak memory, and a line of JSON at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter, process_time

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


class Figures:
    """The figures of one process; made when its imports are done and its input is read."""

    def __init__(self) -> None:
        self._figures: dict[str, float] = {}
        self._before = _start_peak()
        self._start = self._last = _now()

    def lap(self, name: str) -> None:
        """Records the seconds since the last lap: CPU time, and the wall clock's as `NAME_wall`."""
        now = _now()
        self._record(name, self._last, now)
        self._last = now

    def stop(self) -> None:
        """Records the total of all laps, and how many bytes the process has grown by at its largest."""
        self._record("total", self._start, self._last)
        self._figures["peak"] = _peak() - self._before

    def print(self, **more: float) -> None:
        """Writes the line that the parent reads."""
        import json

        print(json.dumps(self._figures | more))

    def _record(self, name: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        self._figures[name], self._figures[f"{name}_wall"] = (b - a for a, b in zip(start, end, strict=True))


def _now() -> tuple[float, float]:
    """CPU time of all threads, and the wall clock."""
    return process_time(), perf_counter()


def _start_peak() -> int:
    """The bytes in use now, from which the peak starts anew where the system can do that."""
    if not _STATUS.exists():
        return _peak()
    try:
        _RESET.write_text("5", encoding="ascii")
    except OSError:
        return _peak()
    return _status("VmRSS:")


def _peak() -> int:
    # Linux keeps in `ru_maxrss` what the process was before `exec`, so it is only the second choice.
    if _STATUS.exists():
        return _status("VmHWM:")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _status(key: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024
