"""One table has the facts of types: a room asks for a fact, and lists no types."""

from __future__ import annotations

import ast
from pathlib import Path

from parquetry.types import TYPES
from tests.support.product_imports import ROOT, modules, nodes

TABLES = {
    "catalog/scans/polars_frames": "Polars's names of literals",
    "data_files/stored_types": "pairs of types that Spark's readers of ORC refuse",
    "hashing/hash_types": "Arrow's types, which need PyArrow",
    "hashing/hive_v1": "a hash for each type",
    "hashing/hive_v2": "a hash for each type",
    "hashing/spark": "a hash for each type",
    "hive/expressions/comparisons": "types of both sides of Hive's comparisons",
    "hive/expressions/constants": "classes of Java's constants of each type",
    "hive/expressions/objects": "primitive types of Java's fields",
    "hive/records/column_statistics": "Hive's records of statistics, one for each kind of type",
    "hive/wire/decoding": "Thrift's types",
    "operations/operation": "annotations of Python as types of columns",
    "planner/tables/query_table": "the columns of a metadata table",
    "spark/write/values": "functions of Spark from text and to text",
    "sqltext/literals": "values of Python as constants of SQL",
    "types/facts": "the rows",
    "workload/catalyst_text": "literals that have the name of their type before them",
    "workload/redaction": "words of SQL, which some types are",
}
"""Modules that name three or more types in one literal or match, each with its reason."""
NAMES = {row.name for row in TYPES.values() if row.primitive} | {"interval"}


def test_few_modules_list_types() -> None:
    """A module with a new table of types has a question for `parquetry.types.facts`, or a reason here."""
    assert {_module(path) for path, tree in modules().values() if _lists_types(tree)} == TABLES.keys()


def _module(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


def _lists_types(tree: ast.Module) -> bool:
    literals = (ast.Dict, ast.Tuple, ast.Set, ast.List, ast.Match)
    return any(isinstance(node, literals) and len(_named(node)) >= 3 for node in nodes(tree))


def _named(node: ast.AST) -> set[object]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)} & NAMES
