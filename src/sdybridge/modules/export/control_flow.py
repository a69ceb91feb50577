"""Control flow without a sharding: where XLA writes `{replicated}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdybridge.modules.mlir.dictionary import find_entry
from sdybridge.modules.mlir.lexer import TRIVIA, holds, matching_bracket, next_code, skip_trivia, type_end
from sdybridge.modules.splice import splice
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdybridge.modules.splice import Edit

_REPLICATED = 'mhlo.sharding = "{replicated}"'
_NAMED_REPLICATED = 'mhlo.sharding = "{mesh[], replicated}"'

_OPERATION = re.compile(rf'stablehlo\.(while|case|if)("?){TRIVIA}\(')
_NAMES = ("stablehlo.while", '"stablehlo.case"', '"stablehlo.if"')
_OTHER_REGION = re.compile(  # a region of another operation, as it is printed, up to its end; no comment near
    r'\n[^"\n/]*+"stablehlo\.(?!while|case|if)\w++"[^\n/]*\(\{\n(?:[^\n{}]*+\n)*+ *+$'
)
_NEAR = 4000
_FEW = 4


def add_missing_shardings(text: str, target: Target = Target.CURRENT) -> tuple[str, int]:
    """Give `{replicated}` to the `while`, `case` and `if` operations of StableHLO without a sharding.

    For `Target.NAMED` that is `{mesh[], replicated}`.

    Args:
        text: A program whose other shardings are converted already.
        target: The target that they are converted for.

    Returns:
        The new text, and how many shardings were added.

    Raises:
        ParseError: Brackets of such an operation do not pair up.

    Source: `exportFunc` in xla's `service/spmd/shardy/stablehlo_round_trip/export_shardings.cc`.
    """
    edits: list[Edit] = []
    replicated = _NAMED_REPLICATED if target is Target.NAMED else _REPLICATED
    for generic, end, brace in _dictionaries(text):
        if brace < 0:
            edits.append((end, end, f" {{{replicated}}}" if generic else f" attributes {{{replicated}}}"))
        elif not find_entry(text, brace, "mhlo.sharding"):
            empty = text.startswith("}", skip_trivia(text, brace + 1))
            edits.append((brace + 1, brace + 1, replicated if empty else f"{replicated}, "))
    return (splice(text, edits), len(edits)) if edits else (text, 0)


def control_flow_dictionaries(text: str) -> frozenset[int]:
    """Where the attribute dictionaries of the `while`, `case` and `if` operations of StableHLO open.

    Raises:
        ParseError: Brackets of such an operation do not pair up.
    """
    if not may_have_control_flow(text):
        return frozenset()
    return frozenset(brace for _, _, brace in _dictionaries(text) if brace >= 0)


def _dictionaries(text: str) -> Iterator[tuple[bool, int, int]]:
    """Each control-flow operation: whether generic, where a dictionary may follow, where one opens or -1."""
    for kind, generic, operands in _operations(text):
        after = matching_bracket(text, operands)
        end = _after_regions(text, after) if generic else _after_types(text, after)
        at = skip_trivia(text, end)
        keyword = not generic and text.startswith("attributes", at)
        brace = skip_trivia(text, at + len("attributes")) if keyword else at
        is_absent = not text.startswith("{", brace) or (kind == "while" and not generic and not keyword)
        yield generic, end, -1 if is_absent else brace


def _operations(text: str) -> Iterator[tuple[str, bool, int]]:
    """Each control-flow operation outside strings and comments: kind, generic form or not, its `(`."""
    code = 0  # an offset outside strings and comments
    for hit in _OPERATION.finditer(text):
        generic = bool(hit[2])
        at = hit.start() - 1 if generic else hit.start()
        if at < code or text.startswith('"', at) != generic:
            continue
        code = next_code(text, code, at)
        if code == at:
            yield hit[1], generic, hit.end() - 1


def may_have_control_flow(text: str) -> bool:
    """Whether a search for these operations can find any; most large programs have none.

    Each of them holds a region that ends in `stablehlo.return`. Where there are few of those, looking at
    what they belong to is faster than looking for the operations.
    """
    at = len(text)
    for _ in range(_FEW):
        at = text.rfind("stablehlo.return", 0, at)
        if at < 0:
            return False
        if not _OTHER_REGION.search(text, max(0, at - _NEAR), at):
            break
    return any(holds(text, name) for name in _NAMES)


def _after_regions(text: str, at: int) -> int:
    """Where the properties and regions of a generic operation end."""
    for bracket in "<(":
        after = skip_trivia(text, at)
        if text.startswith(bracket, after):
            at = matching_bracket(text, after)
    return at


def _after_types(text: str, at: int) -> int:
    """Where the types of the operands of a pretty `while` end."""
    after = skip_trivia(text, at)
    separator = ":"
    while text.startswith(separator, after):
        at = type_end(text, skip_trivia(text, after + 1))
        after = skip_trivia(text, at)
        separator = ","
    return at
