"""Results of 64 bits that a compiler has split in two halves.

XLA's rewriting of such numbers lets a call of `xla.sdy.FuncResultSharding` pass both halves on, with one
sharding for the two, to a call of `X64Combine`, whose result the function returns.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sdybridge.modules.import_.carried_shardings import in_words
from sdybridge.modules.mlir.callees import CUSTOM_CALLS, target_of
from sdybridge.modules.mlir.frontend_attributes import read_attributes
from sdybridge.modules.mlir.lexer import matching_bracket
from sdybridge.modules.mlir.result_shardings import ResultCall
from sdybridge.modules.mlir.result_types import result_types
from sdybridge.sdy import TensorShardingPerValueAttr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdybridge.modules.carriers import Carrier
    from sdybridge.modules.import_.carried_shardings import CarriedShardings, Shardings
    from sdybridge.modules.import_.carrier_edits import CarrierEdits
    from sdybridge.modules.mlir.frontend_attributes import Attributes
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.source import Span

_COMBINE = "X64Combine"
_ELEMENTS = frozenset({"stablehlo.get_tuple_element", "mhlo.get_tuple_element"})


class SplitResults:
    """The calls that carry such a sharding, and what combines the halves that they pass on.

    Source: `handleFuncResultSharding` in xla's `service/spmd/shardy/sdy_round_trip/import_shardy_attrs.cc`.
    """

    def __init__(self, aliases: Mapping[str, Span], shardings: CarriedShardings, edits: CarrierEdits) -> None:
        self._aliases = aliases
        self._shardings = shardings
        self._edits = edits
        self._users: dict[str, list[Operation]] = defaultdict(list)
        self._carried: dict[int, tuple[Carrier, Shardings]] = {}  # by the start of what combines the halves

    def enter(self, function: Operation) -> None:
        """Note who uses halves in a function that comes next."""
        self._users.clear()
        text = function.source.text
        if text.find(_COMBINE, function.start, function.end) < 0:
            return
        for operation in function.walk():
            name = operation.full_name
            if name in _ELEMENTS or (name in CUSTOM_CALLS and target_of(operation) == _COMBINE):
                for value in {operand.partition("#")[0] for operand in operation.operands}:
                    self._users[value].append(operation)

    def call(self, operation: Operation, attributes: Attributes, carrier: Carrier) -> ResultCall | None:
        """A call of `xla.sdy.FuncResultSharding`, if it passes halves on."""
        combined = self._combined_from(operation)
        shardings = self._shardings.read(carrier) if combined else ()
        if combined is None or len(shardings) != 1:
            return None
        self._carried[combined.start] = carrier, shardings
        return ResultCall(operation, attributes, carrier, shardings[0], combined)

    def combined(self, operation: Operation) -> bool:
        """Give an operation the sharding of the halves that it combines, if it is one that does."""
        if operation.start not in self._carried:
            return False
        carrier, shardings = self._carried.pop(operation.start)
        types = result_types(operation, self._aliases) or [None]
        self._shardings.check(shardings, types[:1], carrier, lambda: in_words(operation))
        value = str(TensorShardingPerValueAttr(shardings))
        text = operation.source.text
        if operation.dictionaries:
            self._edits.put(read_attributes(text, operation.dictionaries[-1]), carrier, value)
            return True
        self._shardings.count(carrier, None, value)
        end = matching_bracket(text, text.index("(", operation.name_end))
        if operation.properties:
            end = operation.properties.end + 1
        self._edits.list.append((end, end, f" {{sdy.sharding = {value}}}"))
        return True

    def _combined_from(self, call: Operation) -> Operation | None:
        """What combines the results of a call, or the elements of its tuple."""
        names = [name for name, _ in call.results[:1]]
        for name in names:  # which grows
            for user in self._users.get(name, ()):
                if user.full_name in CUSTOM_CALLS:
                    return user if user.results else None
                names += [result for result, _ in user.results if result not in names]
        return None
