"""The edits of an import of carriers: what takes the place of dictionaries and of calls."""

from __future__ import annotations

import bisect
from collections import Counter
from typing import TYPE_CHECKING

from sdybridge.errors import ParseError, VerificationError
from sdybridge.modules.carriers import HAS_UNREDUCED_AXES, SHARDING, SHARDING_RULE
from sdybridge.modules.import_.carried_shardings import CarriedShardings, kind_error
from sdybridge.modules.mlir.callees import target_of
from sdybridge.modules.mlir.carrier_calls import rewritten
from sdybridge.modules.mlir.frontend_attributes import Attributes, changed, read_attributes, replaced
from sdybridge.modules.mlir.lexer import matching_bracket
from sdybridge.source import Span

if TYPE_CHECKING:
    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.splice import Edit
    from sdybridge.source import Source

_HLO = "mhlo.sharding"
_OURS = (SHARDING, SHARDING_RULE, HAS_UNREDUCED_AXES)


class CarrierEdits:
    """The edits of one import so far.

    Attributes:
        list: The edits.
        operations: How many calls became operations, or went, by their names.
        dropped: How many HLO shardings without a carrier were removed.
    """

    def __init__(self, source: Source, shardings: CarriedShardings) -> None:
        self.list: list[Edit] = []
        self.operations: Counter[str] = Counter()
        self.dropped = 0
        self._source = source
        self._text = source.text
        self._shardings = shardings
        self._orphans: list[Edit] = []  # of the HLO shardings without a carrier in this module

    def close_module(self, *, drop: bool) -> None:
        """Drop or leave the HLO shardings of a module that have no carrier."""
        if drop:
            gone = sorted((start, end) for start, end, new in self.list if not new)
            orphans = [edit for edit in self._orphans if not _is_inside(edit, gone)]
            self.list += orphans
            self.dropped += len(orphans)
        self._orphans = []

    def put(
        self, attributes: Attributes, carrier: Carrier | None, value: str | None, *, is_listed: bool = False
    ) -> None:
        """Let an `sdy.sharding` of that value, and a rule, take the place of their carriers."""
        text = self._text
        changes: dict[str, str | None] = {_HLO: None}
        if value is not None and carrier:
            changes["sdy.sharding"] = value
            self._expect_no_sharding(attributes, carrier)
            self._shardings.count(carrier, self.hlo(attributes), value)
        rule = attributes.carrier(self._source, SHARDING_RULE)
        if rule:
            if not rule.text.startswith("#sdy.op_sharding_rule<") or not _is_closed(rule.text):
                raise kind_error(rule, "expected `#sdy.op_sharding_rule<...>`")
            changes["sdy.sharding_rule"] = rule.text
        changes.update(_without_hlo(text, attributes, "mhlo.attributes"))
        gone = {key: None for key in _OURS if key in attributes.frontend}
        self.list.append(
            replaced(text, attributes.span, changed(text, attributes, changes, gone), is_listed=is_listed)
        )

    def _expect_no_sharding(self, attributes: Attributes, carrier: Carrier) -> None:
        if "sdy.sharding" in attributes.entries:
            raise carrier.located(
                VerificationError(
                    "there is a Shardy sharding beside the one in the carrier",
                    rule="sharding-twice",
                    span=Span(0, len(carrier.text)),
                    help="keep one of them",
                )
            )

    def orphan(self, attributes: Attributes, *, is_listed: bool = False) -> None:
        """Note an HLO sharding without a carrier."""
        if _HLO in attributes.entries:
            new = changed(self._text, attributes, {_HLO: None}, {})
            self._orphans.append(replaced(self._text, attributes.span, new, is_listed=is_listed))

    def rewrite(self, operation: Operation, attributes: Attributes, name: str, details: str) -> None:
        """Let the operation `name` take the place of a call on one value."""
        self.operations[f"stablehlo.custom_call @{target_of(operation)}"] += 1
        self.list.append(rewritten(operation, attributes, name, details))

    def hlo(self, attributes: Attributes | None) -> str | None:
        """The HLO sharding in the dictionary, as it is written."""
        entry = attributes.entries.get(_HLO) if attributes else None
        return self._text[entry.value.start : entry.value.end] if entry and entry.value else None


def _without_hlo(text: str, attributes: Attributes, key: str) -> dict[str, str | None]:
    """The change that takes the HLO sharding out of a dictionary under `key`, where export moves some."""
    entry = attributes.entries.get(key)
    if entry is None or entry.value is None or not text.startswith("{", entry.value.start):
        return {}
    inner = read_attributes(text, entry.value)
    return {key: changed(text, inner, {_HLO: None}, {}) or None} if _HLO in inner.entries else {}


def _is_inside(edit: Edit, gone: list[tuple[int, int]]) -> bool:
    """Whether what the edit is about is removed anyway."""
    at = bisect.bisect_right(gone, (edit[0], edit[1] + 1)) - 1
    return at >= 0 and edit[1] <= gone[at][1]


def _is_closed(rule: str) -> bool:
    """Whether the text of the rule is one attribute, which may be written into the program."""
    try:
        return matching_bracket(rule, rule.index("<")) == len(rule)
    except ParseError:
        return False
