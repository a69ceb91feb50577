"""The parameters of sdy operations, in the pretty and the generic form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sdybridge.modules.mlir.lexer import (
    BARE_ID,
    STRING,
    SUFFIX_ID,
    describe,
    matching_bracket,
    parse_error,
    skip_trivia,
    unescape,
)
from sdybridge.sdy import (
    AllToAllParamListAttr,
    Attribute,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdybridge.target import Target

if TYPE_CHECKING:
    from sdybridge.errors import ParseError
    from sdybridge.modules.mlir.operations import Operation
    from sdybridge.modules.verify.checker import Checker
    from sdybridge.source import Span

_OPERAND = re.compile(rf"%{SUFFIX_ID}(?:#[0-9]++)?+")
_WORD = re.compile(rf"({BARE_ID})|({STRING})")
_INTEGER = re.compile(r"-?\s*+(?:0x[0-9A-Fa-f]++|[0-9]++)|true\b|false\b")
_REDUCTION = re.compile(r"(?:sum|max|min)\b")
_DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an sdy operation.

    Attributes:
        value: The attribute; a plain string or integer for directions and groups.
        start: Where it starts.
        end: The offset past it.
    """

    value: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Field:
    """How a pretty form spells a parameter: after `key=` if it has a `keyword`, or just so."""

    key: str
    cls: type[Attribute] | str
    keyword: str = ""
    is_optional: bool = False
    is_stripped: bool = False


_OPERAND_FIELD = _Field("", "operand")
_OUT = _Field("out_sharding", TensorShardingAttr, "out_sharding", is_stripped=True)
_IN_LIST = _Field("in_shardings", TensorShardingPerValueAttr, "in_shardings")
_OUT_LIST = _Field("out_shardings", TensorShardingPerValueAttr, "out_shardings")


def _per_dimension(key: str) -> tuple[_Field, ...]:
    return _Field(key, ListOfAxisRefListsAttr), _OPERAND_FIELD, _OUT


_SYNTAX: dict[str, tuple[_Field, ...]] = {
    "sdy.sharding_constraint": (
        _OPERAND_FIELD,
        _Field("sharding", TensorShardingAttr, is_stripped=True),
    ),
    "sdy.reshard": (_OPERAND_FIELD, _Field("sharding", TensorShardingAttr, is_stripped=True)),
    "sdy.data_flow_edge": (
        _OPERAND_FIELD,
        _Field("sharding", TensorShardingAttr, "sharding", is_optional=True),
    ),
    "sdy.func_data_flow_edge": (_OPERAND_FIELD,),
    "sdy.sharding_group": (_OPERAND_FIELD, _Field("group_id", "integer", "group_id")),
    "sdy.propagation_barrier": (
        _OPERAND_FIELD,
        _Field("allowed_direction", "direction", "allowed_direction"),
    ),
    "sdy.all_gather": _per_dimension("gathering_axes"),
    "sdy.all_slice": _per_dimension("slicing_axes"),
    "sdy.reduce_scatter": _per_dimension("reduce_scatter_axes"),
    "sdy.sharded_to_unreduced": _per_dimension("axes"),
    "sdy.all_to_all": (_Field("params", AllToAllParamListAttr), _OPERAND_FIELD, _OUT),
    "sdy.collective_permute": (_OPERAND_FIELD, _OUT),
    "sdy.all_reduce": (_Field("reduction_axes", AxisRefListAttr), _OPERAND_FIELD, _OUT),
    "sdy.replicated_to_unreduced": (_Field("axes", AxisRefListAttr), _OPERAND_FIELD, _OUT),
    "sdy.manual_computation": (
        _Field("", "operands"),
        _IN_LIST,
        _OUT_LIST,
        _Field("manual_axes", ManualAxesAttr, "manual_axes"),
    ),
    "sdy.named_computation": (
        _Field("", "operands"),
        _Field("in_shardings", TensorShardingPerValueAttr, "in_shardings", is_optional=True),
        _Field("out_shardings", TensorShardingPerValueAttr, "out_shardings", is_optional=True),
    ),
}
_REDUCING = frozenset(("sdy.all_reduce", "sdy.reduce_scatter"))


def has_parameters(operation: Operation) -> bool:
    """Whether `read_parameters` knows the operation."""
    return operation.name in _SYNTAX


def read_parameters(checker: Checker, operation: Operation) -> dict[str, Parameter]:
    """The parameters of an sdy operation, by the names that the generic form has for them.

    Raises:
        ParseError: The text of a parameter is malformed, or one is missing.
        VerificationError: A parameter holds an invalid mesh.
    """
    if operation.is_generic:
        return _generic(checker, operation)
    text = checker.text
    parameters: dict[str, Parameter] = {}
    pos = operation.name_end
    if operation.name == "sdy.named_computation":
        pos = _computation_name_end(text, pos)
    if operation.name in _REDUCING:
        pos = _after_reduction(checker, pos)
    for field in _SYNTAX[operation.name]:
        pos = skip_trivia(text, pos)
        if field.cls == "operand":
            pos = _operand_end(text, pos)
        elif field.cls == "operands":
            pos = matching_bracket(text, pos)
        else:
            start = _value_start(text, pos, field)
            if start >= 0:
                if field.is_stripped and text.startswith("#", start):
                    raise _stripped_only(checker, field, start)
                parameters[field.key] = found = _value(checker, field, start)
                pos = found.end
    _expect_end(text, pos, operation)
    return parameters


def _generic(checker: Checker, operation: Operation) -> dict[str, Parameter]:
    parameters = {}
    for field in _SYNTAX[operation.name]:
        entry = operation.attribute(field.key) if field.key else None
        if entry and entry.value:
            _verify_kind(checker, field, entry.value)
            parameters[field.key] = found = _value(checker, field, entry.value.start)
            after = skip_trivia(checker.text, found.end)
            if after < entry.value.end and checker.text[after] != ":":
                raise parse_error(
                    checker.text, after, f"unexpected {describe(checker.text, after)} after the value"
                )
        elif field.key and not field.is_optional:
            message = f'"{operation.name}" has no property {field.key}'
            raise parse_error(checker.text, operation.name_start, message, end=operation.name_end)
    return parameters


def _verify_kind(checker: Checker, field: _Field, value: Span) -> None:
    """Raises unless the property spells an attribute of the right kind."""
    if isinstance(field.cls, str):
        return
    kind = checker.kind_of(checker.text[value.start : value.end])
    if kind not in (field.cls.mnemonic, "#"):
        wanted = f"#sdy.{field.cls.mnemonic}<..>" if field.cls.is_dotted else f"#sdy<{field.cls.mnemonic}..>"
        found = describe(checker.text, value.start)
        message = f"expected {wanted} as {field.key}, found {found}"
        raise parse_error(checker.text, value.start, message, end=value.end)


def _computation_name_end(text: str, pos: int) -> int:
    pos = skip_trivia(text, pos)
    if not text.startswith("<", pos):
        raise parse_error(text, pos, f"expected '<' and the computation's name, found {describe(text, pos)}")
    return matching_bracket(text, pos)


def _after_reduction(checker: Checker, pos: int) -> int:
    pos = skip_trivia(checker.text, pos)
    found = _REDUCTION.match(checker.text, pos)
    if not found:
        return pos
    if checker.target is not Target.NEWER:
        raise parse_error(
            checker.text,
            pos,
            f"expected the axes, found {describe(checker.text, pos)}",
            end=found.end(),
            notes=("reduction operators are accepted with target=Target.NEWER",),
            help="drop the word: it is the default" if found.group() == "sum" else None,
        )
    return found.end()


def _operand_end(text: str, pos: int) -> int:
    found = _OPERAND.match(text, pos)
    if not found:
        raise parse_error(text, pos, f"expected the operand, such as %0, found {describe(text, pos)}")
    return found.end()


def _value_start(text: str, pos: int, field: _Field) -> int:
    """Where the value of a parameter starts; -1 if it is left out."""
    if not field.keyword:
        return pos
    found = _WORD.match(text, pos)
    if not found or found.group() != field.keyword:
        if field.is_optional:
            return -1
        raise parse_error(text, pos, f"expected '{field.keyword}=', found {describe(text, pos)}")
    pos = skip_trivia(text, found.end())
    if not text.startswith("=", pos):
        raise parse_error(text, pos, f"expected '=' after '{field.keyword}', found {describe(text, pos)}")
    return skip_trivia(text, pos + 1)


def _value(checker: Checker, field: _Field, start: int) -> Parameter:
    text = checker.text
    if field.cls == "integer":
        found = _INTEGER.match(text, start)
        if not found:
            raise parse_error(text, start, f"expected an integer, found {describe(text, start)}")
        return Parameter(found.group(), start, found.end())
    if field.cls == "direction":
        return _direction(text, start)
    value, end = checker.read(start, field.cls)  # type: ignore[arg-type]
    return Parameter(value, start, end)


def _stripped_only(checker: Checker, field: _Field, start: int) -> ParseError:
    """The error about a full attribute or an alias where the pretty form takes the bare `<...>` only."""
    text = checker.text
    value, end = checker.read(start, field.cls)  # type: ignore[arg-type]
    note = "MLIR reads a '#' right after a value as the number of a result"
    return parse_error(
        text,
        start,
        f"the sharding stands here without '#': expected '<', found {describe(text, start)}",
        end=end,
        notes=() if field.keyword else (note,),
        help=f"write `{value.stripped}`",
    )


def _direction(text: str, start: int) -> Parameter:
    """A direction: a word, the same in quotes, or its number in the generic form."""
    found = _WORD.match(text, start)
    if found:
        word = found.group(1) or unescape(found.group(2))
        if word in _DIRECTIONS:
            return Parameter(word, start, found.end())
    number = _INTEGER.match(text, start)
    if number and number.group() in "0123":
        return Parameter(_DIRECTIONS[int(number.group())], start, number.end())
    upper = found.group().upper() if found else ""
    raise parse_error(
        text,
        start,
        f"expected NONE, FORWARD or BACKWARD, found {describe(text, start)}",
        end=found.end() if found else None,
        help=f"write {upper}" if upper in _DIRECTIONS else None,
    )


def _expect_end(text: str, pos: int, operation: Operation) -> None:
    pos = skip_trivia(text, pos)
    expected = "(" if _SYNTAX[operation.name][0].cls == "operands" else ":"
    if text.startswith((expected, "{"), pos):
        return
    after = "its parameters" if expected == "(" else "the sharding"
    message = f"expected '{expected}' after {after} of {operation.name}, found {describe(text, pos)}"
    raise parse_error(text, pos, message)
