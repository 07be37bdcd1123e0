"""The house keeps its plan: imports point down, and nothing but Spark's room needs pyspark."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import parquetry.errors

ROOT = Path(parquetry.errors.__file__).parent
FLOORS = (
    {"", "cli"},
    {"spark", "catalog"},
    {"planner"},
    {"prune", "maintenance"},
    {"metastore"},
    {"scan"},
    {"layout", "store", "key_schema", "warehouse", "config_reference", "precedence"},
    {"ddl"},
    {"predicate", "keys", "config", "foreign_options"},
    {"types", "identifiers", "texts", "progress", "setting"},
    {"errors", "temporal", "intervals", "_version", "setting_values", "engine_settings"},
)
"""The rooms and modules below `parquetry`, each on its floor; a room imports from lower floors only, or from itself."""
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
SAME_FLOOR = {("warehouse", "layout"), ("cli", "")}
"""Imports within a floor that are meant."""
OUTSIDE = {"", "cli"}
"""Rooms that import Spark's room when they are asked for it."""
LOOKS = {("cli/doctor.py", "pyspark")}
"""What is imported only to see whether it is there."""


@functools.cache
def statements() -> tuple[tuple[Path, ast.Import | ast.ImportFrom], ...]:
    """Return each module of the package with each statement in it that imports."""
    return tuple(
        (path, node)
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def imports() -> Iterator[tuple[Path, str]]:
    """Yield each module of the package with the name of each module that it imports, wherever in it, by whatever words."""
    for path, node in statements():
        if isinstance(node, ast.ImportFrom) and node.module == "parquetry":
            yield from ((path, f"parquetry.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield path, node.module
        elif isinstance(node, ast.Import):
            yield from ((path, alias.name) for alias in node.names)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                    args=[ast.Constant(value=str(name)), *_],
                ):
                    yield path, name


def room_of(path: Path) -> str:
    first = path.relative_to(ROOT).with_suffix("").parts[0]
    return "" if first == "__init__" else first


def test_imports_point_down() -> None:
    """No arrow between rooms runs back up; of each room it is known on which floor it is."""
    up = []
    for path, name in imports():
        package, _, rest = name.partition(".")
        if package != "parquetry":
            continue
        ours, theirs = room_of(path), rest.partition(".")[0]
        down = FLOOR[ours] < FLOOR[theirs] or ours == theirs
        if not down and (ours, theirs) not in SAME_FLOOR:
            up.append(f"{path.relative_to(ROOT)} imports {name}")
    assert up == []


def test_only_spark_needs_pyspark() -> None:
    """Neither pyspark nor py4j is imported outside the room of Spark, nor is that room by those below it; within functions neither."""
    needing = {
        (room_of(path), str(path.relative_to(ROOT)), name)
        for path, name in imports()
        if name.partition(".")[0] in ("pyspark", "py4j")
    }
    assert "spark" in {room for room, _, _ in needing}
    assert {(path, name) for room, path, name in needing if room != "spark"} == LOOKS
    needing_spark = {room_of(path) for path, name in imports() if name.startswith("parquetry.spark")}
    assert needing_spark <= {"spark", *OUTSIDE}


def test_no_circle_of_modules() -> None:
    """No module needs itself through others, be it within a function or for an annotation."""
    names = {
        path: "parquetry." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in ROOT.rglob("*.py")
    }
    needs: dict[str, set[str]] = {name: set() for name in names.values()}
    for path, node in statements():
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
            needs[names[path]] |= parts & needs.keys()
    assert [name for name in sorted(needs) if name in _reachable(name, needs)] == []


def _reachable(name: str, needs: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(needs[name])
    while waiting:
        next_one = waiting.pop()
        if next_one not in found:
            found.add(next_one)
            waiting += needs[next_one]
    return found
