"""Who may import whom, and what may be loaded and printed where."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sdybridge

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(sdybridge.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if not path.name.endswith("_pb2.py"))

BASE = {"source", "errors", "target"}
CORE = BASE | {"sdy", "hlo"}
WHOLE = CORE | {"bridge", "modules"}
MAY_IMPORT = {
    "source": set[str](),
    "target": set[str](),
    "errors": {"source"},
    "sdy": BASE,
    "hlo": BASE,
    "bridge": CORE,
    "storage": CORE,
    "modules": CORE | {"bridge"},
    "interop": CORE | {"bridge"},
    "checks": WHOLE,
    "testing": WHOLE | {"checks"},
    "view": WHOLE | {"checks"},
    "cli": WHOLE | {"checks", "view", "storage", "interop", ""},
    "__main__": {"cli"},
    "": WHOLE | {"storage", "interop", "checks", "view"},  # the package itself: the public names
}
CHILD_PROCESSES = {"interop/print_bytecode.py", "storage/gdb.py", "storage/lldb.py"}
"""Programs of their own, whose output another module or a shell reads."""
THIRD_PARTY = {"cli": {"click"}}
"""What a package may import when it is loaded, besides the standard library."""
IN_DEBUGGERS = {"storage/gdb_script.py": {"gdb"}, "storage/lldb_script.py": {"lldb"}}
"""What a script may import that only the debugger runs."""


def package(path: Path) -> str:
    """The part of sdybridge that a file belongs to: a folder, a module beside the folders, or the package."""
    first = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every module that is imported anywhere in a file, and the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (
                (node.lineno, name if node.module == "sdybridge" else str(node.module)) for name in names
            )


def loaded(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every module that is imported when a file is loaded: not in functions, not for type checkers."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imports(node)
        waiting += ast.iter_child_nodes(node)


def read(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_package_is_in_the_table() -> None:
    assert {package(path) for path in FILES} <= set(MAY_IMPORT)


def test_the_table_has_no_cycles() -> None:
    for name, allowed in MAY_IMPORT.items():
        assert name not in allowed
        assert all(name not in MAY_IMPORT[other] or not name for other in allowed - {""})
    assert not any("cli" in allowed for name, allowed in MAY_IMPORT.items() if name != "__main__")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports(path: Path) -> None:
    """Also those inside functions and those for type checkers."""
    here = package(path)
    for line, name in imports(read(path)):
        top, _, rest = name.partition(".")
        if top != "sdybridge":
            continue
        other = rest.partition(".")[0]
        other = other if (ROOT / other).is_dir() or (ROOT / f"{other}.py").is_file() else ""
        assert other in MAY_IMPORT[here] | {here}, f"{path}:{line}: {here or 'sdybridge'} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_heavy_is_loaded(path: Path) -> None:
    special = IN_DEBUGGERS.get(path.relative_to(ROOT).as_posix(), set())
    allowed = {"sdybridge", *special, *THIRD_PARTY.get(package(path), ()), *sys.stdlib_module_names}
    for line, name in loaded(read(path)):
        assert name.partition(".")[0] in allowed, f"{path}:{line}: {name} is loaded with the package"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_prints(path: Path) -> None:
    if package(path) == "cli" or path.relative_to(ROOT).as_posix() in CHILD_PROCESSES:
        return
    for node in ast.walk(read(path)):
        if isinstance(node, ast.Attribute | ast.Name):
            used = ast.unparse(node)
            assert used not in {"print", "sys.stdout", "sys.stderr"}, f"{path}:{node.lineno}: {used}"


def test_the_reader_of_imports_sees_them() -> None:
    """The checks above pass for a file without imports; these are imports."""
    tree = ast.parse(
        "import numpy, sdybridge.cli.export\nfrom sdybridge import hlo, bridge\n"
        "from sdybridge.sdy.mesh import A\n"
        "if TYPE_CHECKING:\n    import click\ndef f():\n    import rich\n"
        "class C:\n    import jax\ntry:\n    import torch\nexcept ImportError: pass\n"
    )
    assert sorted(name for _, name in imports(tree)) == [
        "click",
        "jax",
        "numpy",
        "rich",
        "sdybridge.bridge",
        "sdybridge.cli.export",
        "sdybridge.hlo",
        "sdybridge.sdy.mesh",
        "torch",
    ]
    assert {name for _, name in loaded(tree)} == {name for _, name in imports(tree)} - {"click", "rich"}
