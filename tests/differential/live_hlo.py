"""XLA's sharding objects in the memory of a process: jaxlib's own, with their addresses.

As a program it makes one of each text and each proto (in hexadecimal) that standard input lists, prints their
addresses, and keeps them alive until the input ends.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from jaxlib import xla_client


def address_of(value: Any) -> int:
    """Where the C++ object of a Python object of nanobind is: the head of that says how far away."""
    return id(value) + ctypes.c_int32.from_address(id(value) + 16).value


def main() -> None:
    """Makes them."""
    kept = []
    for line in iter(sys.stdin.readline, "\n"):
        text = line.rstrip("\n")
        if text.startswith("{"):
            value = xla_client.HloSharding.from_string(text)
        else:
            value = xla_client.OpSharding()
            value.ParseFromString(bytes.fromhex(text))
        kept.append(value)
        print(address_of(value), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
