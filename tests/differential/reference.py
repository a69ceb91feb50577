"""The export of a module in a few lines over jaxlib's MLIR objects: the model that our splicer must match.

Where a sharding stands, MLIR's own parser says here; what it converts to, XLA says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from tests.differential.oracle.shardings import Case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONTROL_FLOW = ("stablehlo.while", "stablehlo.case", "stablehlo.if")


class ReferenceModule:
    """A module with `<<k>>` in the place of each sharding, until the texts are known.

    Attributes:
        cases: The distinct shardings in it; the k-th is the k-th case.
    """

    def __init__(self, text: str) -> None:
        context = make_ir_context()
        context.allow_unregistered_dialects = True
        self._numbers: dict[Case, int] = {}
        with context, ir.Location.unknown():
            module = ir.Module.parse(text)
            self._meshes = {
                ir.StringAttr(op.attributes["sym_name"]).value: str(op.attributes["mesh"])
                for op in module.body.operations
                if op.operation.name == "sdy.mesh"
            }
            for op in list(operations(module.operation)):
                self._convert(op)
            self._printed: str = module.operation.get_asm()

    @property
    def cases(self) -> list[Case]:
        return list(self._numbers)

    def export(self, texts: Mapping[Case, str]) -> str:
        """The module with each sharding replaced by its text, as jaxlib prints it."""
        cases = self.cases
        return re.sub(r"<<(\d+)>>", lambda match: texts[cases[int(match[1])]], self._printed)

    def _convert(self, op: Any) -> None:
        attributes = op.attributes
        if "sdy.sharding" in attributes:
            per_value = sdy.TensorShardingPerValueAttr(attributes["sdy.sharding"])
            del attributes["sdy.sharding"]
            attributes["mhlo.sharding"] = self._placeholder(list(per_value.shardings))
        elif op.name in CONTROL_FLOW:
            attributes["mhlo.sharding"] = ir.StringAttr.get("{replicated}")
        if op.name == "func.func":
            for key in ("arg_attrs", "res_attrs"):
                if key in attributes:
                    dictionaries = [self._converted(d) for d in ir.ArrayAttr(attributes[key])]
                    attributes[key] = ir.ArrayAttr.get(dictionaries)
        elif op.name == "sdy.sharding_constraint":
            replace_by_copy(op, self._placeholder([attributes["sharding"]]))
        elif op.name == "sdy.mesh":
            op.erase()

    def _converted(self, dictionary: Any) -> Any:
        """The attributes of an argument or result."""
        entries = {entry.name: entry.attr for entry in ir.DictAttr(dictionary)}
        if "sdy.sharding" in entries:
            entries["mhlo.sharding"] = self._placeholder([entries.pop("sdy.sharding")])
        return ir.DictAttr.get(entries)

    def _placeholder(self, shardings: list[Any]) -> Any:
        """One sharding by itself, several as a tuple."""
        texts = [f"<<{self._number(sdy.TensorShardingAttr(sharding))}>>" for sharding in shardings]
        return ir.StringAttr.get(texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}")

    def _number(self, sharding: Any) -> int:
        reference = str(sharding.mesh_or_ref).removeprefix("#sdy.")
        body = str(sharding).removeprefix(f"#sdy.sharding<{reference}, ").removesuffix(">")
        if reference.startswith("mesh<"):
            mesh = f"#sdy.{reference}"
        else:
            mesh = self._meshes[ir.FlatSymbolRefAttr(sharding.mesh_or_ref).value]
        case = Case(mesh, body, len(sharding.dimension_shardings))
        return self._numbers.setdefault(case, len(self._numbers))


def operations(parent: Any) -> Iterator[Any]:
    """Every operation inside `parent`, outer ones first."""
    for region in parent.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
                yield from operations(op.operation)


def replace_by_copy(op: Any, sharding: Any) -> None:
    """Puts the copy that XLA makes of a sharding constraint in its place."""
    copy = ir.Operation.create(
        "mhlo.copy",
        results=[op.results[0].type],
        operands=list(op.operands),
        attributes={"mhlo.sharding": sharding},
        ip=ir.InsertionPoint(op),
    )
    op.results[0].replace_all_uses_with(copy.results[0])
    op.erase()
