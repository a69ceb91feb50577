"""XLA's warning of a full rematerialisation, explained; and the program that follows the explanation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

from click.testing import CliRunner

from sdybridge.cli import cli

COMPILE = """
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
before, after = NamedSharding(mesh, P("y", None, "x")), NamedSharding(mesh, P(None, ("x", "y"), None))
given = jax.ShapeDtypeStruct((16, 16, 16), np.float32)


def step(a, b, *between):
    d = a + a
    for sharding in (*between, after):
        d = jax.lax.with_sharding_constraint(d, sharding)
    return b + d


for between in ((), (NamedSharding(mesh, P("y", "x", None)),)):
    f = jax.jit(lambda a, b: step(a, b, *between), in_shardings=(before, after), out_shardings=after)
    print(f.lower(given, given).compile().as_text())
    print("===")
"""


def test_the_way_that_is_explained_is_the_way_that_xla_goes() -> None:
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", COMPILE]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | devices)
    result = CliRunner().invoke(cli, ["explain", "-", "--mesh", "x=4,y=2", "--json"], input=done.stderr)
    (found,) = json.loads(result.stdout)
    assert found["before"]["tensor"]["shape"] == [16, 16, 16]  # the warning has one device's part
    assert [step["kind"] for step in found["steps"]] == ["all-to-all", "all-to-all"]
    assert found["steps"][0]["dims_after"] == [['"y"'], ['"x"'], []]  # what the second program goes through
    plain, guided, _ = done.stdout.split("===\n")
    assert collectives(plain) == ["all-gather", "all-gather"]
    assert collectives(guided) == ["all-to-all", "all-to-all"]


def collectives(hlo: str) -> list[str]:
    return re.findall(r" (all-gather|all-to-all|collective-permute|all-reduce)\(", hlo)
