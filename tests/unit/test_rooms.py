"""The packages keep their layers: imports point down, folders stay small, and only one needs pyspark.

That one is the package for Spark.
"""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.support.product_imports import ROOT, imports, modules

FLOORS = {
    "": (
        {"__init__", "cli", "testing"},
        {"spark"},
        {"ui"},
        {"catalog", "planner"},
        {"hive", "iceberg", "joins", "metrics", "operations"},
        {"adviser"},
        {"cardinality", "workload"},
        {"adoption", "changes", "prune"},
        {"verification"},
        {"compaction", "publishing"},
        {"definition", "exchange", "serving"},
        {"metastore"},
        {"rows", "scan"},
        {"hashing"},
        {"layout"},
        {"data_files"},
        {"ddl", "key_schema", "warehouse"},
        {"predicate"},
        {"locations", "sqltext", "keys"},
        {"config", "store", "types"},
        {"open_files"},
        {
            "counters",
            "errors",
            "identifiers",
            "intervals",
            "lazy_exports",
            "progress",
            "temporal",
            "_version",
        },
        {"texts"},
    ),
    "adviser": (
        {"steps"},
        {"advice", "boundaries"},
        {"candidates", "hints", "results", "statements", "study"},
        {"forecast"},
        {"widths"},
        {"cutting"},
        {"input"},
        {"layouts"},
    ),
    "catalog": (
        {"catalog"},
        {"advising"},
        {"reader", "upkeep"},
        {"recent_tables"},
        {"key_plans", "listing", "lookup", "scans"},
        {"views"},
        {"shapes"},
        {"arrangements", "drawing"},
    ),
    "cli": (
        {"reference"},
        {"main"},
        {
            "advising",
            "audit",
            "conf",
            "erase",
            "metrics",
            "operations",
            "publish",
            "rows",
            "servers",
            "show",
            "system",
        },
        {"app", "doctor"},
        {"commands", "options", "output"},
    ),
    "data_files": (
        {"field_ids"},
        {"footers"},
        {"bounds_vectorized", "tuple_statistics"},
        {"bounds", "many_files"},
        {"defaults"},
        {"stored_types"},
        {"nested_fields"},
        {"records"},
    ),
    "hive": (
        {"server"},
        {"listener"},
        {"processor"},
        {"calls", "followers"},
        {"following", "warehouse"},
        {"records"},
        {"mirror", "partition_expressions", "changes"},
        {"expressions", "filters", "metastore_client", "names"},
        {"failures", "wire"},
    ),
    "iceberg": (
        {"server"},
        {"application"},
        {"catalog"},
        {"manifests", "planning", "views"},
        {"clients", "metadata"},
        {"manifest_names", "requests", "values"},
    ),
    "joins": (
        {"plan"},
        {"runtime"},
        {"scans"},
    ),
    "metastore": (
        {"dumps"},
        {"check", "drafts", "operations"},
        {"vacuuming"},
        {"deletion"},
        {"metastore"},
        {"copies"},
        {"access", "namespace", "warehouse_store"},
        {"commits"},
        {"transactions"},
        {"cleanup"},
        {"range_manifests"},
        {"versions"},
        {"partition_rows"},
        {"manifest", "ownership"},
        {"refs"},
        {"followers", "results", "storage"},
    ),
    "operations": (
        {"registry"},
        {"maintenance"},
        {"advising", "erase"},
        {"upkeep"},
        {
            *(
                "checks",
                "indexes",
                "publish",
                "reports",
                "rewrites",
                "suggest_skew",
            ),
            *("past", "vacuum"),
        },
        {"operation"},
        {"engine"},
    ),
    "planner": (
        {"planner"},
        {"history", "metadata_tables", "tracing"},
        {"streams", "tables"},
        {"procedures", "scans", "writes"},
        {"lake", "predicates", "statements"},
        {"engine"},
        {"protocol", "report_facts"},
    ),
    "predicate": (
        {"pruning", "reading"},
        {"functions"},
        {"evaluate", "filter"},
        {"bind", "like", "normalise"},
        {"nodes"},
        {"expression", "regular_expression"},
        {"zones"},
    ),
    "prune": (
        {"metadata_aggregates", "whole_partitions"},
        {"select"},
        {"steps"},
        {"rules"},
        {"partition_plans", "tally"},
        {"rule"},
        {"query_cache"},
        {"report"},
        {"condition", "needed_rows", "reader_filters"},
    ),
    "spark": (
        {"advising", "audits", "publishing", "report", "serve", "transactions"},
        {"session"},
        {"connect", "serving"},
        {"engine"},
        {"compaction"},
        {"python_source"},
        {"write", "hadoop_files"},
        {"active"},
        {"configuration"},
        {"bridge_jar"},
    ),
}
"""The layers of each folder that has packages.

A package or module imports only from lower layers, or from itself. The folder's `__init__` is above all.
"""
SAME_FLOOR = {("", "cli", "__init__")}
"""Imports within a floor that are meant."""
MAX_FOLDER_LINES = 2_500
"""Lines of a folder's own modules: a folder that one can read in an hour has one task."""
OUTSIDE = {"__init__", "cli"}
"""Packages that import the package for Spark only when a caller needs it."""
LOOKS = {("cli/doctor.py", "pyspark")}
"""Imports that only find out whether a package is installed."""

PART_KINDS = {"SkewMap", "BucketSpec"}
"""Kinds of parts of an arrangement."""
PART_FIELDS = {"skew", "buckets"}
"""Fields of an arrangement that have a part."""
NAMING_PARTS = {
    "adviser": 1,  # buckets of the present layout
    "definition": 6,  # clauses of SQL
    "prune": 5,  # the rules that skip directories and buckets
    "adoption": 2,  # what names of foreign files say
    "joins": 2,  # buckets of scans; heavy keys
    "compaction": 2,  # heavy values that follow rows; rebucketing
    "spark": 2,  # expressions that give rows their slots; the audit of these rows
    "verification": 2,  # rows in wrong buckets
    "catalog": 1,  # the public classes
    "operations": 1,  # suggest_skew
    "publishing": 1,  # Hive's records
    "hive": 2,  # Spark's parameters, and Hive's records
}
"""How many modules of each room outside `layout` name a kind of part, or read an arrangement's field of one.

It was 43 modules of 11 rooms before parts had an interface, and a new kind had to touch each. Lower a number
when it falls. Before you raise one, see `layout/part.py`: the part may answer instead.
"""
OTHER_BUCKETS = {
    "adoption/sync",
    "catalog/catalog",
    "definition/list_bucketing_rules",
    "metastore/manifest/columns",
    "operations/publish",
    "planner/scans/scans",
    "planner/tables/create",
    "joins/plan/join_facts",
    "joins/plan/shuffle_reasons",
}
"""Modules whose `buckets` are no field of an arrangement: options, columns of lists, reports."""


def place_in(folder: str, name: str) -> str | None:
    """Return which room or module of a folder a module is, or is in; None, if it is elsewhere."""
    prefix = ".".join(["parquetry", *folder.split("/"), ""]) if folder else "parquetry."
    return name.removeprefix(prefix).partition(".")[0] if name.startswith(prefix) else None


@pytest.mark.parametrize("folder", FLOORS, ids=lambda folder: folder or "parquetry")
def test_imports_point_down(folder: str) -> None:
    """No import between packages points up, and each package and module has a layer."""
    floor = {"__init__": -1} | {room: number for number, rooms in enumerate(FLOORS[folder]) for room in rooms}
    up = []
    for name, wanted in imports():
        ours, theirs = place_in(folder, name), place_in(folder, wanted)
        if ours is None or theirs is None or ours == theirs:
            continue
        if floor[ours] >= floor[theirs] and (folder, ours, theirs) not in SAME_FLOOR:
            up.append(f"{name} imports {wanted}")
    assert up == []


def test_folders_with_rooms_have_floors() -> None:
    """A folder with folders in it has floors, which name all that is in it and nothing else."""
    named = {(folder, room) for folder, floors in FLOORS.items() for rooms in floors for room in rooms}
    for folder, below in FLOORS.items():
        there = {place_in(folder, name) for name in modules()} - {None}
        rooms = {room for _, room in named if _ == folder}
        assert there - rooms <= {"__init__"}, f"{folder}: on which floor are these?"
        assert rooms <= there, f"{folder}: gone"
        assert sum(map(len, below)) == len(rooms), f"{folder}: on two floors"
    parents = {name.split(".")[1] for name in modules() if name.count(".") > 2}
    assert parents - FLOORS.keys() == {"store"}, (
        "whose rooms, `hbase` and `postgresql`, are each one of its stores"
    )


def test_folders_are_small() -> None:
    """A folder has a limited number of lines, and says what it is for."""
    lines: Counter[str] = Counter()
    for path, _ in modules().values():
        if path.name != "__init__.py":
            lines[path.parent.relative_to(ROOT).as_posix()] += len(path.read_text().splitlines())
    assert {folder: count for folder, count in lines.items() if count > MAX_FOLDER_LINES} == {}
    said = {
        path.parent.relative_to(ROOT).as_posix()
        for path, tree in modules().values()
        if path.name == "__init__.py" and ast.get_docstring(tree)
    }
    assert lines.keys() <= said


def test_only_spark_needs_pyspark() -> None:
    """Only the package for Spark imports pyspark and py4j, and no lower package imports that package.

    Imports within functions count, too.
    """
    needing = {
        (place_in("", name), modules()[name][0].relative_to(ROOT).as_posix(), wanted)
        for name, wanted in imports()
        if wanted.partition(".")[0] in ("pyspark", "py4j")
    }
    assert "spark" in {room for room, _, _ in needing}
    assert {(path, wanted) for room, path, wanted in needing if room != "spark"} == LOOKS
    needing_spark = {
        place_in("", name) for name, wanted in imports() if wanted.startswith("parquetry.spark.")
    }
    assert needing_spark <= {"spark", *OUTSIDE}


def test_no_circle_of_modules() -> None:
    """No module needs itself through others, for types or within functions neither."""
    reached = _reached()
    assert [name for name in reached if name in reached[name]] == []


def test_few_modules_name_parts_of_arrangements() -> None:
    """A room outside of layouts names kinds of parts in no more modules than it needs."""
    naming = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for path, tree in modules().values()
        if path.name != "__init__.py" and _names_parts(tree)
    }
    outside = {path for path in naming - OTHER_BUCKETS if not path.startswith("layout/")}
    assert Counter(path.partition("/")[0] for path in outside) == NAMING_PARTS
    assert naming >= OTHER_BUCKETS, "gone"


def _names_parts(tree: ast.Module) -> bool:
    return any(
        (isinstance(node, ast.alias) and node.name in PART_KINDS)
        or (isinstance(node, ast.Attribute) and node.attr in PART_KINDS | PART_FIELDS)
        or (isinstance(node, ast.keyword) and node.arg in PART_FIELDS)
        for node in ast.walk(tree)
    )


def _reached() -> dict[str, set[str]]:
    """Return what each module needs, directly or through others.

    A package needs what it exports.
    """
    needs: dict[str, set[str]] = {name: set() for name in modules()}
    for name, wanted in imports():
        if wanted in needs and wanted != name:
            needs[name].add(wanted)
    return {name: _reachable(name, needs) for name in needs}


def _reachable(name: str, needs: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(needs[name])
    while waiting:
        next_one = waiting.pop()
        if next_one not in found:
            found.add(next_one)
            waiting += needs[next_one]
    return found
