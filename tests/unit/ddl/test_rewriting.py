"""Hive's statements as Spark is to parse them, text by text; and texts that are none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from parquetry.ddl.clustered_by import parse_clustered_by
from parquetry.ddl.rewrite import WORDS, rewrite
from parquetry.ddl.session import Session
from parquetry.ddl.skewed_by import parse_skewed_by
from parquetry.errors import UnsupportedError
from parquetry.sqltext.tokens import tokenise
from tests.support.goldens import GOLDENS, check_golden

FILES = [GOLDENS / folder / "statements.txt" for folder in ("skewed-ddl", "bucketed-ddl", "maintenance")]
SESSION = Session(frozenset({"lake"}), frozenset({"other"}), "lake", ("db",))
ELSEWHERE = Session(frozenset({"lake"}), frozenset({"other"}), "spark_catalog", ("default",))


def statements(file: Path) -> list[str]:
    """Return the statements of a golden file; one that has several lines has blanks before the later ones."""
    blocks = file.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    return [block.split("\n=>\n")[0] for block in blocks]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_statements_become_those_of_the_golden_file(file: Path) -> None:
    """Each form is rewritten as the file says, and everything else is left as it is."""
    told = []
    for statement in statements(file):
        found = rewrite(statement, SESSION)
        told.append(f"{statement}\n=>\n{'as it is' if found is None else found}\n")
        if found is not None and "CALL" not in found:
            assert found.count("\n") == statement.count("\n"), "what follows stays on its line"
        assert found is None or any(word in statement.upper() for word in WORDS)
    check_golden(file, "\n".join(told) + "\n")


def test_names_without_a_catalog_are_of_the_current_one() -> None:
    """With Spark's own catalog current, only statements that name our catalog are rewritten."""
    for file in FILES:
        rewritten = [each for each in statements(file) if rewrite(each, ELSEWHERE) is not None]
        assert rewritten
        assert all("lake." in each for each in rewritten)


_NAMES = st.sampled_from(["x", "`a b`", "SKEWED", "directories", "`it``s`"])
_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=6)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


_VALUES = st.one_of(st.integers().map(str), _TEXTS.map(_quoted), st.sampled_from(["NULL", "-1.5e3", "X'00'"]))


@given(st.lists(_VALUES, min_size=1, max_size=4), _TEXTS, st.booleans())
def test_the_clause_arrives_letter_for_letter(values: list[str], comment: str, directories: bool) -> None:
    """The text that Spark reads between the property's quotes is the clause, letter for letter.

    The clause parses into the same number of constants.
    """
    clause = f"(x) ON ({', '.join(values)}){' STORED AS DIRECTORIES' if directories else ''}"
    text = f"CREATE TABLE t (x STRING) COMMENT {_quoted(comment)} SKEWED BY {clause} USING orc"
    found = rewrite(text, SESSION)
    assert found is not None
    assert found.startswith(text[: text.rindex(" SKEWED BY ")])
    read = [token.text for token in tokenise(found) if token.quoted]
    assert clause in read
    parsed = parse_skewed_by(clause)
    assert parsed.tuples is not None
    assert (len(parsed.tuples), parsed.directories) == (len(values), directories)


_COLUMN = st.sampled_from(["x", "`a b`", "clustered", "`it``s`", "größe"])
_SORTED = st.tuples(_COLUMN, st.sampled_from(["", " ASC", " desc", " ASC NULLS FIRST", " DESC NULLS LAST"]))


@given(st.lists(_COLUMN, min_size=1), st.lists(_SORTED), st.integers(0, 10**6), st.booleans())
def test_buckets_arrive_letter_for_letter(
    columns: list[str], order: list[tuple[str, str]], count: int, altered: bool
) -> None:
    """The property of either statement reads as the clause does.

    It parses into the same columns, directions and count.
    """
    sorting = f"\n SORTED BY ({', '.join(map(''.join, order))})" if order else ""
    clause = f"({', '.join(columns)}){sorting} INTO {count} BUCKETS"
    found = rewrite(f"{'ALTER' if altered else 'CREATE'} TABLE t CLUSTERED BY {clause}", SESSION)
    assert found is not None
    assert [token.text for token in tokenise(found) if token.quoted] == ["clustered-by", clause]
    parsed = parse_clustered_by(clause)
    assert parsed.columns == tuple(tokenise(name)[0].text for name in columns)
    assert parsed.count == count
    assert parsed.sorted_by == tuple(
        (tokenise(name)[0].text, "desc" in direction.lower()) for name, direction in order
    )


_WORDS = st.sampled_from(
    [
        "clustered",
        "sorted",
        "into",
        "buckets",
        "create",
        "table",
        "alter",
        "replace",
        "explain",
        "begin",
        "end",
        "t",
        "lake.db.t",
        "(",
        ")",
        ",",
        ";",
        "=",
        "'",
        "''",
        '"',
        "`",
        "--",
        "/*",
        "*/",
        "skewed",
        "directories",
        "concatenate",
        "by",
        "on",
        "auto",
        "stored",
        "as",
        "set",
        "not",
        "location",
        "partition",
        "select",
        "from",
        "'skewed",
        "by",
        "(x)",
        "on",
        "(1)'",
        "1",
        "\n",
        "x",
        "int",
        "using",
        "parquet",
        "tblproperties",
        "like",
        "if",
        "exists",
        "{#",
        "${a}",
        ":a",
        "?",
        "é",
        "\\",
    ]
)


@given(st.lists(_WORDS, max_size=25))
def test_texts_without_a_clause_are_never_changed(words: list[str]) -> None:
    """A text is changed only if it has one of the clauses outside of quotes and comments."""
    text = " ".join(words)
    found = rewrite(text, SESSION)
    if found is None:
        return
    bare = " ".join(token.word for token in tokenise(text))
    assert any(
        clause in bare
        for clause in (
            "skewed by (",
            "not skewed",
            "not stored as directories",
            "skewed location (",
            "concatenate",
            "clustered by (",
            "not clustered",
            "not sorted",
            "into",
        )
    )


@given(st.text(max_size=60), st.sampled_from(WORDS))
def test_any_text_can_be_shown(text: str, word: str) -> None:
    """No text is an error here: what is no statement Spark's parser refuses."""
    assert rewrite(f"{text} {word} {text}", SESSION) is None


def test_markers_are_filled_in() -> None:
    """Parameters arrive as SQL; markers within texts, and markers without an argument, stay."""
    text = "ALTER TABLE t SKEWED BY (x, y) ON ((:a, ':a'), (:b, ?))"
    assert rewrite(text, SESSION, {"a": "'it\\'s'"}) == (
        "ALTER TABLE t SET TBLPROPERTIES ('skewed-by' = '(x, y) ON ((\\'it\\\\\\'s\\', \\':a\\'), (:b, ?))')"
    )
    positional = rewrite("ALTER TABLE t PARTITION (ds = ?) CONCATENATE", SESSION, {}, ["'1'"])
    assert (
        positional
        == "CALL lake.system.compact(table => 'db.t', where => '`ds` = \\'1\\'', concatenate => true)"
    )


@pytest.mark.parametrize("text", ["SELECT 1", "CREATE TABLE t (x INT)", "ALTER TABLE t ADD COLUMN y INT"])
def test_other_statements_stay(text: str) -> None:
    """A statement without one of the clauses stays unchanged."""
    assert rewrite(text, SESSION) is None


@pytest.mark.parametrize(
    ("clause", "says"),
    [
        ("ROW FORMAT DELIMITED", "ROW FORMAT DELIMITED is of text files"),
        ("ROW FORMAT DELIMITED FIELDS TERMINATED BY ','", "leave it out"),
        (
            "PARTITIONED BY (p) row  format\ndelimited LINES TERMINATED BY '\\n' STORED AS PARQUET",
            "leave it out",
        ),
        ("STORED BY 'org.apache.hadoop.hive.hbase.HBaseStorageHandler'", "say STORED AS PARQUET"),
    ],
)
@pytest.mark.parametrize(
    "begin",
    ["CREATE TABLE t (x INT)", "CREATE EXTERNAL TABLE IF NOT EXISTS lake.db.t", "CREATE TABLE t LIKE u"],
)
def test_rows_of_text_files_are_refused(begin: str, clause: str, says: str) -> None:
    """Hive's clauses for text files and storage handlers are refused for our tables.

    Statements about other tables are left to Spark.
    """
    with pytest.raises(UnsupportedError, match=says):
        rewrite(f"{begin} {clause}", SESSION)
    assert rewrite(f"{begin} {clause}".replace("lake.", "other."), ELSEWHERE) is None
    assert rewrite("CREATE TABLE t (x INT COMMENT 'ROW FORMAT DELIMITED')", SESSION) is None
