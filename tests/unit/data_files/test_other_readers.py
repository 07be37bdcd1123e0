"""Lists and maps in a form of older writers, and encrypted files, are recorded as for Spark alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.data_files import ArrowFooters, IdsInFile
from parquetry.data_files.footers.other_readers import has_old_lists
from parquetry.data_files.footers.parquet_schema import SchemaNode
from tests.support.readers.encrypted_files import encryption_of


def leaf(name: str, *, repeated: bool = False) -> SchemaNode:
    return SchemaNode(name, "INT64", "", False, repeated)


def group(name: str, *children: SchemaNode, annotation: str = "", repeated: bool = False) -> SchemaNode:
    return SchemaNode(name, None, annotation, False, repeated, children)


def entries(*children: SchemaNode, name: str = "list", annotation: str = "") -> SchemaNode:
    return group(name, *children, annotation=annotation, repeated=True)


def a_list(*children: SchemaNode) -> SchemaNode:
    return group("l", *children, annotation="LIST")


def a_map(*children: SchemaNode) -> SchemaNode:
    return group("m", *children, annotation="MAP")


PLAIN = a_list(entries(leaf("element")))


@pytest.mark.parametrize(
    ("column", "old"),
    [
        (leaf("a"), False),
        (PLAIN, False),
        (a_list(entries(leaf("item"))), False),
        (a_list(entries(leaf("array"), name="bag")), True),
        (a_list(entries(leaf("array_element"), name="bag")), True),
        (a_list(leaf("array", repeated=True)), True),
        (a_list(entries(leaf("x"), leaf("y"), name="array")), True),
        (a_list(entries(leaf("x"), leaf("y"))), True),
        (a_list(leaf("element")), True),
        (leaf("a", repeated=True), True),
        (group("s", leaf("x"), PLAIN), False),
        (group("s", leaf("x"), a_list(entries(leaf("array"), name="bag"))), True),
        (a_list(entries(a_list(leaf("array", repeated=True)))), True),
        (a_map(entries(leaf("key"), leaf("value"), name="key_value")), False),
        (a_map(entries(leaf("key"), leaf("value"), name="map", annotation="MAP")), False),
        (a_map(entries(leaf("key"), name="key_value")), True),
        (a_map(entries(leaf("k"), leaf("v"), name="key_value")), True),
        (a_map(entries(leaf("key"), a_list(leaf("array", repeated=True)), name="key_value")), True),
        (group("v", leaf("metadata"), a_list(leaf("x", repeated=True)), annotation="VARIANT"), False),
    ],
)
def test_forms_of_lists_and_maps(column: SchemaNode, old: bool) -> None:
    """The specification's form is known at any depth, and every other one is old."""
    assert has_old_lists([leaf("first"), column]) is old


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_files(tmp_path: Path, plaintext_footer: bool) -> None:
    """A file is recorded as encrypted if a column is, or the footer."""
    table = pa.table({"open": [1], "secret": ["x"]})
    keys = encryption_of("secret", plaintext_footer=plaintext_footer)
    with pq.ParquetWriter(tmp_path / "f.parquet", table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)
    (record,) = ArrowFooters().data_files("parquet", str(tmp_path), ["f.parquet"])
    assert record.field_ids == IdsInFile.ENCRYPTED
