"""How MLIR prints names: strings, symbols, and dictionary keys."""

from __future__ import annotations

import re

from sdybridge.source import utf8

_PLAIN = re.compile(r"[ !#-\[\]-~]*")  # printable ASCII but the quote and the backslash
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_SHOWN = 60


def quote(name: str) -> str:
    r"""A string literal: printable ASCII as it is, a backslash doubled, other UTF-8 bytes in hex.

    >>> print(quote('a "b" é'), quote("\\"))
    "a \22b\22 \C3\A9" "\\"

    Source: `llvm::printEscapedString`.
    """
    if _PLAIN.fullmatch(name):
        return f'"{name}"'
    escaped = "".join(
        chr(byte)
        if 0x20 <= byte < 0x7F and byte not in b'"\\'
        else "\\\\"
        if byte == 0x5C
        else f"\\{byte:02X}"
        for byte in utf8(name)
    )
    return f'"{escaped}"'


def keyword_or_string(name: str) -> str:
    """A dictionary key: bare when it can be, else quoted.

    >>> keyword_or_string("mesh.1"), keyword_or_string("my mesh")
    ('mesh.1', '"my mesh"')
    """
    return name if _BARE.fullmatch(name) else quote(name)


def symbol(name: str) -> str:
    """A symbol reference. The empty name prints as in MLIR, and that text does not parse.

    >>> symbol("mesh"), symbol("my-mesh")
    ('@mesh', '@"my-mesh"')
    """
    return f"@{keyword_or_string(name)}" if name else "@<<INVALID EMPTY SYMBOL>>"


def show(name: str) -> str:
    """A name in an error message: quoted, and cropped when long."""
    return quote(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}...")


def show_int(number: int) -> str:
    """An integer in an error message; huge products are only estimated.

    >>> show_int(12), show_int(2**300)
    ('12', 'about 2**300')
    """
    return str(number) if abs(number) < 10**30 else f"about 2**{number.bit_length() - 1}"
