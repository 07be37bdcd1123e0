"""Lists of SQL as records: which tables, conditions, joins and columns a text has."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import parquetry
from parquetry.errors import WarehouseError
from parquetry.workload import QueryJoin, QueryRecord, TableRead


def read(tmp_path: Path, text: str) -> list[QueryRecord]:
    """Return the queries of a text."""
    path = tmp_path / "queries.sql"
    path.write_text(text)
    return parquetry.read_queries(path)


def conditions(read: TableRead) -> list[str]:
    """Return the texts of a read's conditions."""
    return [each.text for each in read.conditions]


def test_conditions_and_columns(tmp_path: Path) -> None:
    """Each part of an AND is a condition, with its columns and fields, without the table's name."""
    (record,) = read(
        tmp_path,
        "SELECT o.id, sum(amount) FROM db.orders AS o WHERE o.day >= DATE '2026-01-01' AND (o.st.a = 1 OR id > 5) "
        "AND name IN ('it''s', \"x\") GROUP BY 1 -- the end; of it",
    )
    (of,) = record.reads
    assert (record.door, record.time, of.table) == ("sql-file", None, "db.orders")
    assert conditions(of) == ["day >= DATE '2026-01-01'", "st.a = 1 OR id > 5", "name IN ('it\\'s', 'x')"]
    assert [each.columns for each in of.conditions] == [("day",), ("st.a", "id"), ("name",)]
    assert of.columns is not None
    assert set(of.columns) == {"id", "amount", "day", "st.a", "name"}


def test_joins(tmp_path: Path) -> None:
    """Equalities of two tables are joins of both, in ON, USING and WHERE."""
    texts = ("a JOIN db.b ON a.k = b.j AND b.x > 3", "a, db.b WHERE a.k = b.j AND b.x > 3")
    for text in texts:
        (record,) = read(tmp_path, f"USE db; SELECT a.v, b.w FROM {text}")
        first, second = record.reads
        assert first.joins == (QueryJoin("k", "db.b", "j"),)
        assert second.joins == (QueryJoin("j", "db.a", "k"),)
        assert (conditions(first), conditions(second)) == ([], ["x > 3"])
        assert first.columns == ("v", "k")
    (record,) = read(tmp_path, "SELECT * FROM db.a JOIN db.b USING (k)")
    assert [each.joins[0].column for each in record.reads] == ["k", "k"]


@pytest.mark.parametrize(
    ("kind", "of_left", "of_right"),
    [("LEFT", [], ["y = 2"]), ("RIGHT", ["x = 1"], []), ("FULL", [], []), ("INNER", ["x = 1"], ["y = 2"])],
)
def test_outer_joins(tmp_path: Path, kind: str, of_left: list[str], of_right: list[str]) -> None:
    """A condition in ON restricts no side whose other rows the join keeps."""
    (record,) = read(tmp_path, f"SELECT 1 FROM db.a {kind} JOIN db.b ON a.k = b.k AND a.x = 1 AND b.y = 2")
    assert [conditions(each) for each in record.reads] == [of_left, of_right]


def test_statements_of_all_kinds(tmp_path: Path) -> None:
    """Queries in other statements count, and so do the rows that a change reads; other statements do not."""
    records = read(
        tmp_path,
        """
        SET x = 1; DROP TABLE db.t; SELECT 1;
        INSERT INTO db.n SELECT id FROM db.t WHERE id > 1;
        CREATE TABLE db.n AS SELECT id FROM db.t WHERE id > 2;
        WITH q AS (SELECT * FROM db.t WHERE id > 3) SELECT * FROM q;
        SELECT 1 FROM db.u WHERE k IN (SELECT id FROM db.t WHERE id > 4);
        DELETE FROM db.t WHERE id > 5;
        MERGE INTO db.t t USING db.s s ON t.id = s.id AND t.id > 6 WHEN MATCHED THEN DELETE;
        SELECT count(*) FROM parquet.`/data/a.b/c`
        """,
    )
    found = [{each.table: conditions(each) for each in record.reads} for record in records]
    assert found == [
        {"db.t": ["id > 1"]},
        {"db.t": ["id > 2"]},
        {"db.t": ["id > 3"]},
        {"db.t": ["id > 4"], "db.u": []},
        {"db.t": ["id > 5"]},
        {"db.t": ["id > 6"], "db.s": []},
        {"/data/a.b/c": []},
    ]


def test_what_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A statement that is no SQL is left out with a warning; a missing file is an error."""
    with caplog.at_level(logging.WARNING, "parquetry"):
        (record,) = read(tmp_path, "SELECT FROM WHERE (; SELECT a FROM db.t")
    assert record.reads[0].table == "db.t"
    assert "Statement 1 of" in caplog.text
    with pytest.raises(WarehouseError, match="cannot be read"):
        parquetry.read_queries(tmp_path / "missing.sql")
