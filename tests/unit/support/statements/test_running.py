"""Files of statements run on SQLite: a right file passes, and each way of being wrong fails and is shown."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from tests.support.goldens import UPDATE
from tests.support.statements.records import FormError, read
from tests.support.statements.running import Answer, EngineError, RecordError, Runner

SETUP = "statement ok\nCREATE TABLE t (a INT, b TEXT);\nINSERT INTO t VALUES (2, 'y'), (1, NULL), (3, '')\n\n"


class Sqlite:
    """A session of SQLite."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")

    def run(self, sql: str, *, fetch: bool) -> Answer:
        """Run a statement."""
        try:
            cursor = self._connection.execute(sql)
            rows = cursor.fetchall()
        except sqlite3.Error as error:
            raise EngineError(str(error)) from error
        kinds = {int: "I", float: "R"}
        types = (
            (kinds.get(type(value), "T") for value in rows[0])
            if rows
            else "?" * len(cursor.description or ())
        )
        return Answer("".join(types), rows)


def run(path: Path, text: str, /, **variables: str) -> None:
    """Run the one section of a file."""
    path = path / "file.test"
    path.write_text(text)
    (section,) = read(path)
    sessions: list[Sqlite] = []

    def open_session(name: str) -> Sqlite:
        sessions.append(Sqlite())
        return sessions[-1]

    try:
        Runner(open_session, {"sqlite"}, variables, {"like": "no.*"}).run(section.records)
    finally:
        for session in sessions:
            session._connection.close()


@pytest.mark.every_case
@pytest.mark.parametrize(
    "record",
    [
        "query IT\nSELECT * FROM t\n----\n2\ty\n1\tNULL\n3\t(empty)\n",
        "query IT rowsort\nSELECT * FROM t\n----\n1\tNULL\n2\ty\n3\t(empty)\n",
        "query IT rowsort\nSELECT * FROM t\n----\n3\t(empty)\n2\ty\n1\tNULL\n",
        "query IT\nSELECT * FROM t ORDER BY a\n----\n1\nNULL\n2\ny\n3\n(empty)\n",
        "query IT valuesort\nSELECT * FROM t\n----\n(empty)\n1\n2\n3\nNULL\ny\n",
        "query I\nSELECT a FROM t ORDER BY a\n----\n3 values hashing to c0710d6b4f15dfa88f600b0e6b624077\n",
        "query I\nSELECT a FROM t\n----\n…\n1\n…\n",
        "query I\nSELECT a FROM t\n----\n2\n…\n3\n",
        "query I\nSELECT a FROM t\n----\n2\n1\n3\n…\n",
        "query IT\nSELECT * FROM t\n----\n2\t<REGEX>:[x-z]\n1\t<!REGEX>:.*y.*\n<REGEX>:\\d\t(empty)\n",
        "query T\nSELECT a FROM t WHERE a > 9\n----\n",
        "query ?\nSELECT 1.5\n----\n1.5\n",
        "query I nosort same\nSELECT 1\n\nquery I nosort same\nSELECT 2 - 1\n",
        "statement error no such table: u\nSELECT * FROM u\n",
        "statement error\nSELECT * FROM u\n----\nno such table: u\n",
        "statement error no such column: ${v}$\nSELECT ${v} FROM t\n",
        "statement error ${like} table: u\nSELECT * FROM u\n",
        "foreach name | says\n  u | no such table: u\n  t.x | no such.*x$\n\nstatement error ${says}\nSELECT * FROM ${name}\n\nendloop\n",
        "foreach x\n  1 + 1\n\nquery I nosort same\nSELECT ${x}\n\nquery I nosort same\nSELECT 2\n\nendloop\n",
        "let text\nSELECT b FROM t WHERE a = 2\n\nquery T\nSELECT 'x${text}'\n----\nx${text}\n",
        "connection other\nstatement error no such table\nSELECT * FROM t\n",
        "onlyif spark\nstatement ok\nnonsense\n\nskipif sqlite\nstatement ok\nnonsense\n",
        "foreach x 1 2\n\nquery I\nSELECT a FROM t WHERE a = ${x}\n----\n${x}\n\nendloop\n",
    ],
)
def test_right(tmp_path: Path, record: str) -> None:
    """A record passes if its answer is the one in the file."""
    run(tmp_path, SETUP + record, v="c")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("record", "says"),
    [
        ("query IT\nSELECT * FROM t\n----\n2\ty\n1\tNULL\n3\tz\n", "5: its answer is another.*-3\tz\n\\+3\t\\(empty\\)"),
        ("query IT\nSELECT * FROM t\n----\n2\ty\n1\tNULL\n", r"another.*\+3"),
        ("query IT\nSELECT * FROM t\n----\n2\ty\n1\tNULL\n3\t(empty)\n4\tz\n", "another.*-4\tz"),
        ("query I\nSELECT a FROM t\n----\n1\n2\n3\n", r"5: its answer is another"),
        ("query IT rowsort\nSELECT * FROM t\n----\n1\tNULL\n2\ty\n2\ty\n", "another.*-2\ty"),
        ("query I\nSELECT a FROM t\n----\n3 values hashing to 9fc8157a4ba8040dcb00c1e5b2b6ed5d\n", "another"),
        ("query I\nSELECT a FROM t\n----\n", r"another.*\+2"),
        ("query I\nSELECT a FROM t\n----\n…\n9\n…\n", "another.*-9"),
        ("query I\nSELECT a FROM t\n----\n1\n…\n", r"another.*\+2"),
        ("query I\nSELECT a FROM t\n----\n<REGEX>:[13]\n1\n3\n", r"another.*-<REGEX>:\[13\]\n\+2\n 1"),
        ("query I\nSELECT a FROM t\n----\n<!REGEX>:2\n1\n3\n", "another"),
        ("query T\nSELECT a FROM t\n----\n2\n1\n3\n", r"its columns have other types.*-T\n\+I"),
        ("query II\nSELECT a FROM t\n----\n2\n1\n3\n", r"its columns have other types.*-II\n\+I"),
        ("query I nosort same\nSELECT 1\n\nquery I nosort same\nSELECT 2\n", r"8: its answer is not that of line 5.*-1\n\+2"),
        ("let text\nSELECT b FROM t\n", "5: it has not one value"),
        ("let text\nSELECT a, b FROM t LIMIT 1\n", "5: it has not one value"),
        ("statement ok\nSELECT * FROM u\n", r"5: it was refused\nSELECT \* FROM u\nno such table: u"),
        ("statement ok\nSELECT * FROM u;\nSELECT 1\n", r"5: it was refused\nSELECT \* FROM u\nno such"),
        ("query I\nSELECT * FROM u\n----\n1\n", "5: it was refused"),
        ("statement error no such column\nSELECT * FROM u\n", r"in other words.*-no such column\n\+no such table: u"),
        ("statement error\nSELECT * FROM u\n----\nno such table: v\n", "in other words"),
        ("statement error no such table\nSELECT * FROM t\n", r"5: it was not refused.*-no such table"),
        ("foreach x 1 9\n\nquery I\nSELECT a FROM t WHERE a = ${x}\n----\n${x}\n\nendloop\n", "7, x = 9: its answer"),
    ],
)  # fmt: skip
def test_wrong(tmp_path: Path, record: str, says: str) -> None:
    """A record with another answer fails, and shows the file's line, the statement, and the difference."""
    with pytest.raises(RecordError, match=rf"(?s)file\.test:{says}" if says[0].isdigit() else f"(?s){says}"):
        run(tmp_path, SETUP + record)


def test_an_unknown_variable(tmp_path: Path) -> None:
    """A misspelt variable is an error that lists the existing ones."""
    with pytest.raises(
        FormError, match=r"file\.test:1: no variable is called 'foldr'; there are folder, like\."
    ):
        run(tmp_path, "statement ok\nSELECT '${foldr}'\n", folder="x")


def test_rewriting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With PARQUETRY_UPDATE_GOLDENS=1, wrong answers become right ones, and what a person wrote stays."""
    wrong = (
        f"{SETUP}query I rowsort\nSELECT a FROM t\n----\n7\n\n# Stays.\nquery I\nSELECT 1\n----\n1\n\n"
        "query T\nSELECT b FROM t\n----\n"
    )
    monkeypatch.setenv(UPDATE, "1")
    run(tmp_path, wrong)
    text = (tmp_path / "file.test").read_text()
    assert text == wrong.replace("7\n", "1\n2\n3\n") + "y\nNULL\n(empty)\n"
    monkeypatch.delenv(UPDATE)
    run(tmp_path, text)
    for line in ("…", "<REGEX>:x", "${v}"):
        monkeypatch.setenv(UPDATE, "1")
        with pytest.raises(RecordError, match="its answer is another"):
            run(tmp_path, f"{SETUP}query I\nSELECT 1\n----\n{line}\n7\n", v="8")
    with pytest.raises(RecordError, match=re.escape("in other words")):
        run(tmp_path, "statement error column\nSELECT * FROM u\n")
