"""Files of statements are read as sqllogictest's form has them, and a slip in a file is an error with its
line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.statements.records import FormError, Loop, Section, read, statements

FILE = """# A file.
require views

statement ok
CREATE TABLE t (a INT)

foreach format parquet orc

subtest written
# Rows come back,
# in each format.
tags core

skipif sqlite
connection other
query IT rowsort first
SELECT *
FROM t
----
1	x
2	NULL

endloop

subtest refused
# No such table.

statement error no such table: .*
SELECT * FROM u

loop i 0 2

statement ok
INSERT INTO t VALUES (${i})

endloop
"""


def sections(folder: Path, text: str) -> list[Section]:
    path = folder / "file.test"
    path.write_text(text)
    return read(path)


def test_a_file(tmp_path: Path) -> None:
    """A section has the records before the first one, a claim, loops and tags; a record has its line."""
    written, refused = sections(tmp_path, FILE)
    assert (written.name, written.claim) == ("written", "Rows come back, in each format.")
    assert written.loops == (Loop(("format",), (("parquet",), ("orc",))),)
    assert (written.requires, written.tags) == (("views",), ("core",))
    create, query = written.records
    assert create.sql == "CREATE TABLE t (a INT)"
    assert (query.line, query.types, query.sort, query.label) == (16, "IT", "rowsort", "first")
    assert query.expected == ("1\tx", "2\tNULL")
    assert (query.connection, query.conditions) == ("other", (("skipif", "sqlite"),))
    assert (refused.requires, refused.tags, refused.loops) == (("views",), (), ())
    assert [record.loops.get("i") for record in refused.records] == [None, None, "0", "1"]
    assert refused.records[1].message == "no such table: .*"


def test_a_file_without_sections(tmp_path: Path) -> None:
    """A file of another project is one section, which has the file's name."""
    (section,) = sections(
        tmp_path, "# name: x\nhash-threshold 8\n\nstatement ok\nSELECT 1\n\nhalt\n\nnonsense\n"
    )
    assert (section.name, section.claim, len(section.records)) == ("file", "name: x", 1)


def test_errors_over_several_lines(tmp_path: Path) -> None:
    """An error's text may stand below ----, as it is or as an expression."""
    (section,) = sections(
        tmp_path, "statement error\nX\n----\n(a) is bad\n\nstatement error\nY\n----\n<REGEX>:a.*b\n"
    )
    assert [record.message for record in section.records] == [r"\(a\)\ is\ bad", "a.*b"]


def test_included_records(tmp_path: Path) -> None:
    """A line `include` stands for the records of another file, in loops, too."""
    (tmp_path / "setup.part").write_text("statement ok\nCREATE TABLE t (a INT)\n")
    (section,) = sections(
        tmp_path, "loop i 0 2\n\ninclude setup.part\n\nstatement ok\nDROP TABLE t\n\nendloop\n"
    )
    assert [record.sql[:6] for record in section.records] == ["CREATE", "DROP T"] * 2


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1: file has no record"),
        ("# Only a comment.\n", "1: file has no record"),
        ("statment ok\nSELECT 1\n", "1: 'statment' is no directive; there are subtest, "),
        ("statement maybe\nSELECT 1\n", "1: a statement is `ok`, or `error`"),
        ("statement ok never\nSELECT 1\n", "1: a statement is `ok`, or `error`"),
        ("statement ok\n\nSELECT 1\n", "1: a record has no SQL"),
        ("statement error (\nSELECT 1\n", r"2: '\(' is no regular expression"),
        ("statement ok\nSELECT 1\n----\n1\n", "4: an answer belongs to a query"),
        ("query\nSELECT 1\n----\n1\n", "1: a query has a letter"),
        ("query X\nSELECT 1\n----\n1\n", "1: a query has a letter"),
        ("query I sorted label\nSELECT 1\n----\n1\n", "1: a query has a letter"),
        ("query I\nSELECT 1\n\n1\n", "2: a query has no answer"),
        ("subtest a\n# A.\n\nsubtest b\n# B.\n\nstatement ok\nX\n", "1: a has no record"),
        ("subtest a\n# A.\n\nstatement ok\nX\n\nsubtest a\n# A.\n\nstatement ok\nX\n", "7: two subtests"),
        ("subtest a b\n", "1: the name of a subtest is one word"),
        ("foreach x\n", "1: foreach has a name and values"),
        ("foreach x | y\n  1 | 2\n  3\n\nstatement ok\nX\n", "1: foreach has a name and values"),
        ("foreach x | y\n  1 |2\n\nstatement ok\nX\n\nendloop\n", "1: foreach has a name and values"),
        ("foreach 1 2\n", "1: foreach has a name and values"),
        ("foreach x 1\n\nstatement ok\nX\n", "1: no endloop ends this loop"),
        ("loop i 0\n", "1: loop has a name"),
        ("endloop\n", "1: no loop is open"),
        ("require\n", "1: a word is missing"),
        ("onlyif\n", "1: a label is missing"),
        ("statement ok\nX\n\nonlyif spark\n", "no record follows onlyif spark"),
        ("let ${x}\nSELECT 1\n", "1: let has the name of a variable"),
        ("let x\n\nSELECT 1\n", "1: a record has no SQL"),
        ("include nothing.part\n", "1: no file"),
    ],
)
def test_slips(tmp_path: Path, text: str, says: str) -> None:
    """A line that is not in the form, or a section without records, is an error that names file and line."""
    with pytest.raises(FormError, match=rf"file\.test:.*{says}"):
        sections(tmp_path, text)


def test_statements_of_a_record() -> None:
    """A semicolon ends a statement at the end of a line alone."""
    assert statements("SELECT ';' ;\nSELECT 2; SELECT 3\n") == ["SELECT ';'", "SELECT 2; SELECT 3"]
