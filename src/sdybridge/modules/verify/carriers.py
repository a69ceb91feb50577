"""The rules of `sdy.sharding`: on arguments and results of functions, and on any operation.

Source: shardy/dialect/sdy/ir/dialect.cc, `SdyDialect::verifyOperationAttribute` and its siblings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError
from sdybridge.modules.mlir.result_types import expand_type, result_types
from sdybridge.modules.verify.checker import filled_part
from sdybridge.modules.verify.context import Placed, Where
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr

if TYPE_CHECKING:
    from sdybridge.modules.mlir.dictionary import Entry
    from sdybridge.modules.mlir.operations import Argument, Operation
    from sdybridge.modules.verify.checker import Checker
    from sdybridge.modules.verify.context import Context
    from sdybridge.sdy import Attribute
    from sdybridge.source import Span

KEY = "sdy.sharding"
"""The attribute name that the rules are about; they look at no other."""


def verify_operation(checker: Checker, operation: Operation, context: Context) -> None:
    """The rules of the operation's own shardings."""
    text = checker.text
    for span in operation.dictionaries:
        if text.find(KEY, span.start, span.end) < 0:
            continue
        # equal operations of a program carry equal texts by the thousand
        signature = operation.signature
        known = (
            operation.name,
            sum(count for _, count in operation.results),
            text[span.start : span.end],
            text[signature.start : signature.end] if signature else "",
            context.module,
            tuple(context.manual_axes),
        )
        if known not in checker.valid_carriers:
            before = len(checker.errors)
            checker.attempt(_verify_dictionary, checker, operation, span, context)
            checker.read_all(span)
            if len(checker.errors) > before:
                continue
            checker.valid_carriers.add(known)
        checker.read_spans.append(span)


def _verify_dictionary(checker: Checker, operation: Operation, dictionary: Span, context: Context) -> None:
    entry = operation.entry_of(dictionary, KEY)
    if entry is None:
        return
    where = checker.at(operation)
    start = _value_of_kind(checker, entry, TensorShardingPerValueAttr, where)
    attr, _ = checker.read(start, TensorShardingPerValueAttr)
    types = result_types(operation, checker.tree.aliases)
    if types is None:
        types = [None] * len(attr.shardings)
    if not types and len(attr.shardings) == 1:
        placed = Placed(attr.shardings[0], start, type(attr), ("shardings", 0), where)
        _verify_without_results(checker, placed, context)
        return
    checker.verify_per_value(attr, start, types, context, where, "result")


def _verify_without_results(checker: Checker, placed: Placed, context: Context) -> None:
    """The rules of the one sharding that an operation without results may have."""
    sharding = placed.sharding
    if sharding.is_fully_replicated:
        checker.mesh_of(placed, context)
    elif not _is_on_maximal(sharding, context):
        raise checker.error(
            "sharding-count",
            "1 sharding for no results",
            checker.place_of(placed.start, placed.cls, placed.path),
            notes=["only a maximal or fully replicated one may stand there", f"in {placed.where}"],
        )
    if found := filled_part(sharding):
        part, what = found
        raise checker.error_at(
            placed,
            "no-results-rank",
            f"an operation without results has no {what} in its sharding",
            (part,),
            help="write `[]` and no axis lists",
        )


def _is_on_maximal(sharding: TensorShardingAttr, context: Context) -> bool:
    ref = sharding.mesh_or_ref
    mesh = ref if isinstance(ref, MeshAttr) else context.module.meshes.get(ref)
    return mesh is not None and mesh.is_maximal


def verify_arguments(checker: Checker, operation: Operation, context: Context) -> None:
    """The rules of the shardings of a function's arguments."""
    for value in operation.arguments:
        _attempt_value(checker, operation, value, f"argument {value.number}", context)


def verify_results(checker: Checker, operation: Operation, context: Context) -> None:
    """The rules of the shardings of a function's results."""
    for value in operation.function_results:
        _attempt_value(checker, operation, value, f"result {value.number}", context)


def _attempt_value(
    checker: Checker, operation: Operation, value: Argument, name: str, context: Context
) -> None:
    entry = operation.entry_of(value.dictionary, KEY)
    if entry:
        where = Where(checker, operation, name)
        checker.attempt(_verify_value, checker, value, entry, where, context)


def _verify_value(checker: Checker, value: Argument, entry: Entry, where: Where, context: Context) -> None:
    start = _value_of_kind(checker, entry, TensorShardingAttr, where)
    sharding, _ = checker.read(start, TensorShardingAttr)
    text = checker.text[value.type.start : value.type.end]
    type_text = expand_type(text, checker.text, checker.tree.aliases)
    checker.verify(Placed(sharding, start, TensorShardingAttr, (), where), type_text, context)


def _value_of_kind(checker: Checker, entry: Entry, cls: type[Attribute], where: Where) -> int:
    """Where the value of a sharding entry starts, if it is of the right kind.

    Raises:
        VerificationError: `sharding-kind`.
    """
    value = entry.value
    found = checker.kind_of(checker.text[value.start : value.end]) if value else None
    if value and found in (cls.mnemonic, "#"):
        return value.start
    is_list = cls is TensorShardingPerValueAttr
    wanted = "#sdy.sharding_per_value<[<..>]>" if is_list else "#sdy.sharding<..>"
    help_ = None
    if value and found in ("sharding", "sharding_per_value"):
        help_ = _other_kind(checker, value.start, cls)
    raise checker.error(
        "sharding-kind",
        f"expected {wanted}: {'an operation has a list' if is_list else 'a single value has no list'}",
        value or entry.span,
        notes=[f"in {where}"],
        help=help_,
    )


def _other_kind(checker: Checker, start: int, cls: type[Attribute]) -> str | None:
    """The same sharding as a list of one, or a list of one as a plain sharding."""
    try:
        if cls is TensorShardingPerValueAttr:
            sharding, _ = checker.read(start, TensorShardingAttr)
            text = str(TensorShardingPerValueAttr([sharding]))
        else:
            listed, _ = checker.read(start, TensorShardingPerValueAttr)
            text = str(listed.shardings[0]) if len(listed.shardings) == 1 else ""
    except SdyBridgeError:
        return None
    return f"write `{text}`" if 0 < len(text) < 100 else None
