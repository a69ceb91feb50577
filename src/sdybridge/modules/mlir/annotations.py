"""The annotations of a program in MLIR text: of arguments, results and operations, in every notation."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from sdybridge.errors import SdyBridgeError, VerificationError
from sdybridge.modules.annotations import CARRIER, MHLO, SDY, Annotation
from sdybridge.modules.carriers import MESHES, Quoting, read_carrier
from sdybridge.modules.mlir.carrier_calls import READ_BY_XLA
from sdybridge.modules.mlir.dictionary import read_dictionary
from sdybridge.modules.mlir.hlo_attribute import parse_hlo_attribute
from sdybridge.modules.mlir.reader import parse_operations
from sdybridge.modules.mlir.result_types import expand_type, result_types
from sdybridge.modules.mlir.sdy_operations import has_parameters, read_parameters
from sdybridge.modules.mlir.types import element_of, shape_of, tuple_elements
from sdybridge.modules.shapes import TensorShape
from sdybridge.modules.verify.checker import Checker
from sdybridge.modules.verify.meshes import read_mesh
from sdybridge.sdy import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr
from sdybridge.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sdybridge.hlo import HloSharding
    from sdybridge.modules.mlir.dictionary import Entry
    from sdybridge.modules.mlir.operations import Argument, Operation, OperationTree
    from sdybridge.source import Source, Span

    Shardings = tuple[TensorShardingAttr | HloSharding, ...]

FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"

_KEYS = (SDY, MHLO, FRONTEND_ATTRIBUTES)
_INTEGERS = {"i1": "pred", "index": "s64"}
_COMPLEX = {"complex<f32>": "c64", "complex<f64>": "c128"}


class MlirProgram:
    """An MLIR program as text: its meshes, and what it says about its values.

    >>> from sdybridge.source import Source
    >>> program = MlirProgram(Source('''
    ... sdy.mesh @mesh = <["x"=4]>
    ... func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return }
    ... '''))
    >>> [(one.scope, one.name, str(one.shape), str(one.local_shape)) for one in program.annotations()]
    [('main', '%a', 'f32[8]', 'f32[2]')]
    """

    format = "MLIR text"

    def __init__(
        self,
        source: Source,
        target: Target = Target.CURRENT,
        *,
        tree: OperationTree | None = None,
        errors: list[tuple[str, SdyBridgeError]] | None = None,
    ) -> None:
        """Reads the operations, unless they are read already, and the meshes.

        Args:
            source: The text.
            target: Whose grammar to follow.
            tree: The operations of the text.
            errors: Where to put the errors about single meshes and shardings, which are then passed over,
                with the carrier that each is about; None raises the first one.
        """
        self.source = source
        self.tree = parse_operations(source) if tree is None else tree
        self._checker = Checker(self.tree, target)
        self._target = target
        self._errors = errors
        self._read: dict[tuple[str, str], Shardings] = {}  # by key and text
        self._manual_axes: tuple[str, ...] = ()
        self.meshes: dict[str, MeshAttr] = {}
        for operation in self.tree.walk():
            if operation.full_name == "sdy.mesh":
                with self._errors_kept(SDY):
                    self.meshes[operation.symbol or ""] = read_mesh(self._checker, operation)
        with self._errors_kept(CARRIER):
            self.meshes = {**self._carried_meshes(), **self.meshes}

    @property
    def name(self) -> str:
        """The name of the module; empty if it has none."""
        return next((o.symbol or "" for o in self.tree.operations if o.full_name == "builtin.module"), "")

    is_partitioned = False  # XLA partitions HLO

    @property
    def num_partitions(self) -> int | None:
        """The `mhlo.num_partitions` of the module."""
        for operation in self.tree.operations:
            entry = operation.attribute("mhlo.num_partitions")
            number = self._text(entry.value).partition(":")[0].strip() if entry and entry.value else ""
            if number.isdecimal() and len(number) < 19:
                return int(number)
        return None

    def annotations(self) -> Iterator[Annotation]:
        """Every value with a sharding, in the order of the text.

        Raises:
            ParseError: A sharding is malformed.
            VerificationError: There is another number of shardings than of values.
        """
        for _, one in self.by_operation():
            yield one

    def by_operation(self) -> Iterator[tuple[Operation, Annotation]]:
        """The annotations, each with the operation that it stands on.

        Raises:
            SdyBridgeError: As `annotations`.
        """
        manual: tuple[str, ...] = ()
        stack = [(operation, "", manual) for operation in reversed(self.tree.operations)]
        while stack:
            operation, scope, manual = stack.pop()
            self._manual_axes = manual
            if operation.full_name.endswith(".func"):
                scope, manual, self._manual_axes = operation.symbol or "", (), ()
                yield from ((operation, one) for one in self._signature(operation, scope))
            elif has_parameters(operation):
                with self._errors_kept(SDY):
                    yield from ((operation, one) for one in self._parameters(operation, scope))
                    if operation.full_name == "sdy.manual_computation":
                        manual += self._bound_by(operation)
            else:
                yield from ((operation, one) for one in self._results(operation, scope))
            stack += [
                (inner, scope, manual)
                for region in reversed(operation.regions)
                for block in reversed(region.blocks)
                for inner in reversed(block.operations)
            ]

    def tallies(self) -> Iterator[tuple[Annotation, int]]:
        """Every value with a sharding, and 1."""
        for one in self.annotations():
            yield one, 1

    @contextlib.contextmanager
    def _errors_kept(self, carrier: str) -> Iterator[None]:
        try:
            yield
        except SdyBridgeError as error:
            if self._errors is None:
                raise
            self._checker.place(error)
            self._errors.append((carrier, error))

    def _bound_by(self, operation: Operation) -> tuple[str, ...]:
        """The axes that are manual in the body of a manual computation."""
        axes: tuple[str, ...] = read_parameters(self._checker, operation)["manual_axes"].value.value
        return axes

    def inputs(self) -> list[Annotation]:
        """The arguments of the main function, those without a sharding too."""
        return self._entry_values("argument")

    def outputs(self) -> list[Annotation]:
        """The results of the main function, those without a sharding too."""
        return self._entry_values("result")

    def _entry_values(self, opcode: str) -> list[Annotation]:
        functions = [o for o in self.tree.walk() if o.full_name == "func.func"]
        entry = next((o for o in functions if o.symbol == "main"), functions[0] if functions else None)
        if entry is None:
            return []
        scope = entry.symbol or ""
        found = {(one.opcode, one.name): one for one in self._signature(entry, scope)}
        return [
            found.get((opcode, name))
            or Annotation("", scope, name, opcode, self._shape(value.type), None, None, value.span.start)
            for name, value in _named(entry, opcode)
        ]

    def _signature(self, function: Operation, scope: str) -> Iterator[Annotation]:
        for opcode in ("argument", "result"):
            for name, value in _named(function, opcode):
                entries = [function.entry_of(value.dictionary, key) for key in _KEYS]
                yield from self._annotations(entries, scope, opcode, [(name, self._shape(value.type))])

    def _results(self, operation: Operation, scope: str) -> Iterator[Annotation]:
        entries = [operation.attribute(key) for key in _KEYS]
        if any(entries):
            yield from self._annotations(entries, scope, operation.full_name, self._values(operation))

    def _parameters(self, operation: Operation, scope: str) -> Iterator[Annotation]:
        """The shardings that Shardy's own operations have among their parameters."""
        for key, parameter in read_parameters(self._checker, operation).items():
            opcode = operation.full_name
            values = self._values(operation)
            if isinstance(parameter.value, TensorShardingAttr):
                yield self._one(SDY, scope, opcode, *values[0], parameter.value, parameter.start)
            elif isinstance(parameter.value, TensorShardingPerValueAttr):
                if key == "in_shardings":
                    types = operation.signature_types[0]
                    names = operation.operands
                    values = [(name, self._shape(span)) for name, span in zip(names, types, strict=False)]
                for (name, shape), sharding in zip(values, parameter.value.shardings, strict=False):
                    yield self._one(SDY, scope, opcode, name, shape, sharding, parameter.start)

    def _values(self, operation: Operation) -> list[tuple[str, TensorShape | None]]:
        """The names and shapes of the results."""
        types = result_types(operation, self.tree.aliases)
        shapes = [None if text is None else tensor_shape(text) for text in types or []]
        results = operation.results
        names = [f"{operation.full_name} result {i}" for i in range(len(shapes))]
        if sum(count for _, count in results) == len(shapes):
            names = [name if count == 1 else f"{name}#{i}" for name, count in results for i in range(count)]
        values = [
            value
            for name, text, shape in zip(names, types or (), shapes, strict=True)
            for value in _elements(name, text, shape)
        ]
        return values or [(operation.full_name, None)]

    def _annotations(
        self,
        entries: Sequence[Entry | None],
        scope: str,
        opcode: str,
        values: Sequence[tuple[str, TensorShape | None]],
    ) -> Iterator[Annotation]:
        for key, entry in zip(_KEYS, entries, strict=True):
            if entry is None or entry.value is None:
                continue
            with self._errors_kept(CARRIER if key == FRONTEND_ATTRIBUTES else key):
                yield from self._annotated(key, entry.value, scope, opcode, values)

    def _annotated(
        self, key: str, value: Span, scope: str, opcode: str, values: Sequence[tuple[str, TensorShape | None]]
    ) -> Iterator[Annotation]:
        carrier, at = key, value
        if key == FRONTEND_ATTRIBUTES:
            found = self._carried(value, CARRIER)
            if found is None:
                return
            carrier, at = CARRIER, found
        shardings = self._shardings(carrier, at)
        if len(shardings) == 1:
            shardings *= len(values)  # one for all, or for the operation that has no results
        is_operation = carrier == CARRIER and opcode not in {"argument", "result"}
        if len(shardings) != len(values) and is_operation and opcode not in READ_BY_XLA:
            return  # a `get_tuple_element` has those of the whole tuple, a `while` more results than before
        if len(shardings) != len(values) and opcode.endswith(".outfeed"):  # those of its operands
            values = [(f"{opcode} value {i}", None) for i in range(len(shardings))]
        if len(shardings) != len(values):
            raise VerificationError(
                f"{len(shardings)} shardings for {len(values)} values",
                rule="sharding-count",
                source=self.source,
                span=at,
                notes=[f"they are on {opcode}"],
            )
        for (name, shape), sharding in zip(values, shardings, strict=True):
            yield self._one(carrier, scope, opcode, name, shape, sharding, at.start)

    def _one(
        self,
        carrier: str,
        scope: str,
        opcode: str,
        name: str,
        shape: TensorShape | None,
        sharding: TensorShardingAttr | HloSharding,
        offset: int,
    ) -> Annotation:
        mesh = None
        if isinstance(sharding, TensorShardingAttr):
            ref = sharding.mesh_or_ref
            mesh = ref if isinstance(ref, MeshAttr) else self.meshes.get(ref)
        return Annotation(carrier, scope, name, opcode, shape, sharding, mesh, offset, self._manual_axes)

    def _shardings(self, carrier: str, value: Span) -> Shardings:
        """The shardings that the text at `value` holds; each distinct text is read once."""
        text = self._text(value)
        found = self._read.get((carrier, text))
        if found is None:
            found = self._read[carrier, text] = self._parse(carrier, value, text)
        return found

    def _parse(self, carrier: str, value: Span, text: str) -> Shardings:
        if carrier == SDY:
            kind = self._checker.kind_of(text)
            per_value = kind == TensorShardingPerValueAttr.mnemonic
            cls = TensorShardingPerValueAttr if per_value else TensorShardingAttr
            return _as_tuple(self._checker.read(value.start, cls)[0])
        if carrier == CARRIER:
            carried = read_carrier(CARRIER, self.source, value, Quoting.MLIR)
            return _as_tuple(carried.parse(target=self._target))
        alias = self.tree.aliases.get(text)
        literal = self._text(alias) if alias else text
        if not literal.startswith('"'):
            raise VerificationError(
                "`mhlo.sharding` must hold a string",
                rule="sharding-kind",
                source=self.source,
                span=value,
                help='write `"{devices=[2,4]<=[8]}"`',
            )
        try:
            sharding = parse_hlo_attribute(literal, target=self._target)
        except SdyBridgeError as error:
            inside = error.span if error.source and error.source.text == literal and not alias else None
            raise error.located(self.source, inside.shifted(value.start) if inside else value) from None
        return sharding.tuple_elements if sharding.is_tuple else (sharding,)

    def _carried_meshes(self) -> Mapping[str, MeshAttr]:
        """The meshes that ride along in the frontend attributes of the module."""
        found: dict[str, MeshAttr] = {}
        for operation in self.tree.operations:
            entry = operation.attribute(FRONTEND_ATTRIBUTES)
            at = self._carried(entry.value, MESHES) if entry and entry.value else None
            if at:
                meshes = read_carrier(MESHES, self.source, at, Quoting.MLIR).parse(target=self._target)
                found.update(meshes if isinstance(meshes, dict) else {})
        return found

    def _carried(self, dictionary: Span, key: str) -> Span | None:
        """Where the value of `key` stands in a dictionary of frontend attributes."""
        if not self._text(dictionary).startswith("{"):
            return None
        entries = read_dictionary(self.source.text, dictionary.start)
        return next((entry.value for entry in entries if entry.key == key), None)

    def _shape(self, of_type: Span) -> TensorShape | None:
        return tensor_shape(expand_type(self._text(of_type), self.source.text, self.tree.aliases))

    def _text(self, span: Span) -> str:
        return self.source.text[span.start : span.end]


def _elements(name: str, text: str | None, shape: TensorShape | None) -> list[tuple[str, TensorShape | None]]:
    """A value, or the elements of one that is a tuple, in pre-order: `%0{0}`, `%0{1}{0}`."""
    if text is None or not text.startswith("tuple"):
        return [(name, shape)]
    found = []
    stack = [(name, text)]
    while stack:
        name, text = stack.pop()
        elements = tuple_elements(text)
        if elements is None:
            found.append((name, tensor_shape(text)))
        else:
            stack += [(f"{name}{{{i}}}", element) for i, element in reversed([*enumerate(elements)])]
    return found


def tensor_shape(text: str) -> TensorShape | None:
    """The shape of an MLIR tensor type, with XLA's name of its element type; None for any other type.

    >>> [str(tensor_shape(text)) for text in ("tensor<8x?xbf16>", "tensor<i1>", "tensor<2xcomplex<f32>>")]
    ['bf16[8,?]', 'pred[]', 'c64[2]']
    """
    shape = shape_of(text)
    if shape is None:
        return None
    dims = tuple(-1 if size is None else size for size in shape)
    return TensorShape(_element_type(element_of(text).partition(",")[0].strip()), dims)


def _element_type(text: str) -> str:
    """XLA's name of an MLIR element type.

    >>> [_element_type(text) for text in ("i32", "ui8", "f8E4M3FN", "complex<f64>", "!quant.any")]
    ['s32', 'u8', 'f8e4m3fn', 'c128', '!quant.any']
    """
    if text in _INTEGERS or text in _COMPLEX:
        return _INTEGERS.get(text) or _COMPLEX[text]
    if text.startswith("ui"):
        return text.replace("ui", "u", 1)
    if text[:1] == "i" and text[1:].isdecimal():
        return text.replace("i", "s", 1)
    return text.lower() if text.startswith(("f", "bf")) else text


def _named(function: Operation, opcode: str) -> list[tuple[str, Argument]]:
    """The arguments or results of a function, by what to call them."""
    if opcode == "argument":
        return [(value.name or f"argument {value.number}", value) for value in function.arguments]
    return [(f"result {value.number}", value) for value in function.function_results]


def _as_tuple(value: object) -> Shardings:
    return value.shardings if isinstance(value, TensorShardingPerValueAttr) else (value,)  # type: ignore[return-value]
