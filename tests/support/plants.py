"""Planted faults: a small change of a rule while a test runs, to see whether a check finds it.

A fault replaces a piece of a function's text. The function keeps its identity, so all modules that imported
it run the changed code.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any


@dataclass(frozen=True)
class Fault:
    """A change of one function of the product.

    Attributes:
        name: what is wrong then.
        module: the function's module, below `parquetry`.
        function: its name, with its class if it is a method.
        text: the piece of the module's text that is replaced; it stands there once.
        wrong: the text in its place.
        statements: queries, each of which makes a claim that is wrong then; `{n}` is a number that no other
            query has, so that no answer is known before.
    """

    name: str
    module: str
    function: str
    text: str
    wrong: str
    statements: tuple[str, ...]


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Change the product's code within the block.

    Raises:
        AssertionError: the module has not that text, or has it several times.
    """
    module = importlib.import_module(f"parquetry.{fault.module}")
    text = inspect.getsource(module)
    assert text.count(fault.text) == 1, f"{fault.name}: the text occurs {text.count(fault.text)} times"
    function = _function(module, fault.function)
    right = function.__code__
    function.__code__ = _changed(module, text.replace(fault.text, fault.wrong), fault.function).__code__
    try:
        yield
    finally:
        function.__code__ = right


def _function(of: Any, name: str) -> FunctionType:
    for part in name.split("."):
        of = inspect.getattr_static(of, part)
    of = of.fget if isinstance(of, property) else of.__func__ if isinstance(of, staticmethod) else of
    assert isinstance(of, FunctionType)
    return of


def _changed(module: ModuleType, text: str, name: str) -> FunctionType:
    copy = ModuleType(module.__name__)
    copy.__dict__.update({"__file__": module.__file__, "__package__": module.__package__})
    exec(compile(text, str(module.__file__), "exec"), copy.__dict__)
    return _function(copy, name)
