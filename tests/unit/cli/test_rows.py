"""`parquetry head` and `parquetry query` print rows as tables, CSV and JSON, or write Parquet."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.cli.main import main
from parquetry.data_files import TableColumn
from tests.support.readers.written_tables import WrittenTable


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse with `shop.t`: three rows on day 0."""
    tags = {"type": "array", "elementType": "long", "containsNull": True}
    columns = [
        TableColumn("id", "long"),
        TableColumn("word", "string"),
        TableColumn("tags", tags),
        TableColumn("day", "date"),
    ]
    written = WrittenTable(tmp_path, columns, ("day",))
    written.add((0,), pa.table({"id": [1, 2, 3], "word": ["a,b", None, "c\nd"], "tags": [[1], [], None]}))
    monkeypatch.setenv("PARQUETRY_WAREHOUSE", str(written.warehouse))
    return written.warehouse


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code


def test_head_prints_a_table(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """NULL is shown, and a filter, columns, a number and a version can be chosen."""
    assert run("head", "shop.t", "-n", "2") == 0
    assert capsys.readouterr().out == (
        "id  word  tags  day\n 1  a,b   [1]   1970-01-01\n 2  NULL  []    1970-01-01\n"
    )
    assert run("head", "shop.t", "id > 1", "-c", "word", "-c", "id") == 0
    assert capsys.readouterr().out == "word  id\nNULL   2\nc\\nd   3\n"
    assert run("head", "shop.t", "--version", "0") == 0
    assert capsys.readouterr().out == "No rows.\n"


def test_head_writes_csv_and_json(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV has nothing for NULL and JSON for lists; JSON has dates as text."""
    assert run("head", "shop.t", "--format", "csv") == 0
    assert capsys.readouterr().out == (
        'id,word,tags,day\n1,"a,b",[1],1970-01-01\n2,,[],1970-01-01\n3,"c\nd",,1970-01-01\n'
    )
    assert run("head", "shop.t", "--json", "-n", "1") == 0
    assert json.loads(capsys.readouterr().out) == [{"id": 1, "word": "a,b", "tags": [1], "day": "1970-01-01"}]


def test_columns_of_head_in_one_text(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commas separate names, and an unknown name is still refused."""
    assert run("head", "shop.t", "-n", "1", "-c", "word, id") == 0
    assert capsys.readouterr().out == "word  id\na,b    1\n"
    assert run("head", "shop.t", "-c", "word,nope") == 1
    assert "Column 'nope' is not in the table" in capsys.readouterr().err


def test_query_knows_duckdbs_other_statements(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """SHOW TABLES lists ours, EXPLAIN draws a plan, `-` is standard input, and COPY writes no file."""
    for statement in ("show tables;", "SHOW ALL TABLES"):
        assert run("query", statement) == 0
        assert capsys.readouterr().out == "database  name\nshop      t\n"
    assert run("query", "EXPLAIN SELECT id FROM shop.t WHERE word = 'x'") == 0
    assert "word='x'" in capsys.readouterr().out
    assert run("query", "explain analyze SELECT count(*) FROM shop.t") == 0
    assert len(capsys.readouterr().out.splitlines()) > 10
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT max(id) AS m FROM shop.t"))
    assert run("query", "-") == 0
    assert capsys.readouterr().out == "m\n3\n"
    assert run("query", f"COPY shop.t TO '{tmp_path}/t.csv'") == 1
    assert "`--output FILE`" in capsys.readouterr().err
    assert not (tmp_path / "t.csv").exists()
    assert run("query", "CREATE TEMP TABLE a AS SELECT [1, NULL] AS b; SELECT b FROM a") == 0
    assert capsys.readouterr().out == "b\n[1, null]\n"


def test_query_writes_files(warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ending of the file's name is its format."""
    sql = "SELECT day, count(*) AS n FROM shop.t GROUP BY day"
    assert run("query", sql) == 0
    assert capsys.readouterr().out == "day         n\n1970-01-01  3\n"
    assert run("query", sql, "-o", str(tmp_path / "x.parquet")) == 0
    assert pq.read_table(tmp_path / "x.parquet").to_pydict()["n"] == [3]
    assert run("query", sql, "-o", str(tmp_path / "x.csv")) == 0
    assert (tmp_path / "x.csv").read_text() == "day,n\n1970-01-01,3\n"
    assert run("query", sql, "--format", "json", "-o", str(tmp_path / "x.any")) == 0
    assert json.loads((tmp_path / "x.any").read_text()) == [{"day": "1970-01-01", "n": 3}]
    assert capsys.readouterr().out == ""


def test_a_file_that_is_refused_is_named_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB's words and Python's traceback are left out."""
    written = WrittenTable(tmp_path, [TableColumn("id", "integer")])
    (path,) = written.add((), pa.table({"id": ["x"]}))
    monkeypatch.setenv("PARQUETRY_WAREHOUSE", str(written.warehouse))
    assert run("query", "SELECT * FROM shop.t") == 1
    error = capsys.readouterr().err
    assert error.startswith(f"parquetry: Column id of the file '{path}' cannot be read outside of Spark: ")
    assert error.endswith("CALL system.compact.\n")
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("query", "SELECT nope FROM shop.t"), 1, "DuckDB does not run the query"),
        (("query", "SELECT 1", "-o", "x.xlsx"), 2, "ends with no format"),
        (("head", "shop.t", "--format", "parquet"), 2, "name a file with --output FILE"),
        (("head", "shop.t", "--json", "--format", "csv"), 2, "leave one of them out"),
        (("head", "shop.none"), 1, "shop.none does not exist"),
    ],
)
def test_wrong_usage_is_named(
    warehouse: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, message: str
) -> None:
    """One sentence on standard error, and nothing on standard output."""
    assert run(*arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in " ".join(captured.err.replace("│", " ").split())
