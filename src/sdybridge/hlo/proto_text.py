r"""The bytes of a proto from the texts they are passed around in: hexadecimal, base64, escaped.

Such as `08031a0202024a0104520100`, `CAMaAgICSgEEUgEA` and `\08\03\1A\02\02\02J\01\04R\01\00`, MLIR's way.
"""

from __future__ import annotations

import re

from sdybridge.errors import ParseError
from sdybridge.source import Source, Span

_NOT_HEX = re.compile(r"[^0-9A-Fa-f\s]")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=_\s-]")
_BASE64_END = re.compile(r"\s*(?:=\s*){0,2}\Z")
_BAD_ESCAPE = re.compile(r'\\(?!\\|"|[0-9A-Fa-f]{2}|n|t)|[^\x00-\xff]')
_ESCAPE = re.compile(rb'\\(\\|"|[0-9A-Fa-f]{2}|n|t)')
_ESCAPED = {b"\\": b"\\", b'"': b'"', b"n": b"\n", b"t": b"\t"}


def decode_proto_text(text: str, *, name: str = "<string>") -> bytes:
    r"""The bytes that `text` stands for, in whichever form it is.

    A text of hexadecimal digits is taken for that, one with a backslash or in quotes for escaped, and any
    other one for base64. Some base64 looks like hexadecimal: where the form is known, call its own function.

    Args:
        text: The text; white space around it does not count.
        name: What error messages call the text.

    Raises:
        ParseError: It is in none of the forms.

    >>> decode_proto_text(r"\08\04") == decode_proto_text("0804") == decode_proto_text("CAQ=") == b"\x08\x04"
    True
    """
    if "\\" in text or text.strip().startswith('"'):
        return decode_escaped(text, name=name)
    digits = len(text) - sum(map(str.isspace, text))
    if _NOT_HEX.search(text) is None and digits % 2 == 0:
        return decode_hex(text, name=name)
    return decode_base64(text, name=name)


def decode_hex(text: str, *, name: str = "<string>") -> bytes:
    r"""The bytes of hexadecimal digits, in pairs; white space between pairs does not count.

    Raises:
        ParseError: There is another character, or half a pair.

    >>> decode_hex("08 04")
    b'\x08\x04'
    """
    bad = _NOT_HEX.search(text)
    if bad is not None:
        raise _error(f"{bad[0]!r} is no hexadecimal digit", text, name, bad.start())
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise _error(
            "a byte has two hexadecimal digits, and here is half of one", text, name, len(text)
        ) from None


def decode_base64(text: str, *, name: str = "<string>") -> bytes:
    r"""The bytes of base64, in the standard or the URL alphabet; padding may be left out.

    Raises:
        ParseError: There is another character, or the text ends too early.

    >>> decode_base64("CAQ=")
    b'\x08\x04'
    """
    import base64

    bad = _NOT_BASE64.search(text)
    if bad is not None:
        raise _error(f"{bad[0]!r} is no character of base64", text, name, bad.start())
    end = text.find("=")
    if end >= 0 and _BASE64_END.match(text, end) is None:
        raise _error("'=' ends base64, and here it goes on", text, name, end)
    digits = "".join(text.split()).rstrip("=")
    if len(digits) % 4 == 1:
        raise _error("base64 ends in the middle of a byte", text, name, len(text))
    padded = digits + "=" * (-len(digits) % 4)
    return base64.b64decode(padded, altchars=b"-_" if "-" in digits or "_" in digits else None)


def decode_escaped(text: str, *, name: str = "<string>") -> bytes:
    r"""The bytes of a string as MLIR prints it: printable ASCII, and `\` with two digits for any other byte.

    Quotes around it do not count.

    Raises:
        ParseError: There is an unknown escape, or a character that is no byte.

    >>> decode_escaped(r'"\08\04"')
    b'\x08\x04'
    """
    body = text.strip()
    start = text.find(body)
    if len(body) > 1 and body[0] == body[-1] == '"':
        body = body[1:-1]
        start += 1
    bad = _BAD_ESCAPE.search(body)
    if bad is not None:
        message = "an escape is a backslash and two hexadecimal digits" if bad[0] == "\\" else "no byte"
        raise _error(message, text, name, start + bad.start())
    return _ESCAPE.sub(_unescape, body.encode("latin-1"))


def _unescape(escape: re.Match[bytes]) -> bytes:
    known = _ESCAPED.get(escape[1])
    return bytes.fromhex(escape[1].decode()) if known is None else known


def _error(message: str, text: str, name: str, at: int) -> ParseError:
    return ParseError(message, source=Source(text, name), span=Span(at, min(at + 1, len(text))))
