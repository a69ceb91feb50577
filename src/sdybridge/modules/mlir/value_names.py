"""Texts that differ in the names of their values only."""

from __future__ import annotations

import re

from sdybridge.modules.mlir.lexer import STRING, SUFFIX_ID, TRIVIA

_GROUP = rf"(?:{TRIVIA}:{TRIVIA}\d++)?"
_VALUE = re.compile(
    rf"(?P<result>%{SUFFIX_ID})(?={_GROUP}(?:{TRIVIA},{TRIVIA}%{SUFFIX_ID}{_GROUP})*+{TRIVIA}=(?!=))"
    rf"|(?<=[(,\s])(?P<argument>%{SUFFIX_ID})(?=: ?[\w!(])"
    rf"|(?P<use>%{SUFFIX_ID})|{STRING}|//[^\n]*+"
)


def numbered_values(text: str) -> str:
    """`text` with its values named by the order in which they are defined.

    A use is of the definition before it in the text, which is that of its scope: names that are defined
    again are in another function, or in a region beside the first one.

    >>> numbered_values("f(%a: t) { %b = abs %a } g(%a: t) { %a#1 }")
    'f(%0: t) { %1 = abs %0 } g(%2: t) { %2#1 }'
    """
    names: dict[str, str] = {}
    count = 0

    def renamed(hit: re.Match[str]) -> str:
        nonlocal count
        defined = hit["result"] or hit["argument"]
        if defined:
            names[defined] = f"%{count}"
            count += 1
            return names[defined]
        return names.get(hit["use"], hit["use"]) if hit["use"] else hit[0]

    return _VALUE.sub(renamed, text)
