"""Table files of joins: what is read from them, which slips are refused, and when counts are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.join_tables.counts import fits, rewrite
from tests.support.join_tables.reading import TableFile, query_of, read, settings_of, turns_of
from tests.support.statements.records import FormError

FILE = """let types LEFT, FULL
set spark.a ${adaptive}

tables k int
values i % 3

name | rows | layout
t    | 9    | CLUSTERED BY (k) INTO 4 BUCKETS

subtest joined
# Nothing is shuffled.
set spark.b 1
cases format parquet, orc
each join ${types}

case | set         | Exchange+Sort    | query
one  | spark.c = 2 | 0; join=FULL: >1 | SELECT * FROM {t} l
  ${join} JOIN {t} r ON l.k = r.k
"""


def written(folder: Path, text: str) -> TableFile:
    path = folder / "joins.table"
    path.write_text(text)
    return read(path)


def test_a_file(tmp_path: Path) -> None:
    """A line has a query, settings and counts for each turn; a table has the columns of its group."""
    file = written(tmp_path, FILE)
    (section,) = file.sections
    (line,) = section.lines
    assert (file.tables["t"].columns, file.tables["t"].values) == ("k int", "i % 3")
    assert (section.claim, list(turns_of(section.cases))) == (
        "Nothing is shuffled.",
        [{"format": "parquet"}, {"format": "orc"}],
    )
    turns = [{"adaptive": "true", **turn} for turn in section.turns()]
    assert query_of(line, turns[1]) == "SELECT * FROM {t} l FULL JOIN {t} r ON l.k = r.k"
    assert [line.expected("Exchange+Sort", turn) for turn in turns] == ["0", ">1"]
    settings = list(settings_of(section, line, turns[0]))
    assert settings == [("spark.a", "true"), ("spark.b", "1"), ("spark.c", "2")]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{t} l", "{u} l", r"17: no table is called 'u'"),
        ("${join}", "${joins}", r"17: no variable is called 'joins'"),
        ("Exchange+Sort ", "Exchanges     ", r"17: 'Exchanges' cannot be counted"),
        ("join=FULL: ", "kind=FULL: ", r"17: 'kind=FULL: >1' has no condition of"),
        ("join=FULL: ", "join=FUL: ", r"17: join is never FUL\."),
        (": >1", ": x1", r"17: .* is no count of"),
        ("0; join=FULL: >1 |", "0", r"17: the line has 3 cells, its table 4"),
        ("spark.c = 2", "spark.c 2  ", r"17: 'spark.c 2' is not `name = value"),
        ("# Nothing is shuffled.\n", "", r"10: joined lacks a claim"),
        ("each join", "each jion", r"10: nothing uses the variable jion"),
        ("each join", "each kind a, b\neach join", r"10: nothing uses the variable kind"),
        ("cases format", "case format", r"13: 'case' is no directive"),
    ],
)
def test_slips(tmp_path: Path, old: str, new: str, says: str) -> None:
    """An unknown name, a wrong cell and a loop that changes nothing are errors with their line."""
    with pytest.raises(FormError, match=rf"joins\.table:.*{says}"):
        written(tmp_path, FILE.replace(old, new, 1))


def test_counts(tmp_path: Path) -> None:
    """Another number is written if all turns have it and the cell has no condition."""
    assert [fits(1, cell) for cell in ("1", ">0", "any", "0", ">1")] == [True, True, True, False, False]
    (line,) = written(tmp_path, FILE).sections[0].lines
    assert not rewrite(line, "Exchange+Sort", {3})
    for numbers, is_written in (({1, 2}, False), ({12}, True)):
        folder = tmp_path / str(is_written)
        folder.mkdir()
        (line,) = written(folder, FILE.replace("0; join=FULL: >1", "0               ")).sections[0].lines
        assert rewrite(line, "Exchange+Sort", numbers) is is_written
    assert "| 12               | SELECT * FROM {t} l\n  ${join}" in line.path.read_text()
