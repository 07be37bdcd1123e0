"""A name says what a thing is: no two classes share a name, and a limit says what it limits.

No name is a private word of the old code.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.support.product_imports import ROOT, modules, nodes

SHARED_CLASSES: dict[str, str] = {}
"""Classes that may share their name with another class, with the reason.

A new entry needs a good reason.
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
NO_PARTICIPLES = frozenset(("embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"))
"""Verbs and nouns that end like a participle."""
IRREGULAR_PARTICIPLES = frozenset(
    (
        "begun", "bound", "built", "chosen", "done", "drawn", "found", "given", "gone", "grown", "held", "kept", "known",
        "laid", "left", "lost", "made", "meant", "said", "seen", "sent", "shown", "spelt", "taken", "told", "written",
    )
)  # fmt: skip
"""Participles that do not end in -ed, and are no verbs: `read`, `set`, `put`, `cut` and `split` are."""
NOUNLESS_WORDS = frozenset(("found", "place", "places"))
"""Words of the glossary that hide a noun: location, slot, position, index, or the result of a search."""
MAX_OLD_NAMES = {
    "adoption": 0,
    "catalog": 0,
    "cli": 0,
    "compaction": 0,
    "config": 0,
    "data_files": 0,
    "ddl": 0,
    "definition": 0,
    "hashing": 0,
    "layout": 0,
    "locations": 0,
    "metastore": 3,
    "operations": 0,
    "publishing": 0,
    "spark": 0,
    "sqltext": 0,
    "store": 0,
    "testing": 0,
    "verification": 0,
    "modules of no room": 0,
}
"""The largest number of old names (`old_names`) of each room. No change makes it larger.

In `metastore`, `Check.found` is a key of the JSON of `doctor`; the other two are in `access`.
"""


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


def is_participle(name: str) -> bool:
    """Return whether a name is a participle alone, or `without`, and so does not say what a function does.

    >>> [is_participle(name) for name in ("_joined", "without", "join", "joined_name", "need", "kept")]
    [True, True, False, False, False, True]
    """
    word = name.strip("_").lower()
    ends = word.endswith("ed") and "_" not in word and word not in NO_PARTICIPLES
    return ends or word in IRREGULAR_PARTICIPLES or word == "without"


def old_names() -> Iterator[tuple[str, str]]:
    """Yield each old name that a room defines, with the room.

    A function or method is old if it is named by a participle alone; properties are not counted. A variable,
    argument or field is old if one of the words in its name is `place`, `places` or `found`.
    """
    for path, tree in modules().values():
        parts = path.relative_to(ROOT).parts
        room = parts[0] if len(parts) > 1 else "modules of no room"
        for node in nodes(tree):
            match node:
                case ast.FunctionDef(name=name, decorator_list=decorators):
                    if is_participle(name) and not any(
                        "property" in ast.unparse(decorator) for decorator in decorators
                    ):
                        yield room, name
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    if not NOUNLESS_WORDS.isdisjoint(name.lower().split("_")):
                        yield room, name


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


@pytest.mark.parametrize("room", MAX_OLD_NAMES)
def test_functions_are_verbs_and_variables_are_nouns(room: str) -> None:
    """A room gains no function that is named by a participle, and no variable named `place` or `found`."""
    names = sorted(name for of, name in old_names() if of == room)
    assert len(names) <= MAX_OLD_NAMES[room], names
