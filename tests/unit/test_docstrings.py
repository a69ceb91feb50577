"""The docstrings of the public API: an example each, what is raised, and where it comes from upstream."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = (
    "sdy",
    "hlo",
    "bridge",
    "modules",
    "checks",
    "storage",
    "view",
    "errors",
    "source",
    "target",
    "testing",
)


def public() -> Iterator[tuple[str, str, Any]]:
    """Each public class, function and method, with its package."""
    for package in PACKAGES:
        module = importlib.import_module(f"sdybridge.{package}")
        for name in sorted({*vars(module), *getattr(module, "_HOMES", ())}):
            value = None if name[0] == "_" else getattr(module, name)
            if not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            if not value.__module__.startswith(f"sdybridge.{package}"):
                continue
            yield package, name, value
            for member, found in vars(value).items() if inspect.isclass(value) else ():
                function = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
                if member[0] != "_" and inspect.isfunction(function):
                    yield package, f"{name}.{member}", function


EVERY = [pytest.param(*one, id=f"{one[0]}.{one[1]}") for one in public()]


ELSEWHERE = {
    "storage.CoreMemory": "a core dump is needed: docs/how-to/read-memory.md",
    "checks.Program": "abstract: see check_module and open_program",
    "modules.FunctionReport": "see report_functions",
    "modules.KeptCall": "see the field `kept` of ImportResult",
}
"""What has its example in another place, with its members."""


def has_example(text: str) -> bool:
    return ">>> " in text or "\n|---" in text


@pytest.mark.parametrize(("package", "name", "value"), EVERY)
def test_has_a_summary_and_an_example(package: str, name: str, value: Any) -> None:
    text = inspect.getdoc(value) or ""
    summary = text.split("\n")[0]
    assert summary
    assert summary[-1] in ".:", summary
    of = f"{package}.{name.partition('.')[0]}"
    if of not in ELSEWHERE and name not in ("Memory.read", "ProcessMemory.read", "ProcessMemory.close"):
        assert has_example(text)


def raises(function: Any) -> bool:
    """Whether the body itself raises what a caller has to know of."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


def makers(value: Any) -> Iterator[Any]:
    """What makes a value of a class, as far as we wrote it and it takes arguments."""
    for key in ("__new__", "__init__", "__post_init__"):
        made = vars(value).get(key)
        function = getattr(made, "__func__", made)
        written = inspect.isfunction(function) and function.__code__.co_filename != "<string>"
        if written and (key == "__post_init__" or function.__code__.co_argcount > 1):
            yield function


@pytest.mark.parametrize(("package", "name", "value"), EVERY)
def test_says_what_it_raises(package: str, name: str, value: Any) -> None:
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return
    functions = [value] if inspect.isfunction(value) else list(makers(value))
    if any(map(raises, functions)):
        assert "Raises:\n" in (inspect.getdoc(value) or "")


@pytest.mark.parametrize(
    ("package", "name", "value"),
    [one for one in EVERY if one.values[0] in ("sdy", "hlo") and inspect.isclass(one.values[2])],
)
def test_names_its_source(package: str, name: str, value: Any) -> None:
    assert "Source: " in (inspect.getdoc(value) or "")
