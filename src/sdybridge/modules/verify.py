"""Verification of whole modules: every place that carries a sharding, every mesh, every sdy operation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ParamSpec

from sdybridge.errors import ParseError, SdyBridgeError
from sdybridge.modules.checker import AlreadyReportedError, Checker, Context, ModuleScope, Placed
from sdybridge.modules.lexer import STRING, describe, matching_bracket, parse_error, skip_trivia, symbol_end
from sdybridge.modules.reader import parse_operations
from sdybridge.modules.result_types import expand_type, result_types
from sdybridge.modules.sdy_operations import has_parameters, read_parameters
from sdybridge.modules.values import Scope
from sdybridge.modules.verify_collectives import COLLECTIVES, verify_collective
from sdybridge.modules.verify_computations import verify_manual_computation, verify_named_computation
from sdybridge.sdy import (
    AllToAllParamListAttr,
    Attribute,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdybridge.source import Source, Span
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdybridge.modules.dictionary import Entry
    from sdybridge.modules.operations import Argument, Operation, OperationTree, Region
    from sdybridge.modules.sdy_operations import Parameter

P = ParamSpec("P")
_KEY = "sdy.sharding"
_ATTRIBUTE = re.compile(rf"(#sdy(?:\.([a-z_]+)|<\s*([a-z_]+)))|{STRING}|//[^\n]*+")
_ALIAS = re.compile(r"#([A-Za-z0-9_$.\-]+)")
_CLASSES: dict[str, type[Attribute]] = {
    cls.mnemonic: cls
    for cls in (
        AllToAllParamListAttr,
        AxisRefListAttr,
        ListOfAxisRefListsAttr,
        ManualAxesAttr,
        MeshAttr,
        TensorShardingAttr,
        TensorShardingPerValueAttr,
    )
}
_OF_MODULES = frozenset(("sym_name", "sym_visibility"))
# Defined by an sdy operation, but not in the way of a data flow edge.
_EDGE_SOURCES = frozenset(("sdy.named_computation",))


def verify_module(
    source: Source | str, *, target: Target = Target.CURRENT, first_only: bool = False
) -> list[SdyBridgeError]:
    """Every error of a text of operations, in the order of the text; none if it is valid.

    All rules of Shardy are checked: of meshes, of the shardings of arguments, results and operations, of
    manual and named computations, of collectives. Of each place the first broken rule counts. What else a
    text may hold is not checked: types, SSA dominance, other dialects.

    Args:
        source: The text, with the name that errors show.
        target: Whose grammar to follow.
        first_only: Whether to return the first error only.

    Returns:
        Errors with their place: a `VerificationError` for a rule (see `MODULE_RULES` and `sdy.RULES`), a
        `ParseError` for a malformed attribute or operation. A text whose operations cannot be told apart
        gives that one `ParseError`.

    >>> text = '''sdy.mesh @mesh = <["x"=2]>
    ... func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}]>}) { return }'''
    >>> print(verify_module(text)[0])
    <string>:2:69: error: the mesh has no axis named "z"
    ... t.sharding = ...

    Source: shardy/dialect/sdy/ir/verifiers.cc, dialect.cc.
    """
    source = Source(source) if isinstance(source, str) else source
    try:
        tree = parse_operations(source)
    except ParseError as error:
        return [error]
    checker = Checker(tree, target)
    verifier = _Verifier(checker)
    verifier.walk(tree)
    verifier.read_the_rest()
    errors = sorted(checker.errors, key=lambda error: error.span.start if error.span else 0)
    return errors[:1] if first_only else errors


class _Verifier:
    """The walk over one text: what is checked of each operation."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.text = checker.text

    def attempt(self, check: Callable[P, object], *args: P.args, **options: P.kwargs) -> None:
        """Runs one check and keeps its error, if it has one that is not known already."""
        checker = self.checker
        try:
            check(*args, **options)
        except AlreadyReportedError:
            return
        except SdyBridgeError as error:
            if error.span and (error.source is None or error.source.text is self.text):
                error.located(checker.source, error.span)
            known = ((e.message, e.span) for e in checker.errors)
            if (error.message, error.span) not in known:
                checker.errors.append(error)

    def walk(self, tree: OperationTree) -> None:
        """Visits all operations; the text itself counts as a module unless it is just one."""
        module = self.module_scope(tree.operations, None)
        context = Context(module, None, {}, Scope(tree.operations))
        stack = [(tree.operations, context)]
        while stack:
            operations, context = stack.pop()
            for operation in operations:
                self.visit(operation, context)
                for region in operation.regions:
                    inner = self.inside(operation, region, context)
                    stack += [(block.operations, inner) for block in region.blocks]

    def module_scope(self, operations: list[Operation], outer: ModuleScope | None) -> ModuleScope:
        """Reads the meshes of a module, and checks that its symbols differ."""
        scope = ModuleScope(outer=outer)
        symbols: dict[str, Operation] = {}
        for operation in operations:
            name = operation.full_name
            if name not in ("sdy.mesh", "builtin.module") and not name.endswith(".func"):
                continue
            self.attempt(self.declare, operation, symbols, scope)
        return scope

    def declare(self, operation: Operation, symbols: dict[str, Operation], scope: ModuleScope) -> None:
        """Enters the symbol of an operation, and its mesh if it is one."""
        checker = self.checker
        symbol = operation.symbol
        is_mesh = operation.full_name == "sdy.mesh"
        if is_mesh:
            name = operation.symbol or ""
            if name not in scope.meshes:
                scope.meshes[name] = None
                scope.meshes[name] = self.read_mesh(operation)
            else:
                self.read_mesh(operation)
        if symbol is None:
            return
        span = operation.symbol_span or operation.name_span
        if symbol in symbols:
            first = symbols[symbol]
            raise checker.error(
                "symbol-redefinition",
                f"the module has two operations named {self.text[span.start : span.end]}",
                span,
                notes=[f"the first is {checker.at(first)}"],
                help="give one of them another name",
            )
        symbols[symbol] = operation

    def read_mesh(self, operation: Operation) -> MeshAttr:
        """The mesh of an `sdy.mesh` operation."""
        text = self.text
        if operation.is_generic:
            entry = operation.attribute("mesh")
            if not entry or not entry.value or not operation.attribute("sym_name"):
                missing = "mesh" if not entry or not entry.value else "sym_name"
                message = f'"sdy.mesh" has no property {missing}'
                raise parse_error(text, operation.name_start, message, end=operation.name_end)
            return self.checker.read(entry.value.start, MeshAttr)[0]
        start = skip_trivia(text, operation.name_end)
        if not text.startswith("@", start):
            word = describe(text, start)
            is_visibility = word in ("'private'", "'public'", "'nested'")
            raise parse_error(
                text,
                start,
                f"expected '@' and the mesh's name, found {word}",
                end=start + len(word) - 2,
                notes=("a mesh has no visibility",) if is_visibility else (),
                help="write @ in front of it" if text.startswith('"', start) else None,
            )
        pos = skip_trivia(text, symbol_end(text, start))
        if not text.startswith("=", pos):
            raise parse_error(text, pos, f"expected '=' after the mesh's name, found {describe(text, pos)}")
        mesh, end = self.checker.read(skip_trivia(text, pos + 1), MeshAttr)
        self.expect_end(operation, end)
        return mesh

    def expect_end(self, operation: Operation, pos: int) -> None:
        """Raises if more than a dictionary and a location is left of an operation without types."""
        text = self.text
        pos = skip_trivia(text, pos)
        if text.startswith("{", pos):
            pos = skip_trivia(text, matching_bracket(text, pos))
        if pos < operation.end and not text.startswith("loc", pos):
            message = f"expected the end of {operation.name}, found {describe(text, pos)}"
            raise parse_error(text, pos, message)

    def inside(self, operation: Operation, region: Region, context: Context) -> Context:
        """The context of the operations in one region."""
        operations = region.blocks[0].operations
        if len(region.blocks) > 1:
            operations = [inner for block in region.blocks for inner in block.operations]
        scope = Scope(operations, operation, region, context.scope)
        name = operation.full_name
        if name == "builtin.module":
            return Context(self.module_scope(operations, context.module), operation, {}, scope)
        if name.endswith(".func"):
            return Context(context.module, operation, {}, scope)
        manual_axes = context.manual_axes
        if name == "sdy.manual_computation":
            manual_axes = {**dict.fromkeys(self.manual_axes(operation), operation), **manual_axes}
        return Context(context.module, operation, manual_axes, scope)

    def manual_axes(self, operation: Operation) -> tuple[str, ...]:
        try:
            axes: tuple[str, ...] = read_parameters(self.checker, operation)["manual_axes"].value.value
        except (SdyBridgeError, KeyError):
            return ()  # reported when the operation itself is visited
        return axes

    def visit(self, operation: Operation, context: Context) -> None:
        """Checks one operation, without what is in its regions."""
        name = operation.full_name
        if name.startswith("sdy."):
            if name == "sdy.mesh":
                self.attempt(self.verify_mesh_place, operation, context)
            elif has_parameters(operation):
                self.attempt(self.verify_sdy, operation, context)
        elif name.endswith(".func"):
            self.verify_function(operation, context)
        elif name == "builtin.module":
            self.attempt(self.verify_module_attributes, operation)
        for span in operation.dictionaries:
            if self.text.find(_KEY, span.start, span.end) >= 0:
                self.attempt(self.verify_carrier, operation, span, context)

    def verify_mesh_place(self, operation: Operation, context: Context) -> None:
        parent = context.parent
        if parent is None or parent.full_name == "builtin.module":
            return
        self.attempt(self.read_mesh, operation)
        raise self.checker.error(
            "mesh-placement",
            "a mesh stands directly in a module",
            operation.name_span,
            notes=[f"this one is in {self.checker.at(parent)}"],
            help="move it out, next to the functions",
        )

    def verify_module_attributes(self, operation: Operation) -> None:
        for span in operation.dictionaries:
            for entry in operation.entries_of(span):
                if "." not in entry.key and entry.key not in _OF_MODULES:
                    raise self.checker.error(
                        "module-attribute-name",
                        f"the module's attribute '{entry.key}' has no dialect in its name",
                        Span(entry.span.start, entry.span.start + len(entry.key)),
                        help=f"write a dialect's name in front, such as `mhlo.{entry.key}`",
                    )

    def verify_carrier(self, operation: Operation, dictionary: Span, context: Context) -> None:
        """The rules of an operation's own `sdy.sharding`."""
        checker = self.checker
        entry = operation.entry_of(dictionary, _KEY)
        if entry is None:
            return
        where = checker.at(operation)
        start = self.value_of_kind(entry, TensorShardingPerValueAttr, where)
        attr, _ = checker.read(start, TensorShardingPerValueAttr)
        types = result_types(operation, checker.tree.aliases)
        if types is None:
            types = [None] * len(attr.shardings)
        if not types and len(attr.shardings) == 1:
            self.verify_without_results(attr.shardings[0], start, context, where)
            return
        checker.verify_per_value(attr, start, types, context, where, "result")

    def verify_without_results(
        self, sharding: TensorShardingAttr, start: int, context: Context, where: str
    ) -> None:
        """The rules of the one sharding that an operation without results may have."""
        checker = self.checker
        cls = TensorShardingPerValueAttr
        placed = Placed(sharding, start, cls, ("shardings", 0), where)
        mesh = checker.mesh_of(placed, context) if sharding.is_fully_replicated else None
        if mesh is None and not self.is_on_maximal(placed, context):
            raise checker.error(
                "sharding-count",
                "1 sharding for no results",
                checker.place_of(start, cls, ("shardings", 0)),
                notes=[f"in {where}", "only a maximal or fully replicated one may stand there"],
            )
        for part in ("dim_shardings", "replicated_axes", "unreduced_axes"):
            if getattr(sharding, part):
                what = part.replace("_", " ").replace("dim ", "dimension ")
                message = f"an operation without results has no {what} in its sharding"
                help_ = "write `[]` and no axis lists"
                raise checker.error_at(placed, "no-results-rank", message, (part,), help=help_)

    @staticmethod
    def is_on_maximal(placed: Placed, context: Context) -> bool:
        ref = placed.sharding.mesh_or_ref
        mesh = ref if isinstance(ref, MeshAttr) else context.module.meshes.get(ref)
        return mesh is not None and mesh.is_maximal

    def value_of_kind(self, entry: Entry, cls: type[Attribute], where: str) -> int:
        """Where the value of a sharding entry starts, if it is of the right kind.

        Raises:
            VerificationError: `sharding-kind`.
        """
        found = self.kind_of(self.text[entry.value.start : entry.value.end]) if entry.value else None
        if entry.value and (found == cls.mnemonic or found == "#"):
            return entry.value.start
        per_value = cls is TensorShardingPerValueAttr
        wanted = "#sdy.sharding_per_value<[<..>]>" if per_value else "#sdy.sharding<..>"
        help_ = f"write `{wanted}`"
        if entry.value and found in ("sharding", "sharding_per_value"):
            help_ = self.other_kind(entry.value, per_value) or help_
        raise self.checker.error(
            "sharding-kind",
            f"expected {wanted}: {'an operation has a list' if per_value else 'a single value has no list'}",
            entry.value or entry.span,
            notes=[f"in {where}"],
            help=help_,
        )

    def other_kind(self, value: Span, per_value: bool) -> str | None:
        """The same sharding as a list, or a list of one as a plain sharding."""
        try:
            if per_value:
                sharding, _ = self.checker.read(value.start, TensorShardingAttr)
                text = str(TensorShardingPerValueAttr([sharding]))
            else:
                listed, _ = self.checker.read(value.start, TensorShardingPerValueAttr)
                text = str(listed.shardings[0]) if len(listed.shardings) == 1 else ""
        except SdyBridgeError:
            return None
        return f"write `{text}`" if 0 < len(text) < 100 else None

    def kind_of(self, value: str) -> str | None:
        """The mnemonic of an sdy attribute; `#` for an alias that is not defined; None for anything else."""
        aliases = self.checker.aliases
        for _ in range(len(aliases) + 1):
            found = _ATTRIBUTE.match(value)
            if found and found.group(1):
                return found.group(2) or found.group(3)
            alias = _ALIAS.fullmatch(value)
            if not alias:
                return None
            if alias.group(1) not in aliases:
                return "#"
            value = aliases[alias.group(1)]
        return "#"

    def verify_function(self, operation: Operation, context: Context) -> None:
        """The shardings of a function's arguments and results."""
        if not self.text.startswith('"', operation.name_start) and not operation.arguments_span:
            return
        self.attempt(self.verify_values, operation, context, "argument")
        self.attempt(self.verify_values, operation, context, "result")

    def verify_values(self, operation: Operation, context: Context, kind: str) -> None:
        values = operation.arguments if kind == "argument" else operation.function_results
        for index, value in enumerate(values):
            if value.dictionary:
                where = f"{kind} {index} of function @{operation.symbol}"
                self.attempt(self.verify_value, operation, value, where, context)

    def verify_value(self, operation: Operation, argument: Argument, where: str, context: Context) -> None:
        """The rules of the sharding of one argument or result of a function."""
        checker = self.checker
        entry = operation.entry_of(argument.dictionary, _KEY)
        if entry is None:
            return
        start = self.value_of_kind(entry, TensorShardingAttr, where)
        sharding, _ = checker.read(start, TensorShardingAttr)
        placed = Placed(sharding, start, TensorShardingAttr, (), where)
        type_text = expand_type(
            self.text[argument.type.start : argument.type.end], self.text, checker.tree.aliases
        )
        checker.verify(placed, type_text, context)

    def verify_sdy(self, operation: Operation, context: Context) -> None:
        """The rules of the sdy operations that are not only carriers."""
        checker = self.checker
        parameters = read_parameters(checker, operation)
        name = operation.full_name
        if name == "sdy.manual_computation":
            verify_manual_computation(checker, operation, parameters, context)
            return
        if name == "sdy.named_computation":
            verify_named_computation(checker, operation, parameters, context)
            return
        types = result_types(operation, checker.tree.aliases) or [None]
        if name in COLLECTIVES:
            verify_collective(checker, operation, parameters, types[0], context)
            return
        if name == "sdy.propagation_barrier":
            self.verify_barrier(operation, parameters)
        if name == "sdy.data_flow_edge":
            self.verify_edge(operation, context)
        if "sharding" in parameters:
            found = parameters["sharding"]
            placed = Placed(found.value, found.start, TensorShardingAttr, (), checker.at(operation))
            checker.verify(placed, types[0], context)

    def verify_barrier(self, operation: Operation, parameters: dict[str, Parameter]) -> None:
        direction = parameters["allowed_direction"]
        if direction.value == "BOTH":
            raise self.checker.error(
                "barrier-direction",
                "a propagation barrier that allows BOTH directions blocks nothing",
                Span(direction.start, direction.end),
                notes=[f"in {self.checker.at(operation)}"],
                help="write NONE, FORWARD or BACKWARD, or remove the barrier",
            )

    def verify_edge(self, operation: Operation, context: Context) -> None:
        operands = operation.operands
        definition = context.scope.find(operands[0]) if operands else None
        if definition is None:
            return
        source = definition.operation
        is_sdy = source.full_name.startswith("sdy.") and source.full_name not in _EDGE_SOURCES
        if is_sdy and not definition.is_argument:
            raise self.checker.error(
                "edge-producer",
                f"the input of a data flow edge is the result of {source.full_name}",
                operation.operand_span(0),
                notes=[f"in {self.checker.at(operation)}", f"it comes from {self.checker.at(source)}"],
            )
        uses = definition.scope.count_uses(operands[0], definition)
        if uses > 1:
            raise self.checker.error(
                "edge-single-use",
                f"the input of a data flow edge is used {uses} times",
                operation.operand_span(0),
                notes=[f"in {self.checker.at(operation)}", "the edge has to be its only use"],
                help="let the other uses take the edge's result",
            )

    def read_the_rest(self) -> None:
        """Reads the Shardy attributes under any other key, so that malformed ones are found."""
        read_at = self.checker.read_at
        for start, cls in self.other_attributes():
            if start not in read_at:
                self.attempt(self.checker.read, start, cls)

    def other_attributes(self) -> Iterator[tuple[int, type[Attribute]]]:
        text = self.text
        if "#sdy" not in text:
            return
        for found in _ATTRIBUTE.finditer(text):
            mnemonic = found.group(2) or found.group(3)
            if mnemonic in _CLASSES:
                yield found.start(), _CLASSES[mnemonic]
