"""Filters as people type them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from parquetry.errors import FilterError
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import MAX_CONDITION_DEPTH, depth
from parquetry.predicate.reading.parse import parse_condition
from parquetry.types import ColumnType, parse_type

TYPES = {
    name: parse_type(text)
    for name, text in {
        "year": "int",
        "t": "tinyint",
        "s": "string",
        "Day": "date",
        "ts": "timestamp",
        "ntz": "timestamp_ntz",
        "dc": "decimal(5,2)",
        "long": "decimal(38,2)",
        "f": "float",
        "d": "double",
        "ok": "boolean",
        "b": "binary",
        "c": "char(3)",
        "my col": "int",
        "date": "date",
        "nested": "struct<a:int>",
        "const": "int",
        "struct": "int",
    }.items()
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("year = 2015 and s='CA'", "year = 2015 AND s = 'CA'"),
        ("year == 1 OR year <> 2 or year != 3", "year = 1 OR year != 2 OR year != 3"),
        ("10 < year", "year > 10"),
        ("10 >= year", "year <= 10"),
        ("1 <=> YEAR", "year <=> 1"),
        ("year = '2015'", "year = 2015"),
        ('year = "-7"', "year = -7"),
        ("year = '2.5'", "year IS NULL AND NULL"),
        ("year < 2.5", "year <= 2"),
        ("year > -2.5", "year > -3"),
        ("year >= 1e20", "year > 2147483647"),
        ("year < -1e20", "year IS NULL AND NULL"),
        ("year != 3000000000", "NOT (year IS NULL AND NULL)"),
        ("year = 5L", "year = 5"),
        ("dc = 12.5BD", "dc = 12.50"),
        ("long = -123456789012345678901234567890.12", "long = -123456789012345678901234567890.12"),
        ("dc = -0", "dc = 0.00"),
        ("dc < .125", "dc <= 0.12"),
        ("d = 1e2", "d = 100.0"),
        ("d = 'NaN'", "d = 'NaN'"),
        ("f = '0.1'", "f = 0.10000000149011612"),
        ("f < 0.1", "f <= 0.09999999403953552"),
        ("dc > '-0.001'", "dc > -0.01"),
        ("year = +5", "year = 5"),
        ("s = 'it''s' or s = \"a\"\"b\"", "s = 'it''s' OR s = 'a\"b'"),
        (r"s = 'a\\b\'c'", r"s = 'a\\b''c'"),
        ("s like 'a\\_%'", r"s LIKE 'a\\_%'"),
        ("s not like 'a!%' escape '!'", "s NOT LIKE 'a!%' ESCAPE '!'"),
        ("year between 1 and 2 and t = 3", "year >= 1 AND year <= 2 AND t = 3"),
        ("year not between 1 and 2", "NOT (year >= 1 AND year <= 2)"),
        ("5 between t and year", "t <= 5 AND year >= 5"),
        ("year in (3, '1', 2.5, null)", "year IN (1, 3, NULL)"),
        ("not year in (1)", "year NOT IN (1)"),
        ("year in (2.5)", "year IS NULL AND NULL"),
        ("s in (null)", "NULL"),
        ("(year, s) in ((1, 'a'), (2, null))", "(year, s) IN ((1, 'a'), (2, NULL))"),
        ("(year, t) not in ((1, 2))", "(year, t) NOT IN ((1, 2))"),
        ("(year) in (1)", "year IN (1)"),
        ("((year = 1))", "year = 1"),
        ("(year) = (1)", "year = 1"),
        ("s is null or s is not null", "s IS NULL OR s IS NOT NULL"),
        ("not (not ok)", "ok = true"),
        ("ok and ok = false", "ok = true AND ok = false"),
        ("true", "TRUE"),
        ("1 = 1 and null", "TRUE AND NULL"),
        ("day = DATE '2024-02-29'", "Day = DATE '2024-02-29'"),
        ("day='2024-02-29'", "Day = DATE '2024-02-29'"),
        ("date < date '2024-01-01'", "date < DATE '2024-01-01'"),
        ("date is null", "date IS NULL"),
        ("day <= timestamp '2024-02-29 12:00:00'", "Day <= DATE '2024-02-29'"),
        ("day < timestamp '2024-02-29 00:00:00'", "Day < DATE '2024-02-29'"),
        ("ts = TIMESTAMP '2024-02-29 12:34:56.5'", "ts = TIMESTAMP '2024-02-29 12:34:56.5 UTC'"),
        ("ts > date '2024-02-29'", "ts > TIMESTAMP '2024-02-29 00:00:00 UTC'"),
        ("ntz = timestamp '2024-02-29 01:02:03'", "ntz = TIMESTAMP_NTZ '2024-02-29 01:02:03'"),
        ("b = X'61fF' or b = 'a'", "b = X'61FF' OR b = X'61'"),
        ("`my col` = 1 -- a comment", "`my col` = 1"),
        ("c = 'a' and c < 'abcd'", "c = 'a  ' AND c <= 'abc'"),
        ("year = null", "NULL"),
        ("year <=> null", "year IS NULL"),
        ("year\n  =\n1", "year = 1"),
        ("s = 'é' and s > '😀'", "s = 'é' AND s > '😀'"),
        ("year = 1 or year = 2 and t = 3", "year = 1 OR (year = 2 AND t = 3)"),
        ("s = r'a\\n'", r"s = 'a\\n'"),
        # Hive's own spellings
        ("day = 2024-02-29", "Day = DATE '2024-02-29'"),
        ("2024-02-29<=day and date!=2024-03-01--x", "Day >= DATE '2024-02-29' AND date != DATE '2024-03-01'"),
        ("(day) in (2024-02-29,'2024-03-01')", "Day IN (DATE '2024-02-29', DATE '2024-03-01')"),
        (
            "day not between 2024-01-01 and 2024-02-01",
            "NOT (Day >= DATE '2024-01-01' AND Day <= DATE '2024-02-01')",
        ),
        ("ts > 2024-02-29", "ts > TIMESTAMP '2024-02-29 00:00:00 UTC'"),
        ("ts = 2024-02-29 12:34:56", "ts = TIMESTAMP '2024-02-29 12:34:56 UTC'"),
        ("ntz = 2024-02-29 12:34:56.5", "ntz = TIMESTAMP_NTZ '2024-02-29 12:34:56.5'"),
        ("day < 2024-02-29 12:34:56", "Day <= DATE '2024-02-29'"),
        ("s = 2024-02-29 or s > 2024-02-29 12:34:56", "s = '2024-02-29' OR s > '2024-02-29 12:34:56'"),
        ("(STRUCT(year, t)) IN (CONST STRUCT(1, 2), STRUCT(3, 4))", "(year, t) IN ((1, 2), (3, 4))"),
        ("struct(year, t) not in ((1, 2), const struct(3, 4))", "(year, t) NOT IN ((1, 2), (3, 4))"),
        (
            "((struct(day,s)) in (const struct(2024-02-29,'a')) or year = 1)",
            "(Day, s) IN ((DATE '2024-02-29', 'a')) OR year = 1",
        ),
        ("(STRUCT(year)) IN (CONST STRUCT(1), CONST STRUCT(2))", "year IN (1, 2)"),
        ("struct(year) not in (struct(null))", "NOT (NULL)"),
        ("((year, t)) in (struct(1, 2))", "(year, t) IN ((1, 2))"),
        ("struct = 1 and const in (2)", "struct = 1 AND const IN (2)"),
        ("(year = 1) is true", "year <=> 1"),
        ("year < 1 is not true", "NOT (year < 1 AND year IS NOT NULL)"),
        ("not (year = 1) is false", "NOT (year != 1 AND year IS NOT NULL)"),
        ("ok is true or ok is not false", "ok <=> true OR NOT (ok != true AND ok IS NOT NULL)"),
        ("(year) in (1, 2) is not true", "NOT (year IN (1, 2) AND year IS NOT NULL)"),
        ("(year in (1, null)) is false", "FALSE"),
        (
            "((year, t) in ((1, 2), (3, null))) is true",
            "(year, t) IN ((1, 2)) AND year IS NOT NULL AND t IS NOT NULL",
        ),
        ("null is true is false", "TRUE"),
    ],
)
def test_filters_are_read(text: str, wanted: str) -> None:
    """Names in any case, literals in their columns' types."""
    found = parse_condition(text, TYPES)
    assert str(found) == wanted
    if "NULL AND NULL" not in wanted:
        assert str(parse_condition(str(found), TYPES)) == wanted


def test_timestamps_are_read_in_the_zone() -> None:
    """A literal with a zone of its own keeps it; a date is compared with the zone's midnights."""
    zone = "Europe/Berlin"
    assert (
        str(parse_condition("ts = '2024-07-01 00:00:00'", TYPES, zone))
        == "ts = TIMESTAMP '2024-06-30 22:00:00 UTC'"
    )
    assert "22:00:00 UTC" in str(parse_condition("ts = timestamp '2024-07-01'", TYPES, zone))
    assert "00:00:00 UTC" in str(parse_condition("ts = timestamp '2024-07-01 00:00:00Z'", TYPES, zone))
    assert str(parse_condition("day = timestamp '2024-07-01'", TYPES, zone)) == "Day = DATE '2024-07-01'"
    assert (
        str(parse_condition("day >= timestamp '2024-07-01 00:00:00Z'", TYPES, zone))
        == "Day > DATE '2024-07-01'"
    )


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("yeer = 1", 0, "yeer"),
        ("year = 1 t", 9, "'t' is not expected"),
        ("year = 1; drop table x", 8, "';'"),
        ("year = 'abc'", 7, "'abc'"),
        ("year = ", 6, "the end"),
        ("s = 'abc", 4, "close the quote"),
        ("s = 'a''b", 4, "close the quote"),
        ("`my col = 1", 0, "close the quote"),
        ("year in ()", 9, "empty"),
        ("year in (1", 10, "close the list"),
        ("year in (t)", 9, "literal"),
        ("(year, t) in ((1, 2), (3))", 22, "2 literals"),
        ("(year, t) = (1, 2)", 10, "IN"),
        ("(year = 1", 9, "parenthesis"),
        ("year = t", 7, "Two columns"),
        ("s = 5", 4, "quote it"),
        ("ok = 1", 5, "1"),
        ("year", 0, "no condition"),
        ("5", 0, "compare"),
        ("'a' like s", 0, "column on its left"),
        ("s like 5", 7, "pattern in quotes"),
        ("s like 'a\\\\b'", 7, "escape"),
        ("s like 'a' escape 'xy'", 18, "one character"),
        ("year is 5", 8, "IS NULL"),
        ("day = '2024-02-30'", 6, "2024-02-30"),
        ("ts = timestamp 'x'", 15, "'x'"),
        ("nested.a = 1", 6, "within a column"),
        ("nested = 1", 9, "struct"),
        ("year = 1 and", 12, "the end"),
        ("b = X'abc'", 4, "hexadecimal"),
        ("upper(s) = 'A'", 0, "no functions"),
        ("month(day) = 3", 0, "no functions"),
        ("day >= current_date()", 7, "no functions"),
        ("year in (abs(3))", 9, "no functions"),
        ("year % 7 = 0", 5, "no arithmetic"),
        ("year || 'x' = 'y'", 5, "no arithmetic"),
        ("year = -'5'", 8, "number after the sign"),
        ("1 = 'a'", 4, "different types"),
        ("year between 1 or 2", 15, "BETWEEN low AND high"),
        ("year = 1 and N'and'", 13, "'and'"),
        ("year = 2024-01-01", 7, "2024-01-01 without quotes is a date, and column year is of type int"),
        ("t in (1, 2024-01-01 00:00:00)", 9, "is a timestamp, and column t is of type tinyint"),
        ("nested = 2024-01-01", 9, "struct<a:int>"),
        ("day = 2024-02-30", 6, "day 30"),
        ("day = 2024-2-9", 10, "no arithmetic"),
        ("day = 2024-02-29-1", 10, "no arithmetic"),
        ("day = 2024-02-29é", 10, "no arithmetic"),
        ("day = -2024-02-29", 7, "number after the sign"),
        ("ts = 2024-02-29 12:34:56Z", 16, "'12'"),
        ("day like 2024-02-29", 9, "pattern in quotes"),
        ("s = 'a' 'b'", 8, "'b' is not expected"),
        ("(struct(year, t)) = struct(1, 2)", 18, "(a, b) IN"),
        ("struct(year, t)", 15, "(a, b) IN"),
        ("((year, t))", 11, "(a, b) IN"),
        ("(year, t))", 0, "no condition"),
        ("struct(year, 1) in ((1, 2))", 13, "write a column"),
        ("struct(year, t) in (const (1, 2))", 26, "CONST STRUCT"),
        ("struct(year, t) in (struct(1))", 20, "2 literals"),
        ("year is true", 0, "no condition"),
        ("(year = 1) is 5", 14, "IS [NOT] TRUE"),
        ("year = 1 END AND t = 2", 9, "'END'"),
        ("year = 1 or t = 2 end; drop table x", 18, "'end'"),
        ("year = 1 {# and t = 2 #}", 9, "comments"),
        ("year = 1e", 7, "no number"),
        ("year > -1e99999999999999999999", 8, "no number"),
        ("year = '١'", 7, "number"),
        ("s = 'x' and b = X'zz'", 16, "hexadecimal"),
        ("t = 'NaN'", 4, "'NaN'"),
        ("not", 3, "the end"),
        ("a" * 3 + "\n= 1", 0, "aaa"),
    ],
)
def test_what_is_wrong_is_marked(text: str, place: int, says: str) -> None:
    """The message shows the line and puts a caret under the place."""
    with pytest.raises(FilterError) as caught:
        parse_condition(text, TYPES)
    assert caught.value.position == place
    assert says in str(caught.value)
    line, caret = str(caught.value).splitlines()[-2:]
    assert line[2:] == text.split("\n")[0]
    assert len(caret) - 3 == place


@pytest.mark.parametrize(
    ("around", "reads"),
    [
        ("({})", "year = 1"),
        ("not not {}", "year = 1"),
        ("not ({})", "year = 1"),
        ("({}) or t = 2", "year = 1" + " OR t = 2" * 2000),
    ],
)
def test_any_depth(around: str, reads: str) -> None:
    """Parentheses and NOTs are no matter of the depth of a stack."""
    before, after = around.split("{}")
    assert str(parse_condition(before * 2000 + "year = 1" + after * 2000, TYPES)) == reads


def test_and_within_or_within_and_without_end() -> None:
    """A condition that is too deep for a plan is refused at the depth of the limit."""

    def nested(levels: int) -> str:
        text = "year = 1"
        for level in range(levels):
            text = f"({text} {'or' if level % 2 else 'and'} t != {level % 100})"
        return text

    assert depth(parse_condition(nested(MAX_CONDITION_DEPTH), TYPES)) == MAX_CONDITION_DEPTH
    with pytest.raises(FilterError, match=f"more than {MAX_CONDITION_DEPTH} deep") as caught:
        parse_condition(nested(MAX_CONDITION_DEPTH + 1), TYPES)
    assert caught.value.position == MAX_CONDITION_DEPTH + 1
    with pytest.raises(FilterError, match=f"more than {MAX_CONDITION_DEPTH} deep"):
        parse_condition(nested(5000), TYPES)


@pytest.mark.parametrize("name", ["end", "show", "fetch", "call", "begin", "date", "rename"])
def test_words_of_other_statements_are_names(name: str) -> None:
    """A column may be named so, and what is written of it can be read again."""
    types = {name: ColumnType("int"), "x": ColumnType("int")}
    read = parse_condition(f"{name} = 1 and x = 2", types)
    assert str(read) == f"{name} = 1 AND x = 2"
    assert parse_condition(str(read), types) == read


def test_a_number_in_quotes_is_one_number_however_written() -> None:
    """`'007'` is 7, as Hive takes it."""
    assert evaluate(parse_condition("year in ('007', '8')", TYPES), {"year": 7}) is True


def test_only_parsing_imports_sqlglot() -> None:
    """Planning a scan starts without it."""
    code = (
        "import sys, parquetry.types, parquetry.keys, parquetry.predicate.nodes, parquetry.predicate.reading.parse, "
        "parquetry.predicate.reading.spark_json, parquetry.scan; sys.exit('sqlglot' in sys.modules)"
    )
    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})
