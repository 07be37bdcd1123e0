"""Match: what known values and file statistics decide."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import pytest
from numpy.typing import NDArray

from parquetry.data_files.bounds import FileBounds
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import TRUE, And, Compare, In, Like, Not, Opaque, Or, Predicate, TupleIn
from parquetry.predicate.pruning.guarantees import Row
from parquetry.predicate.pruning.knowledge import Bounds, Knowledge, KnownValues
from parquetry.predicate.pruning.match import Match, match
from parquetry.predicate.reading.parse import parse_condition, parse_filter
from parquetry.types import ColumnType, parse_type
from tests.support.planning.knowledge import answer as answer_of, stated

CANNOT, MIGHT, MUST = Match.CANNOT, Match.MIGHT, Match.MUST
TYPES = {
    "n": parse_type("int"),
    "f": parse_type("double"),
    "s": parse_type("string"),
    "c": parse_type("char(3)"),
}
INT = ColumnType("int")
UNKNOWN = Opaque("g(n)", ("n",), "function on the column")


def judged(text: str, **bounds: FileBounds) -> Match:
    """Judge a condition by statistics."""
    return answer_of(parse_condition(text, TYPES), TYPES, bounds)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("n = 5", MIGHT),
        ("n = 11", CANNOT),
        ("n != 11", MUST),
        ("n < 1", CANNOT),
        ("n <= 1", MIGHT),
        ("n < 11", MUST),
        ("n > 10", CANNOT),
        ("n >= 10", MIGHT),
        ("n >= 1", MUST),
        ("n is null", CANNOT),
        ("n is not null", MUST),
        ("n in (11, 12, 0)", CANNOT),
        ("n in (0, 10)", MIGHT),
        ("n not in (11, 12)", MUST),
        ("n <=> 11", CANNOT),
        ("n <=> null", CANNOT),
        ("n = null", CANNOT),
        ("not n > 10", MUST),
        ("n > 10 or n < 1", CANNOT),
        ("n >= 1 and n <= 10", MUST),
        ("n not in (11, null)", CANNOT),
        ("n in (5, null)", MIGHT),
        ("s = 'x'", MIGHT),
        ("n > 10 and s = 'x'", CANNOT),
        ("n < 11 or s = 'x'", MUST),
        ("s is null", MIGHT),
        ("(n, s) in ((11, 'a'), (12, 'b'))", CANNOT),
        ("(n, s) in ((11, 'a'), (2, 'b'))", MIGHT),
    ],
)
def test_bounds_decide(text: str, answer: Match) -> None:
    """A file with n from 1 to 10, no NULL, and nothing known of s."""
    assert judged(text, n=FileBounds(1, 10, nulls=0, rows=9)) is answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("n < 11", MIGHT),
        ("n > 10", CANNOT),
        ("not n > 10", MIGHT),
        ("n is null", MIGHT),
        ("n <=> 11", CANNOT),
        ("not n <=> 11", MUST),
        ("n is null or n < 11", MIGHT),
    ],
)
def test_a_null_is_never_a_must(text: str, answer: Match) -> None:
    """With NULLs in the file, or not counted."""
    for nulls in (3, None):
        assert judged(text, n=FileBounds(1, 10, nulls=nulls, rows=9)) is answer


def test_only_nulls() -> None:
    """A column that the file does not have, or that holds nothing else."""
    for known in (FileBounds(all_null=True), FileBounds(nulls=4, rows=4)):
        assert judged("n = 1", n=known) is CANNOT
        assert judged("not n = 1", n=known) is CANNOT
        assert judged("n is null", n=known) is MUST
        assert judged("n <=> 1", n=known) is CANNOT
        assert judged("not n <=> 1", n=known) is MUST
        assert judged("s like '%'", s=known) is CANNOT
    assert judged("n is null", n=FileBounds(rows=0)) is CANNOT


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("f > 5", MIGHT),
        ("f >= 5", MIGHT),
        ("f != 2", MIGHT),
        ("f < 1", CANNOT),
        ("f <= 0.5", CANNOT),
        ("f = 5", CANNOT),
        ("f < 5", MIGHT),
        ("f <= 3", MIGHT),
        ("f = 'NaN'", MIGHT),
        ("f > 'NaN'", CANNOT),
        ("f >= 'NaN'", MIGHT),
        ("f <= 'NaN'", MUST),
        ("f < 'NaN'", MIGHT),
        ("f in (7, 'NaN')", MIGHT),
        ("f in (7, 8)", CANNOT),
        ("f != 7", MUST),
        ("not f < 5", MIGHT),
        ("not f >= 5", MIGHT),
        ("f >= 1", MUST),
        ("f != 'NaN'", MIGHT),
        ("f is not null", MUST),
        ("f not in (7, 8)", MUST),
        ("not f > 'NaN'", MUST),
    ],
)
def test_nan_may_hide_from_statistics(text: str, answer: Match) -> None:
    """A float column from 1 to 3 with no NULL: NaN is in no statistics, and above everything."""
    assert judged(text, f=FileBounds(1.0, 3.0, nulls=0, rows=9)) is answer


def test_zero_has_no_sign() -> None:
    """-0.0 and 0.0 are equal, whichever a writer kept."""
    for low, high in ((0.0, 0.0), (-0.0, -0.0), (-0.0, 0.0)):
        known = FileBounds(low, high, nulls=0, rows=2)
        assert judged("f = 0", f=known) is MIGHT
        assert judged("f >= '-0.0'", f=known) is MUST
        assert judged("f < 0", f=known) is CANNOT


def test_statistics_that_cannot_be_true_are_not_trusted() -> None:
    """NaN as a bound, and a least value above the greatest."""
    assert judged("f = 5", f=FileBounds(1.0, math.nan, nulls=0)) is MIGHT
    assert judged("f < 0", f=FileBounds(math.nan, 3.0, nulls=0)) is MIGHT
    assert judged("n = 50", n=FileBounds(10, 1, nulls=0)) is MIGHT


def test_truncated_texts_are_bounds_still() -> None:
    """The least value cut off, the greatest cut off and raised."""
    known = FileBounds("ab", "ad", nulls=0, rows=5, min_exact=False, max_exact=False)
    assert judged("s = 'ac'", s=known) is MIGHT
    assert judged("s like 'b%'", s=known) is CANNOT
    assert judged("s like 'a%'", s=known) is MUST
    assert judged("s like 'a%z'", s=known) is MIGHT
    assert judged("s like '%z'", s=known) is MIGHT
    assert judged("s < 'ab'", s=known) is CANNOT
    assert judged("s not like 'a%'", s=known) is CANNOT
    assert judged("s like 'aa%'", s=known) is CANNOT
    assert judged("s like '%'", s=known) is MUST


@pytest.mark.parametrize(
    ("node", "answer"),
    [
        (UNKNOWN, MIGHT),
        (Not(UNKNOWN), MIGHT),
        (And((UNKNOWN, parse_condition("n = 3", TYPES))), CANNOT),
        (Or((UNKNOWN, parse_condition("n = 2", TYPES))), MUST),
        (And((UNKNOWN, parse_condition("n = 2", TYPES))), MIGHT),
        (Like("s", "a%"), MIGHT),
        (TRUE, MUST),
        (parse_condition("n = null", TYPES), CANNOT),
        (parse_condition("n <=> 2", TYPES), MUST),
        (TupleIn(("n", "s"), ((3, "a"), (None, "b")), (INT, TYPES["s"])), CANNOT),
        (TupleIn(("n", "s"), ((2, "a"),), (INT, TYPES["s"])), MIGHT),
        (Not(TupleIn(("n", "s"), ((3, "a"),), (INT, TYPES["s"]))), MIGHT),
    ],
)
def test_known_values_decide_what_they_can(node: Predicate, answer: Match) -> None:
    """Rows with n = 2 and nothing known of s, in a partition."""
    assert match(Filter(node), KnownValues(("n",), [(2,)])).tolist() == [answer]
    assert match(Filter(node), KnownValues(("n",), [(2,)] * 40)).tolist() == [answer] * 40


def test_what_is_not_understood_might() -> None:
    """By statistics too."""
    assert answer_of(UNKNOWN, TYPES, {"n": FileBounds(1, 1, nulls=0)}) is MIGHT
    assert answer_of(parse_condition("n is null", TYPES), TYPES, {}) is MIGHT


def test_what_is_implied_decides_where_it_cannot_hold() -> None:
    """`g(n) = 1` is not understood, yet holds only where n > 5; that n > 5 holds makes it no MUST."""
    implying = Opaque("g(n) = 1", ("n",), "function on the column", parse_condition("n > 5", TYPES))
    for low, high, itself, contrary in ((1, 4, CANNOT, MIGHT), (1, 9, MIGHT, MIGHT), (6, 9, MIGHT, MIGHT)):
        known = {"n": FileBounds(low, high, nulls=0)}
        assert answer_of(implying, TYPES, known) is itself
        assert answer_of(Not(implying), TYPES, known) is contrary


def test_three_files_at_once() -> None:
    """The example of the module: one that holds for every row, one that may, one that cannot."""
    types = {"day": INT, "price": INT}
    files = [
        {"day": FileBounds(3, 3, nulls=0), "price": FileBounds(120, 300, nulls=0)},
        {"day": FileBounds(2, 4, nulls=0), "price": FileBounds(80, 150, nulls=2)},
        {"day": FileBounds(5, 9, nulls=0)},
    ]
    condition = parse_filter("day = 3 and price > 100", types)
    assert match(condition, stated(types, files)).tolist() == [MUST, MIGHT, CANNOT]
    assert match(condition, stated(types, [])).tolist() == []


def test_a_known_nan_is_a_value() -> None:
    """A partition value NaN matches as a value does, in short and in long lists of partitions."""
    for copies in (1, 20):
        known = KnownValues(("f",), [(math.nan,), (1.0,), (None,)] * copies)
        for text, answers in {
            "f > 5": [MUST, CANNOT, CANNOT],
            "f <= 'NaN'": [MUST, MUST, CANNOT],
            "f = 'NaN'": [MUST, CANNOT, CANNOT],
            "f < 'NaN'": [CANNOT, MUST, CANNOT],
            "f in (7, 'NaN')": [MUST, CANNOT, CANNOT],
            "f not in (7, 8)": [MUST, MUST, CANNOT],
            "f like 'N%'": [MUST, CANNOT, CANNOT],
        }.items():
            assert match(parse_filter(text, TYPES), known).tolist() == answers * copies, text


def test_texts_keep_the_nul_at_their_end() -> None:
    """NumPy's own texts would lose it."""
    for copies in (1, 20):
        known = KnownValues(("s",), [("a",), ("a\x00",)] * copies)
        for node in (Compare("=", "s", "a\x00", TYPES["s"]), In("s", ("a\x00", "b"), TYPES["s"])):
            assert match(Filter(node), known).tolist() == [CANNOT, MUST] * copies


def test_a_bound_beyond_all_integers_is_none() -> None:
    """Damaged statistics cut nothing, and raise nothing."""
    assert judged("n = 5", n=FileBounds(-(10**30), 10**30, nulls=0)) is MIGHT


class Directories(Knowledge):
    """Three directories: of x = 10, of x = 20, of all the rest."""

    count = 3
    tuple_columns = (("x",),)

    def bounds(self, column: str) -> Bounds | None:
        return Bounds.from_statistics(INT, [1, 1, 1], [9, 9, 9], [0, 0, 0]) if column == "v" else None

    def may_hold(self, columns: tuple[str, ...], tuples: Collection[Row]) -> NDArray[np.bool_]:
        assert columns == ("x",)
        found = {value for (value,) in tuples}
        return np.array([10 in found, 20 in found, bool(found - {10, 20})])


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("x = 10", [MIGHT, CANNOT, CANNOT]),
        ("x in (20, 30)", [CANNOT, MIGHT, MIGHT]),
        ("x is null", [CANNOT, CANNOT, MIGHT]),
        ("x = 10 and x = 20", [CANNOT, CANNOT, CANNOT]),
        ("x = 10 and v > 9", [CANNOT, CANNOT, CANNOT]),
        ("(x = 10 and v > 9) or x = 30", [CANNOT, CANNOT, MIGHT]),
        ("x = 10 or v > 9", [MIGHT, CANNOT, CANNOT]),
        ("x not in (20, 30)", [MIGHT, MIGHT, MIGHT]),
        ("x is not null", [MUST, MUST, MIGHT]),
        ("x > 10", [MIGHT, MIGHT, MIGHT]),
        ("v < 10 and (x = 10 or x = 20)", [MIGHT, MIGHT, CANNOT]),
    ],
)
def test_tuples_that_may_be_there(text: str, answers: list[Match]) -> None:
    """A directory may match if the condition allows its values, in each branch of an OR by itself."""
    assert match(parse_filter(text, {"x": INT, "v": INT}), Directories()).tolist() == answers


def test_too_many_tuples_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """An IN of more values than are few leaves every directory."""
    monkeypatch.setattr("parquetry.predicate.pruning.match.MAX_ALLOWED_TUPLES", 2)
    for values, answers in (((1, 2), [CANNOT, CANNOT, MIGHT]), ((1, 2, 3), [MIGHT, MIGHT, MIGHT])):
        assert match(Filter(In("x", values, INT)), Directories()).tolist() == answers
