"""Tables and files that readers of Iceberg or Delta read wrong are refused, with a remedy that helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from parquetry.data_files import EXISTS_DEFAULT, PHYSICAL_NAME, TableColumn
from parquetry.exchange import DELTA, ICEBERG, FileCheck, OtherFormat
from parquetry.metastore import TableMetadata
from parquetry.operations.rewrites import compaction_rewrites
from parquetry.planner import NoEngine
from parquetry.planner.lake import Lake
from parquetry.types import TYPES
from tests.support.readers.python_tables import PythonLake

FORMATS = pytest.mark.parametrize("format", [ICEBERG, DELTA], ids=["iceberg", "delta"])
UDT = {"type": "udt", "class": "org.example.Point", "sqlType": "long"}


def array(element: Any) -> Any:
    return {"type": "array", "elementType": element, "containsNull": True}


def struct(name: str, kind: Any, **metadata: Any) -> Any:
    return {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": metadata}],
    }


def refusal(format: OtherFormat, kind: Any, name: str = "c", **metadata: Any) -> str | None:
    column = TableColumn(name, kind, metadata=metadata)
    return format.definition_refusal(TableMetadata((column,), (), "parquet", "file:/w/t"))


@FORMATS
@pytest.mark.parametrize("name", [name for name in TYPES if name not in ("struct", "array", "map")])
def test_a_type_is_refused_unless_the_format_has_a_name_for_it(format: OtherFormat, name: str) -> None:
    """It is refused as a column's type, and as a part of one."""
    written = {"char": "char(3)", "varchar": "varchar(3)", "decimal": "decimal(9,2)"}.get(name, name)
    has_name = (TYPES[name].iceberg if format is ICEBERG else TYPES[name].delta) is not None
    for kind in (written, array(written), struct("x", array(written))):
        assert (refusal(format, kind) is None) == has_name


@FORMATS
@pytest.mark.parametrize("kind", [UDT, array(UDT), "moment(6)"])
def test_types_that_only_spark_reads_are_refused(format: OtherFormat, kind: Any) -> None:
    """Delta's log had null for the type of a user-defined type."""
    assert "column c" in str(refusal(format, kind))


def test_delta_refuses_other_names_in_files_also_with_dots() -> None:
    """A name is compared as a whole: `b`, renamed to `a.b`, is `b` in files still."""
    assert "column a.b was renamed" in str(refusal(DELTA, "long", "a.b", **{PHYSICAL_NAME: "b"}))
    assert "column c.a.b was renamed" in str(refusal(DELTA, struct("a.b", "long", **{PHYSICAL_NAME: "b"})))
    assert refusal(DELTA, struct("a.b", "long"), "x.y") is None


@pytest.mark.parametrize(
    ("files", "readable_by_iceberg"),
    [
        (pa.table({"a": pa.array([1], pa.int32())}), True),
        (pa.table({"a": pa.array([1.5], pa.float32())}), False),
        (pa.table({"A": pa.array([1], pa.int64())}), False),
        (pa.table({"b": pa.array([1], pa.int64())}), False),
    ],
    ids=["narrower", "another type", "another spelling", "no default"],
)
def test_compact_rewrites_what_it_is_the_remedy_for(
    tmp_path: Path, files: pa.Table, readable_by_iceberg: bool
) -> None:
    """Files that either format refuses are rewritten for other readers, also a file alone."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"a": TableColumn("a", "long", metadata={EXISTS_DEFAULT: "5"})})
    lake.put("t", "f.parquet", files)
    table = lake.sync("t")
    (file,) = (file for partition in table.partitions() for file in partition.files)
    assert "for_other_readers => true" in str(FileCheck(table.metadata, DELTA).refusal(file))
    assert (FileCheck(table.metadata, ICEBERG).refusal(file) is None) == readable_by_iceberg
    context = Lake("lake", lake.metastore, NoEngine("UTC"))
    assert compaction_rewrites(context, table) == []
    (rewrite,) = compaction_rewrites(context, table, for_other_readers=True)
    assert rewrite.files == (file,)


@FORMATS
@pytest.mark.parametrize("default", ["NULL", "CAST(NULL AS BIGINT)"])
def test_files_before_a_default_of_null_are_read_right(
    tmp_path: Path, format: OtherFormat, default: str
) -> None:
    """Readers find NULL in files that lack the column, as Spark does."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"a": "long"})
    table = lake.write("t", "f.parquet", [{"a": 1}])
    table = lake.alter(
        "t", columns=(*table.metadata.columns, TableColumn("d", "long", metadata={EXISTS_DEFAULT: default}))
    )
    (file,) = (file for partition in table.partitions() for file in partition.files)
    assert FileCheck(table.metadata, format).refusal(file) is None
