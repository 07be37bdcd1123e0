"""The `__init__` of each package says what the package is for.

A room is a package directly below `parquetry`, and its `__init__` is its door: it exports exactly the names
that other rooms use. All other names stay inside.
"""

from __future__ import annotations

import ast
import functools
import importlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.support.product_imports import ROOT, defining, handed_on, modules, nodes

NAMESPACES = {
    "ddl/rewrite",
    "definition/bucketing",
    "definition/constraints",
    "locations/file_names",
    "planner/protocol/answers",
    "prune/steps",
    "spark/bridge_jar",
}
"""Modules that other rooms use by the module's name, as in `answers.Plan`."""
FRONTS = {
    "parquetry.catalog": "the public API, with results of operations",
    "parquetry.metastore": "what tests and benchmarks make tables of",
}
"""Doors that also hand on names of other rooms, each with a reason."""
REGISTRIES = {
    "parquetry.planner.protocol.questions": "the list of questions",
}
"""Doors with code of their own, which loads all modules of the room."""
CLIENTS = ("tests", "benchmarks", "demo")
"""Folders beside the product; what they take from a door is used."""


def packages() -> list[str]:
    """Return the packages below the root, by name."""
    found = {name.removesuffix(".__init__") for name in modules() if name.endswith(".__init__")}
    return sorted(found - {"parquetry"})


def rooms() -> list[str]:
    """Return the packages with a door, by name."""
    return [package for package in packages() if package.count(".") == 1 or package in REGISTRIES]


def room_of(module: str) -> str | None:
    """Return the room directly below `parquetry` that a module is in, if it is in one."""
    room = ".".join(module.split(".")[:2])
    return room if room in rooms() else None


def is_within(module: str, room: str) -> bool:
    """Return whether a module is in a room, or in one of its sub-rooms."""
    return f"{module}.".startswith(f"{room}.")


@functools.cache
def taken(tree: ast.Module) -> tuple[tuple[str, str], ...]:
    """Return the names that a module takes from other modules of ours, each with its module.

    A name taken through a package counts, too, as in `ms.Column`.
    """
    return tuple(_taken(tree))


def _taken(tree: ast.Module) -> Iterator[tuple[str, str]]:
    room_names = {}
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "parquetry":
            for alias in node.names:
                yield str(node.module), alias.name
                if f"{node.module}.{alias.name}.__init__" in modules():
                    room_names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in nodes(tree):
        if (
            isinstance(node, ast.Attribute)
            and not node.attr.startswith("__")
            and isinstance(node.value, ast.Name)
            and node.value.id in room_names
        ):
            yield room_names[node.value.id], node.attr


def exports(room: str) -> set[str]:
    """Return the names that a door hands out."""
    if room not in REGISTRIES:
        return {name for name, (module, _) in handed_on(room).items() if module != "parquetry.lazy_exports"}
    _, tree = modules()[f"{room}.__init__"]
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{room} has no __all__")


def test_rooms_take_names_from_doors() -> None:
    """A module takes names of another room from its `__init__`, not from the modules within.

    A name that is also a module's is an exception.
    """
    past = [
        f"{name}: from {module} import {wanted}"
        for name, (_, tree) in modules().items()
        for module, wanted in taken(tree)
        for room in [room_of(module)]
        if room is not None and not is_within(name, room) and module not in {room, *REGISTRIES}
        if not {f"{module}.{wanted}", f"{module}.{wanted}.__init__", f"{room}.{wanted}"} & modules().keys()
    ]
    assert past == []


def test_modules_used_as_namespaces_are_known() -> None:
    """Other rooms use these modules by the module's name, and no others."""
    used = {
        f"{module}.{wanted}"
        for name, (_, tree) in modules().items()
        for module, wanted in taken(tree)
        if f"{module}.{wanted}" in modules() and module != "parquetry"
        if not is_within(name, str(room_of(module)))
    }
    assert {name.removeprefix("parquetry.").replace(".", "/") for name in used} == NAMESPACES


def test_doors_hand_out_what_others_use() -> None:
    """A package exports each name that others take from it, and no other.

    The public API may export more.
    """
    used = defaultdict(set)
    for name, (_, tree) in modules().items():
        for module, wanted in taken(tree):
            if not is_within(name, module):
                used[module].add(wanted)
    for folder in CLIENTS:
        for path in (Path(__file__).parents[2] / folder).rglob("*.py"):
            for module, wanted in taken(ast.parse(path.read_text())):
                used[module].add(wanted)
    for room in rooms():
        inside = {
            name.removeprefix(f"{room}.").partition(".")[0] for name in modules() if is_within(name, room)
        }
        assert used[room] - inside <= exports(room), f"{room} does not hand these out"
        if room != "parquetry.catalog":
            assert exports(room) <= used[room], f"{room} hands out what nobody takes"
        assert exports(room).isdisjoint(inside), f"{room} has modules of these names"


def test_only_fronts_hand_on_names_of_other_rooms() -> None:
    """A door hands out what modules of the room define; a front may hand on more."""
    for room in rooms():
        foreign = {name for name in exports(room) if not is_within(defining(room, name), room)}
        assert not foreign or room in FRONTS, f"{room}: {foreign}"


def test_inner_packages_have_no_doors() -> None:
    """Within a room, modules import modules: the `__init__` of an inner package only says what it is for."""
    more = [
        package
        for package in packages()
        if package not in rooms() and len(modules()[f"{package}.__init__"][1].body) > 1
    ]
    assert more == []


def test_doors_say_what_rooms_are_for() -> None:
    """The docstring of a door has a few lines."""
    short = [
        room
        for room in packages()
        if len((ast.get_docstring(modules()[f"{room}.__init__"][1]) or "").splitlines()) < 2
    ]
    assert short == []


def test_python_finds_what_type_checkers_see() -> None:
    """A package exports the names that its imports for type checkers have.

    Each name can be imported, apart from Spark's packages.
    """
    for room in rooms():
        door = importlib.import_module(room)
        assert set(getattr(door, "__all__", ())) == exports(room), room
        if not is_within(room, "parquetry.spark"):
            for name in exports(room):
                getattr(door, name)


def test_doors_load_no_module() -> None:
    """Importing all packages loads no module within them, apart from the packages of registries."""
    wanted = [package for package in packages() if package not in REGISTRIES]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys, importlib; sys.path.insert(0, {str(ROOT.parent)!r})\n"
            f"for room in {wanted}: importlib.import_module(room)\n"
            "print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name for name in done.stdout.split() if is_within(name, "parquetry")}
    assert loaded - {*wanted, "parquetry"} == {
        "parquetry._version",
        "parquetry.errors",
        "parquetry.lazy_exports",
        "parquetry.texts",
    }
