"""What `import sdybridge` and its common uses load, each in an interpreter of its own."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sdybridge

SOURCE = Path(sdybridge.__file__).parents[1]

MESH = "mesh = sdybridge.MeshAttr.from_sizes({'x': 2, 'y': 4})\n"
SHARDING = "sharding = sdybridge.TensorShardingAttr.from_string('<@m, [{\"y\"}, {}]>')\n"
USES = {
    "import": "",
    "parse": SHARDING,
    "convert": f"{MESH}{SHARDING}print(sdybridge.convert_to_hlo_sharding(sharding, mesh))\n",
    "losses": f"{MESH}{SHARDING}print(sdybridge.export_losses(sharding, mesh))\n",
    "module": "print(sdybridge.export_module('sdy.mesh @m = <[\"x\"=2]>').text)\n",
    "error": (
        "try:\n    sdybridge.TensorShardingAttr.from_string('<')\n"
        "except sdybridge.SdyBridgeError as error:\n    print(error)\n"
    ),
    "pickle": f"import pickle\n{SHARDING}assert pickle.loads(pickle.dumps(sharding)) is sharding\n",
    "explain": f"{MESH}{SHARDING}print(sdybridge.explain(sharding, mesh=mesh, shape='f32[8,8]'))\n",
    "compare": f"{MESH}{SHARDING}print(sdybridge.explain(sharding, '[{{}}, {{}}]', mesh=mesh))\n",
    "draw": f"{MESH}{SHARDING}print(sdybridge.draw(sharding, mesh=mesh).to_svg())\n",
    "command": "import sdybridge.cli\n",
}
MAY_LOAD = {"command": {"click"}}


@pytest.mark.parametrize("use", USES)
def test_loads_no_third_party_module(use: str) -> None:
    program = (
        "import sys\n"
        f"sys.path.insert(0, {str(SOURCE)!r})\n"
        "before = set(sys.modules)\n"
        "import sdybridge\n"
        f"{USES[use]}"
        "print('loaded:', *{name.partition('.')[0] for name in set(sys.modules) - before})\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.rpartition("loaded:")[2].split())
    assert "sdybridge" in loaded
    assert loaded - sys.stdlib_module_names - {"sdybridge"} <= MAY_LOAD.get(use, set())


def test_explaining_one_sharding_reads_no_programs() -> None:
    """The command answers at once: what reads whole programs, and what is slow to load, stays out."""
    program = (
        "import atexit, sys\n"
        f"sys.path.insert(0, {str(SOURCE)!r})\n"
        "sys.argv = ['sdybridge', 'explain', '{devices=[4,2]<=[8]}', '--shape', 'f32[8,8]']\n"
        "atexit.register(lambda: print('loaded:', *sys.modules))\n"
        "import sdybridge.__main__\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = run.stdout.rpartition("loaded:")[2].split()
    assert "sdybridge.view.explainer" in loaded
    slow = {"modules", "checks", "storage", "numpy", "rich", "google", "shutil", "click"}
    assert not slow & {part for name in loaded for part in name.split(".")[:2]}


def test_public_names() -> None:
    """The package has what it promises, and each name leads to a documented object."""
    tree = ast.parse(Path(sdybridge.__file__).read_text(encoding="utf-8"))
    names = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sdybridge.")
        for alias in node.names
    }
    assert {name: f"sdybridge.{home}" for name, home in sdybridge._HOMES.items()} == names
    for name in sdybridge._HOMES:
        assert name in dir(sdybridge)
        assert getattr(sdybridge, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sdybridge.nothing  # noqa: B018
