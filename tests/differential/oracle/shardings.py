"""What real XLA exports for single shardings: the HLO text and the `OpSharding` bytes.

Many cases share one module: each becomes a side-effecting `@Sharding` custom call, with its manual axes
in the discardable attribute where XLA's own shard-map export puts them.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import TYPE_CHECKING

from tests.differential.oracle import frontend, pipeline
from tests.differential.oracle.isolation import Crash, Rejected, run_isolated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RANK_0_ONE_DEVICE = "{devices=[]<=[1]}"
"""What XLA exports for a scalar on a mesh of one device; its own parser rejects that, so no bytes exist."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One sharding to export.

    Attributes:
        mesh: The mesh, such as `#sdy.mesh<["x"=4, "y"=2]>`.
        body: What follows the mesh in the sharding, such as `[{"x"}, {?}], replicated={"y"}`.
        rank: Number of dimensions of the tensor (a sharding on a maximal mesh does not tell).
        manual_axes: Axes of `mesh` that an enclosing manual computation binds.
    """

    mesh: str
    body: str
    rank: int
    manual_axes: tuple[str, ...] = ()

    @property
    def sharding(self) -> str:
        """The whole attribute, on a mesh named `mesh`."""
        return f"#sdy.sharding<@mesh, {self.body}>"

    @property
    def sizes(self) -> list[int]:
        """The sizes of the mesh's axes."""
        return [int(size) for size in re.findall(r'"=(\d+)', self.mesh)]

    @property
    def has_one_device(self) -> bool:
        """Whether the mesh has axes, all of size 1."""
        return set(self.sizes) == {1}

    @property
    def devices(self) -> str:
        """The devices and their order, as text that is equal for equal ones."""
        total = math.prod(self.sizes)
        ids = self.mesh.partition("], device_ids=[")[2].removesuffix("]>")
        in_order = ", ".join(map(str, range(total))) if ids else ""
        return f"{total} devices" if ids == in_order else f"devices {ids}"


@dataclasses.dataclass(frozen=True)
class Exported:
    """XLA's answer: the text of the `HloSharding` and the bytes of its `OpSharding`.

    The bytes of `RANK_0_ONE_DEVICE` do not exist: XLA cannot read back what it writes there.
    """

    text: str
    proto: bytes | None


def export_cases(
    cases: Sequence[Case], *, python: str | Path | None = None
) -> list[Exported | Crash | Rejected]:
    """XLA's answer for every case, in order.

    A mesh of one device needs a way of its own, because the HLO module turns every sharding on it into
    `{replicated}`; with `python` set (an older release) such cases get that normalised answer.
    """
    answers: dict[int, Exported | Crash | Rejected] = {}
    special = [k for k, case in enumerate(cases) if _needs_pipeline(case) and python is None]
    if special:
        answers.update(zip(special, _export_one_device([cases[k] for k in special]), strict=True))
    batches = _batches(cases, [k for k in range(len(cases)) if k not in answers])
    while batches:
        texts = [_module([cases[k] for k in batch]) for batch in batches]
        retry = []
        for batch, result in zip(
            batches,
            run_isolated(export_module_cases, texts, python=python, preload=frontend.PRELOAD),
            strict=True,
        ):
            if isinstance(result, list):
                answers.update(zip(batch, result, strict=True))
            elif len(batch) == 1:
                answers[batch[0]] = result
            else:  # some case in the batch is fatal: narrow it down
                step = -(-len(batch) // 8)
                retry += [batch[at : at + step] for at in range(0, len(batch), step)]
        batches = retry
    return [answers[k] for k in range(len(cases))]


def _batches(cases: Sequence[Case], indices: Sequence[int]) -> list[list[int]]:
    """Groups that can share a module: no two meshes of a group have the same devices in the same order.

    The front end would keep the first of such meshes only, and say the shardings on the others with its axes.
    """
    groups: list[tuple[dict[str, str], list[int]]] = []
    first_open: dict[str, int] = {}
    for k in indices:
        mesh, devices = cases[k].mesh, cases[k].devices
        at = first_open.get(devices, 0)
        while at < len(groups) and groups[at][0].get(devices, mesh) != mesh:
            at += 1
        if at == len(groups):
            groups.append(({}, []))
        meshes, group = groups[at]
        meshes[devices] = mesh
        group.append(k)
        first_open[devices] = at
    return [group for _, group in groups]


def export_shardings(cases: Sequence[Case]) -> list[str]:
    """XLA's HLO sharding text for every case; raises on a case that XLA does not export."""
    return [_exported(answer).text for answer in export_cases(cases)]


def export_protos(cases: Sequence[Case]) -> list[bytes | None]:
    """XLA's `OpSharding` bytes for every case; raises on a case that XLA does not export."""
    return [_exported(answer).proto for answer in export_cases(cases)]


def export_module_cases(text: str) -> list[Exported] | Rejected:
    """The answers in one module made by `_module`, in case order (runs isolated)."""
    instructions = frontend.convert_to_instructions(text)
    if isinstance(instructions, Rejected):
        return instructions
    found = {
        int(instruction.frontend_attributes["oracle.case"]): Exported(
            instruction.text or RANK_0_ONE_DEVICE, instruction.sharding
        )
        for instruction in instructions
        if "oracle.case" in instruction.frontend_attributes
    }
    return [found[k] for k in range(len(found))]


def proto_from_text(text: str) -> bytes:
    """What jaxlib's own `HloSharding.from_string` serialises to (runs isolated)."""
    from jaxlib import _hlo

    serialized: bytes = _hlo.HloSharding.from_string(text).to_proto().SerializeToString()
    return serialized


def quote(name: str) -> str:
    """An MLIR string literal."""
    escaped = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:02X}" for byte in name.encode()
    )
    return f'"{escaped}"'


def _exported(answer: Exported | Crash | Rejected) -> Exported:
    if not isinstance(answer, Exported):
        raise TypeError(f"XLA did not export the case: {answer}")
    return answer


def _module(cases: Sequence[Case]) -> str:
    meshes = {mesh: f"@mesh_{n}" for n, mesh in enumerate(dict.fromkeys(case.mesh for case in cases))}
    arguments = {_tensor(rank): f"%arg{rank}" for rank in sorted({case.rank for case in cases})}
    lines = [
        "module @cases {",
        *(f"  sdy.mesh {name} = {mesh}" for mesh, name in meshes.items()),
        f"  func.func public @main({', '.join(f'{v}: {t}' for t, v in arguments.items())}) {{",
        *(_operation(k, case, meshes[case.mesh], arguments) for k, case in enumerate(cases)),
        "    return",
        "  }",
        "}",
    ]
    return "\n".join(lines)


def _operation(k: int, case: Case, mesh_name: str, arguments: dict[str, str]) -> str:
    tensor = _tensor(case.rank)
    manual = ", ".join(quote(axis) for axis in case.manual_axes)
    attributes = ", ".join(
        [
            "has_side_effect = true",
            f'mhlo.frontend_attributes = {{oracle.case = "{k}"}}',
            f"sdy.sharding = #sdy.sharding_per_value<[<{mesh_name}, {case.body}>]>",
            *([f"xla.sdy.manual_axes = #sdy<manual_axes{{{manual}}}>"] if manual else []),
        ]
    )
    argument = arguments[tensor]
    return f"    %{k} = stablehlo.custom_call @Sharding({argument}) {{{attributes}}} : ({tensor}) -> {tensor}"


def _tensor(rank: int) -> str:
    return f"tensor<{'8x' * rank}i1>"


def _needs_pipeline(case: Case) -> bool:
    return case.has_one_device and not case.manual_axes and "unreduced" not in case.body


def _export_one_device(cases: Sequence[Case]) -> list[Exported | Crash | Rejected]:
    """Shardings as arguments of `@main`, read back as text after XLA's own export pipeline."""
    cases = [_plain(case) for case in cases]
    meshes = {mesh: f"@mesh_{n}" for n, mesh in enumerate(dict.fromkeys(case.mesh for case in cases))}
    shardings = [f"<{meshes[case.mesh]}, {case.body}>" for case in cases]
    arguments = [
        f"%arg{k}: tensor<{'8x' * case.rank}f32> {{sdy.sharding = #sdy.sharding{sharding}}}"
        for k, (case, sharding) in enumerate(zip(cases, shardings, strict=True))
    ]
    text = "\n".join(
        [
            "module @cases attributes {mhlo.num_partitions = 2 : i32} {",
            *(f"  sdy.mesh {name} = {mesh}" for mesh, name in meshes.items()),
            f"  func.func public @main({', '.join(arguments)}) {{",
            "    return",
            "  }",
            "}",
        ]
    )
    answer = pipeline.export_module(text)
    if not isinstance(answer, pipeline.ExportedModule):
        return [answer] * len(cases)
    texts = re.findall(r'mhlo\.sharding = "([^"]*)"', answer.mhlo_text)
    readable = [text for text in dict.fromkeys(texts) if text != RANK_0_ONE_DEVICE]
    protos = dict(
        zip(readable, run_isolated(proto_from_text, readable, preload=frontend.PRELOAD), strict=True)
    )
    return [Exported(text, protos.get(text)) for text in texts]


def _plain(case: Case) -> Case:
    """The case without what troubles Shardy on the way to the export and leaves no trace in it.

    Those are escaped axis names, and priorities: when Shardy has dropped the axes of size 1, it rejects the
    priority of a dimension that has become empty.
    """
    names = {name: f'"x{k}"' for k, name in enumerate(dict.fromkeys(re.findall(r'"[^"]*"', case.mesh)))}
    mesh, body = (re.sub(r'"[^"]*"', lambda match: names[match[0]], text) for text in (case.mesh, case.body))
    return dataclasses.replace(case, mesh=mesh, body=re.sub(r"\}p\d+", "}", body))
