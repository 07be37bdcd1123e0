"""The files of tests that a change can reach, for `make test CHANGED=REV`.

A change of the product reaches the tests that enter a function of a changed module (`recording`). If more
than bodies of functions has changed, tests that enter an importer of the module are reached, too.
A change of tests reaches the tests that import what has changed, and those below a changed `conftest.py`. Any
other file reaches the tests whose code names it or its folder. The bridge reaches all that need Spark, and
`pyproject.toml` reaches all.

Tests that are not in the map always run, and so do tests that enter no function of the product in their own
process: their programs run in processes of their own, or they read the product as text.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from tests.support.product_imports import ROOT as PRODUCT, imports, modules
from tests.support.reach.recording import ROOT, read_map

_BRIDGE = "bridge/"
_DEPENDENCIES = "pyproject.toml"
RUNNERS = {
    ".test": "tests/support/statements/collecting.py",
    ".table": "tests/support/join_tables/collecting.py",
}
"""The endings of files of statements and of table files, and the modules that collect them."""
_OF_SPARK = ("tests/spark/", "tests/servers/")


def reached(revision: str, files: Iterable[str]) -> set[str]:
    """Return the files of tests that changes since a revision can reach.

    Args:
        revision: of git, such as ``main`` or ``HEAD~1``; the working tree is compared with it.
        files: all files of tests; paths are relative to the project.

    Raises:
        ValueError: git knows no such revision.
    """
    changed = set(changed_since(revision))
    affected = {module for path in changed if path.startswith("src/") for module in _affected(path, revision)}
    others = {
        path
        for path in changed
        if not path.startswith(("src/", "tests/")) or not path.endswith((".py", *RUNNERS))
    }
    recorded = read_map()
    return {
        file
        for file in files
        if not recorded.get(file)
        or recorded[file] & affected
        or _sources(file) & changed
        or any(_names(file, other) for other in others)
    }


def changed_since(revision: str) -> list[str]:
    """Return the paths that differ from a revision, also of files that git does not know yet.

    Raises:
        ValueError: git knows no such revision.
    """
    try:
        differing = _git("diff", "--name-only", "--no-renames", revision, "--")
    except subprocess.CalledProcessError as error:
        raise ValueError(
            f"CHANGED={revision}: {error.stderr.strip()}. Name a commit, branch or tag."
        ) from error
    return [*differing.splitlines(), *_git("ls-files", "--others", "--exclude-standard").splitlines()]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _affected(path: str, revision: str) -> Iterator[str]:
    """Yield the files of the product whose users a changed file of the product reaches."""
    now = (ROOT / path).read_text() if (ROOT / path).exists() else ""
    try:
        before = _git("show", f"{revision}:{path}")
    except subprocess.CalledProcessError:  # it is new
        before = ""
    if not path.endswith(".py") or _meaning(now) == _meaning(before):
        return
    yield path
    if _meaning(now, with_bodies=False) != _meaning(before, with_bodies=False):
        yield from _importers(path)


def _meaning(source: str, *, with_bodies: bool = True) -> str:
    """Return a module without comments, docstrings, and bodies of functions if these do not count."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if function or isinstance(node, ast.ClassDef | ast.Module):
            if node.body and ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:]
            if function and not with_bodies:
                node.body = []
    return ast.dump(tree)


def _importers(path: str) -> Iterator[str]:
    places = {name: file.relative_to(PRODUCT.parents[1]).as_posix() for name, (file, _) in modules().items()}
    for name, wanted in imports():
        if places.get(wanted) == path:
            yield places[name]


@functools.cache
def _sources(file: str) -> frozenset[str]:
    """Return a file of tests, each `conftest.py` above it, and what they import of the tests."""
    found: set[str] = set()
    waiting = [file, *((parent / "conftest.py").as_posix() for parent in PurePosixPath(file).parents)]
    while waiting:
        path = waiting.pop()
        if path not in found and (ROOT / path).exists():
            found.add(path)
            waiting += _imported_tests(path)
    return frozenset(found)


@functools.cache
def _imported_tests(path: str) -> tuple[str, ...]:
    if not path.endswith(".py"):
        included = re.findall(r"^include (.+)$", (ROOT / path).read_text(), re.M)
        runner = RUNNERS.get(PurePosixPath(path).suffix, RUNNERS[".test"])
        return (runner, *((PurePosixPath(path).parent / name).as_posix() for name in included))
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    ours = [
        name.replace(".", "/") for name in names if name.partition(".")[0] in ("tests", "benchmarks", "demo")
    ]
    return tuple(f"{name}{end}" for name in ours for end in (".py", "/__init__.py"))


def _names(file: str, other: str) -> bool:
    """Return whether a file of tests, or what it imports of the tests, names another file or its folder."""
    if other == _DEPENDENCIES or (other.startswith(_BRIDGE) and file.startswith(_OF_SPARK)):
        return True
    words = map(re.escape, filter(None, (PurePosixPath(other).name, PurePosixPath(other).parent.name)))
    word = re.compile(rf"""["'/ ]({"|".join(words)})["'/ ]""")
    return any(word.search(_text(source)) for source in _sources(file))


@functools.cache
def _text(path: str) -> str:
    return Path(ROOT, path).read_text()
