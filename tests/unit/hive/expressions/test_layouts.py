"""The table of classes says what Hive's own classes say: `LayoutMain.java` printed them."""

from __future__ import annotations

import pytest

from parquetry.hive.expressions.layouts import DIALECTS
from tests.support.hive.expressions.recording import VERSIONS, recorded_layouts

RENAMED = {"chidren": "children"}
"""Fields whose names Hive has corrected."""
PRIMITIVES = {
    "int": "java.lang.Integer",
    "float": "java.lang.Float",
    "boolean": "java.lang.Boolean",
    "byte": "java.lang.Byte",
    "char": "java.lang.Character",
    "short": "java.lang.Short",
    "long": "java.lang.Long",
    "double": "java.lang.Double",
}


def expected_fields(text: str) -> list[tuple[str, str]]:
    """Return the fields of a recorded line as the table has them."""
    pairs = [each.partition(":") for each in text.split()]
    return [
        (RENAMED.get(name, name), kind.replace("*<java.lang.String>", "*String")) for name, _, kind in pairs
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_fields_are_those_of_hive(version: str) -> None:
    """Each class of the list has Hive's fields in Hive's order, in the dialect of that version."""
    _, classes = recorded_layouts()[version]
    # the recorded Hadoop is newer than 3.3
    (dialect,) = (each for each in DIALECTS if each.name == f"Hive {version[0]} with Hadoop 3.3")
    ours = {name: list(fields) for name, fields in dialect.fields.items() if name in classes}
    assert len(ours) > 170
    assert ours == {name: expected_fields(text) for name, text in classes.items() if name in ours}


@pytest.mark.parametrize("version", VERSIONS)
def test_registered_classes_are_those_of_hive(version: str) -> None:
    """Each class that a dialect reads by its number has that number in Hive."""
    numbers, _ = recorded_layouts()[version]
    for dialect in DIALECTS:
        if dialect.name.split()[1] == version[0]:
            known = {number: name for number, name in dialect.registered.items() if name}
            assert {number: PRIMITIVES.get(numbers[number], numbers[number]) for number in known} == known


def test_older_hadoop_differs_in_texts_alone() -> None:
    """The dialects of one version of Hive differ in the fields of Hadoop's texts, and in nothing else."""
    for older, newer in zip(DIALECTS[::2], DIALECTS[1::2], strict=True):
        differing = {name for name in older.fields if older.fields[name] != newer.fields[name]}
        assert differing == {"org.apache.hadoop.io.Text"}


def test_kinds_of_fields_are_read() -> None:
    """Each kind of a field is a primitive, a class of the list, or has a reader of its own."""
    readable = {*PRIMITIVES, *PRIMITIVES.values(), "*", "*String", "enum", "java.lang.String", "[B", "[J"}
    kinds = {kind for dialect in DIALECTS for fields in dialect.fields.values() for _, kind in fields}
    assert kinds - readable - DIALECTS[0].fields.keys() == set()
