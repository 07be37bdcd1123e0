"""A name says what a thing is: no two classes share a name, and a limit says what it limits.

No name is a private word of the old code.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.support.product_imports import ROOT, modules, nodes

SHARED_CLASSES: dict[str, str] = {}
"""Classes that may share their name with another class, with the reason.

It is empty, and a new entry needs a good reason.
"""
PRIVATE_WORDS = frozenset(
    (
        "asked", "by", "cheap", "cut", "dear", "doomed", "ends", "found", "given", "gone", "held", "hold", "judge", "judged",
        "known", "left", "lies", "looked", "lost", "of", "place", "places", "sparks", "spared", "taken", "tells", "told",
    )
)  # fmt: skip
"""Words of the glossary in CONTRIBUTING that no class, function or constant is named by alone."""
BARE_LIMITS = frozenset(
    (
        "BATCH", "BYTES", "ENOUGH", "FEW", "FILES", "GAIN", "KEPT", "LARGE", "LARGEST", "LEAST", "LIMIT", "LONG", "LONGEST",
        "MANY", "MOST", "OFTEN", "PARTITIONS", "RANGES", "ROWS", "SHARE", "SMALL", "STEP", "SURE", "THREADS", "WELL", "WORTH",
        "AT_ONCE",
    )
)  # fmt: skip
"""Names of constants that have neither the limited thing nor the unit."""
EXCEPTIONS: dict[str, str] = {}
"""Definitions that may have such a name, as path and name, and why."""


def definitions() -> Iterator[tuple[str, ast.AST, str]]:
    """Yield the path, the node and the name of each class, each function, and each constant of a module."""
    for path, tree in modules().values():
        module = str(path.relative_to(ROOT))
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield module, node, node.name
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                for name in ast.walk(target) if isinstance(target, ast.expr) else ():
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        yield module, node, name.id


def is_number(node: ast.AST) -> bool:
    """Return whether a constant is made of numbers alone: `1000`, `32 << 20`, `0.5`, `-1`."""
    return all(
        (isinstance(part, ast.Constant) and isinstance(part.value, int | float))
        or isinstance(part, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        for part in ast.walk(node)
    )


def test_no_two_classes_share_a_name() -> None:
    """A name of a class means one thing in all of the product."""
    classes = defaultdict(list)
    for path, node, name in definitions():
        if isinstance(node, ast.ClassDef):
            classes[name].append(path)
    assert {
        name: paths for name, paths in classes.items() if len(paths) > 1 and name not in SHARED_CLASSES
    } == {}
    assert all(len(classes[name]) > 1 for name in SHARED_CLASSES), "a reason that is no longer needed"


def test_no_name_is_a_private_word_alone() -> None:
    """The name of a class, a function or a constant is a noun of the field or a verb.

    It is not a private word of this code.
    """
    private = {
        f"{path}:{name}" for path, _, name in definitions() if name.strip("_").lower() in PRIVATE_WORDS
    }
    assert private == set(EXCEPTIONS)


def test_limits_say_what_they_limit() -> None:
    """A constant that is a number has a name that says of what, as `FILES_PER_BATCH` does."""
    bare = {
        f"{path}:{name}"
        for path, node, name in definitions()
        if isinstance(node, ast.Assign) and name.strip("_") in BARE_LIMITS and is_number(node.value)
    }
    assert bare == set()
