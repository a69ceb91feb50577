"""XLA's whole StableHLO export pipeline: the module that enters it and the module that leaves it.

The module is compiled with Shardy inside jaxlib, which dumps the modules around its passes. What enters the
pipeline is the input after propagation, so it, not the input, is what the result was made from. The compiler
is stopped as soon as the dumps are written: host code generation would take far longer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import os
import pickle
import re
import signal
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tests.differential.oracle.isolation import Crash, Rejected, crash_message, run_isolated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PRELOAD = ("jax", "jax._src.compiler", "jax._src.interpreters.mlir", "numpy")
NAMED = "--xla_enable_hlo_sharding_v3=true"
"""The flag by which XLA writes and reads shardings over named meshes."""
_TIMEOUT = 200.0
_POLL = 0.01


@dataclasses.dataclass(frozen=True)
class ExportedModule:
    """The pair of modules around XLA's export pipeline.

    Attributes:
        sdy_text: The module that enters it: Shardy attributes, after propagation.
        mhlo_text: The module that leaves it: `mhlo.sharding` attributes.
    """

    sdy_text: str
    mhlo_text: str

    @property
    def is_valid(self) -> bool:
        """Whether what enters holds to Shardy's rules.

        Propagation now and then breaks them, as by `{"x":(1)2, "x":(2)2}`; then XLA prints the module in the
        generic form, and goes on.
        """
        return not self.sdy_text.startswith('"builtin.module"')


def export_module(text: str) -> ExportedModule | Crash | Rejected:
    """XLA's pair of modules for one input."""
    return export_modules([text])[0]


def export_modules(texts: Sequence[str]) -> list[ExportedModule | Crash | Rejected]:
    """XLA's pairs of modules for many inputs, with one start of the interpreter."""
    return run_isolated(compile_until_dumped, texts, preload=PRELOAD)


def export_named_modules(texts: Sequence[str]) -> list[ExportedModule | Crash | Rejected]:
    """The same with the option by which XLA writes shardings over named meshes."""
    return run_isolated(compile_named_until_dumped, texts, preload=PRELOAD)


def export_modules_cached(texts: Sequence[str], directory: Path) -> list[ExportedModule | Crash | Rejected]:
    """The same, with the answers kept in `directory` under the input's hash and jaxlib's version."""
    directory.mkdir(parents=True, exist_ok=True)
    release = version("jaxlib")
    files = [directory / hashlib.sha256(f"{release}\n{text}".encode()).hexdigest() for text in texts]
    missing = [k for k, file in enumerate(files) if not file.exists()]
    answers = export_modules([texts[k] for k in missing]) if missing else []
    for k, answer in zip(missing, answers, strict=True):
        partial = files[k].with_suffix(f".{os.getpid()}")  # tests may run in several processes
        partial.write_bytes(pickle.dumps(answer))
        partial.replace(files[k])
    return [pickle.loads(file.read_bytes()) for file in files]


def compile_named_until_dumped(text: str) -> ExportedModule | Crash | Rejected:
    """`compile_until_dumped` with named shardings (runs isolated)."""
    return compile_until_dumped(text, (NAMED,))


def compile_until_dumped(text: str, flags: Sequence[str] = ()) -> ExportedModule | Crash | Rejected:
    """Compiles until the export is done (runs isolated)."""
    # The next dump after the pipeline shows that the pipeline's own are closed.
    with compile_until(text, "*after_shardy-xla*", flags=flags) as compilation:
        before = next(compilation.dumps.glob("shardy/*/03.*.mlir"), None)
        after = next(compilation.dumps.glob("shardy/*/04.output_module.mlir"), None)
        if before and after:
            return ExportedModule(before.read_text(), after.read_text())
        return compilation.failure


@dataclasses.dataclass(frozen=True)
class Compilation:
    """A compilation that ended or was stopped.

    Attributes:
        dumps: The directory with the modules that XLA dumped.
        failure: Why it ended, if it ended by itself.
    """

    dumps: Path
    failure: Crash | Rejected


@contextlib.contextmanager
def compile_until(
    text: str, dump: str, open_parameters: Sequence[bool] = (), flags: Sequence[str] = ()
) -> Iterator[Compilation]:
    """Compiles in a further fork, which is killed when a file of the glob pattern `dump` shows up.

    Args:
        text: The module.
        dump: The pattern, inside the directory of dumps.
        open_parameters: Which of main's parameters propagation may shard further.
        flags: Further flags of XLA's.
    """
    with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
        dumps, errors = Path(scratch, "dumps"), Path(scratch, "stderr")
        compiler = os.fork()
        if compiler == 0:
            _compile(text, dumps, errors, open_parameters, flags)
        status = _wait(compiler, dumps, dump)
        stderr = errors.read_text(errors="replace")
        exited = os.WIFEXITED(status)
        yield Compilation(dumps, Rejected(stderr.strip()) if exited else Crash(crash_message(stderr, status)))


def _wait(compiler: int, dumps: Path, dump: str) -> int:
    """Waits for the dump, kills the compiler, and returns its exit status."""
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        done, status = os.waitpid(compiler, os.WNOHANG)
        if done:
            return status
        if next(dumps.glob(dump), None):
            break
        time.sleep(_POLL)
    os.kill(compiler, signal.SIGKILL)
    return os.waitpid(compiler, 0)[1]


def _compile(
    text: str, dumps: Path, errors: Path, open_parameters: Sequence[bool], flags: Sequence[str]
) -> None:
    descriptor = os.open(errors, os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(descriptor, 2)
    try:
        _compile_here(text, dumps, open_parameters, flags)
    except BaseException as error:  # noqa: BLE001  (a fork must not return into its parent's code)
        os.write(2, str(error).encode())
    os._exit(1)


def _compile_here(text: str, dumps: Path, open_parameters: Sequence[bool], flags: Sequence[str]) -> None:
    import jax
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters.mlir import make_ir_context
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir

    replicas, partitions = _device_counts(text)
    count = f"--xla_force_host_platform_device_count={replicas * partitions}"
    os.environ["XLA_FLAGS"] = " ".join([count, *flags])
    client = jax.devices()[0].client
    devices = client.devices()[: replicas * partitions]
    options = compiler.get_compile_options(
        num_replicas=replicas,
        num_partitions=partitions,
        device_assignment=np.arange(replicas * partitions).reshape(replicas, partitions),
    )
    build = options.executable_build_options
    build.use_shardy_partitioner = True
    if open_parameters:
        build.allow_spmd_sharding_propagation_to_parameters = list(open_parameters)
    build.debug_options.xla_dump_to = str(dumps)
    build.debug_options.xla_dump_hlo_pass_re = "shardy"
    with make_ir_context():
        client.compile_and_load(ir.Module.parse(text), xla_client.DeviceList(tuple(devices)), options)


def _device_counts(text: str) -> tuple[int, int]:
    """Replicas and partitions: from the module's attributes, or else enough for its largest mesh."""
    replicas = re.search(r"mhlo\.num_replicas = (\d+)", text)
    partitions = re.search(r"mhlo\.num_partitions = (\d+)", text)
    meshes = re.findall(r"sdy\.mesh(?: @\S+ =)? ?<\[([^\]]*)\]", text)
    sizes = [math.prod(int(size) for size in re.findall(r'"=(\d+)', mesh)) for mesh in meshes]
    maximal = [int(device) + 1 for device in re.findall(r"device_ids=\[(\d+)\]>", text)]
    least = max([2, *sizes, *maximal])  # with one partition XLA skips Shardy altogether
    return int(replicas.group(1)) if replicas else 1, int(partitions.group(1)) if partitions else least
