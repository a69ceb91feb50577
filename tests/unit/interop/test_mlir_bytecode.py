"""Bytecode and files of `jax.export`, made by JAX from a real program, against the text that JAX prints."""

from __future__ import annotations

import importlib.util
import io
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from click.testing import CliRunner
from jax import export
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

from sdybridge.cli import cli
from sdybridge.errors import ParseError
from sdybridge.interop import is_bytecode, read_bytecode
from sdybridge.modules import export_module

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lowered() -> jax.stages.Lowered:
    mesh = AbstractMesh((2, 4), ("x", "y"))
    sharded = NamedSharding(mesh, PartitionSpec("x", "y"))
    argument = jax.ShapeDtypeStruct((8, 16), jnp.float32, sharding=sharded)
    return jax.jit(lambda a: a * 2 + a).trace(argument).lower(lowering_platforms=("cpu",))


@pytest.fixture(scope="module")
def exported() -> export.Exported:
    mesh = AbstractMesh((2, 4), ("x", "y"))
    sharded = NamedSharding(mesh, PartitionSpec("x", "y"))
    argument = jax.ShapeDtypeStruct((8, 16), jnp.float32, sharding=sharded)
    return export.export(jax.jit(lambda a: a * 2 + a), platforms=["cpu"])(argument)


def bytecode(lowered: jax.stages.Lowered) -> bytes:
    file = io.BytesIO()
    lowered.compiler_ir("stablehlo").operation.write_bytecode(file)
    return file.getvalue()


def test_bytecode(lowered: jax.stages.Lowered) -> None:
    data = bytecode(lowered)
    assert is_bytecode(data)
    assert read_bytecode(data) == lowered.as_text()


def test_portable_artifact(exported: export.Exported) -> None:
    data = exported.mlir_module_serialized
    assert is_bytecode(data)
    assert export_module(read_bytecode(data)).sites > 0


def test_file_of_jax_export(exported: export.Exported) -> None:
    data = bytes(exported.serialize())
    assert is_bytecode(data)
    assert read_bytecode(data) == read_bytecode(exported.mlir_module_serialized)


def test_command(lowered: jax.stages.Lowered, tmp_path: Path) -> None:
    file = tmp_path / "step.mlirbc"
    file.write_bytes(bytecode(lowered))
    result = CliRunner().invoke(cli, ["export", str(file), "--quiet"])
    assert result.exit_code == 0
    assert result.stdout == export_module(lowered.as_text()).text


@pytest.mark.parametrize("data", [b"module {}", b"", b"\0\0\0\0", b"// ML\xef", 'x = "ML\xefR"'.encode()])
def test_other_data(data: bytes) -> None:
    assert not is_bytecode(data)


@pytest.mark.parametrize("end", [4, 9, 40, -1])
def test_cut_bytecode(lowered: jax.stages.Lowered, end: int) -> None:
    with pytest.raises(ParseError, match=r"^step\.mlirbc:1:1: error: jaxlib cannot read the bytecode"):
        read_bytecode(bytecode(lowered)[:end], name="step.mlirbc")


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ParseError) as caught:
        read_bytecode(b"ML\xefR", name="step.mlirbc")
    assert str(caught.value) == (
        "step.mlirbc:1:1: error: MLIR bytecode is read by jaxlib, which is not installed\n"
        "ML.R\n^~~~\nhelp: pip install 'sdybridge[jax]'"
    )
