"""Plans: the examples of Hive's design of partition filters over sorted keys, Hive's own mistakes, and what bounds a plan."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest

from parquetry.errors import ColumnNotFoundError
from parquetry.key_schema import KeySchema
from parquetry.keys import successor
from parquetry.predicate.filter import EVERY_ROW
from parquetry.predicate.nodes import (
    TRUE,
    And,
    Compare,
    In,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
    columns_of,
    equal,
)
from parquetry.predicate.parse import parse_filter
from parquetry.scan import EVERYTHING, KeyScan, compile_residual, plan_scan
from parquetry.scan.generate import MAX_SCANS, MERGE_POINTS
from parquetry.types import Value, parse_type
from tests.support.filters import filter_of
from tests.support.keys import leading, read_plan

INT, STRING = parse_type("int"), parse_type("string")
ONE = KeySchema.of([("p1", INT)])
TWO = KeySchema.of([("p1", INT), ("c1", INT)])
NONE = KeySchema(())
DATES = KeySchema.of([("year", INT), ("month", INT), ("state", STRING)])


class Keys:
    """A table's keys, and the bounds that a test expects."""

    def __init__(self, schema: KeySchema, *descending: bool) -> None:
        self.schema = KeySchema.of(schema.types.items(), descending)

    def at(self, *values: Value) -> bytes:
        """Where the keys with these leading values begin."""
        return leading(self.schema, values)

    def after(self, *values: Value) -> bytes | None:
        """Where they end."""
        return successor(self.at(*values))

    def range(
        self, start: bytes, stop: bytes | None, residual: str | None = None
    ) -> tuple[str, bytes, bytes | None, str | None]:
        """Make a range as `planned` gives it; bounds that only differ in zeros at the end are one bound."""
        return "range", start, None if stop is None else stop.rstrip(b"\x00"), residual

    def get(self, *values: Value) -> tuple[str, bytes, bytes | None, str | None]:
        """Make a get as `planned` gives it."""
        key = self.schema.encode(values)
        return "get", key, successor(key), None

    def planned(self, filter: str | Predicate) -> list[tuple[str, bytes, bytes | None, str | None]]:
        """Plan a filter."""
        node = parse_filter(filter, self.schema.types) if isinstance(filter, str) else filter_of(filter)
        return [
            (
                scan.kind,
                scan.start,
                scan.stop if scan.kind == "get" or scan.stop is None else scan.stop.rstrip(b"\x00"),
                None if scan.residual is None else str(scan.residual),
            )
            for scan in plan_scan(node, self.schema).scans
        ]

    def found(self, filter: str | Predicate, *rows: tuple[Value, ...]) -> list[tuple[Value, ...]]:
        """Run a filter over rows."""
        node = parse_filter(filter, self.schema.types) if isinstance(filter, str) else filter_of(filter)
        stored = sorted(map(self.schema.encode, rows))
        plan = plan_scan(node, self.schema)
        scanned = read_plan(
            plan,
            self.schema,
            lambda start, stop: (k for k in stored if start <= k and (stop is None or k < stop)),
        )
        return list(map(self.schema.decode, scanned))


one, two, dates = Keys(ONE), Keys(TWO), Keys(DATES)
NOT_NULL = b"\x01"


class TestDocument:
    """The examples of Hive's design, line by line."""

    def test_a_range_of_the_first_column(self) -> None:
        """p1 > 10 and p1 < 20."""
        assert two.planned("p1 > 10 and p1 < 20") == [two.range(two.at(11), two.at(20))]

    def test_a_single_column_is_got(self) -> None:
        """p1 = 10, where p1 is all of the key."""
        assert one.planned("p1 = 10") == [one.get(10)]

    def test_all_columns_are_got(self) -> None:
        """The same with each column given, in any order."""
        assert dates.planned("state = 'CA' and month = 3 and year = 2015") == [dates.get(2015, 3, "CA")]

    def test_an_equality_of_the_first_of_several(self) -> None:
        """p1 = 10 is the range of its prefix."""
        assert two.planned("p1 = 10") == [two.range(two.at(10), two.after(10))]

    def test_two_values_are_two_gets(self) -> None:
        """p1 = 9 or p1 = 10."""
        assert one.planned("p1 = 9 or p1 = 10") == [one.get(9), one.get(10)]

    def test_two_ranges(self) -> None:
        """p1 > 20 or p1 < 10: in key order."""
        assert two.planned("p1 > 20 or p1 < 10") == [
            two.range(NOT_NULL, two.at(10)),
            two.range(two.at(21), None),
        ]

    def test_a_condition_on_a_later_column_is_a_residual(self) -> None:
        """condition1 alone, with p1 > 10, and with p1 < 20."""
        assert two.planned("c1 = 5") == [two.range(b"", None, "c1 = 5")]
        assert two.planned("p1 > 10 and c1 = 5") == [two.range(two.at(11), None, "c1 = 5")]
        assert two.planned("p1 < 20 and c1 = 5") == [two.range(NOT_NULL, two.at(20), "c1 = 5")]

    def test_the_tightest_bounds_win(self) -> None:
        """p1 > 10 and p1 > 20 and p1 < 30 and p1 < 40."""
        assert two.planned("p1 > 10 and p1 > 20 and p1 < 30 and p1 < 40") == [
            two.range(two.at(21), two.at(30))
        ]

    def test_and_over_or_distributes(self) -> None:
        """p1 > 10 and (p1 > 20 or c1 = 5): the two ranges touch and are one."""
        filter = "p1 > 10 and (p1 > 20 or c1 = 5)"
        assert two.planned(filter) == [two.range(two.at(11), None, "p1 > 20 OR c1 = 5")]
        rows = [(p, c) for p in (10, 11, 20, 21) for c in (None, 4, 5)]
        assert two.found(filter, *rows) == [(11, 5), (20, 5), (21, None), (21, 4), (21, 5)]

    def test_an_or_that_needs_everything_is_one_scan(self) -> None:
        """condition1 or condition2, one of them on a later column: one scan with both as its filter."""
        assert two.planned("p1 = 3 or c1 = 5") == [two.range(b"", None, "p1 = 3 OR c1 = 5")]
        assert two.planned("p1 > 3 or c1 = 5 or p1 < 0") == [
            two.range(b"", None, "p1 > 3 OR c1 = 5 OR p1 < 0")
        ]
        assert dates.planned("year = 1 and (month = 2 or state = 'CA')") == [
            dates.range(dates.at(1), dates.after(1), "month = 2 OR state = 'CA'")
        ]

    def test_ors_of_ands_are_planned_each(self) -> None:
        """(c1 or c2) and (c3 or c4) is four conjunctions."""
        assert two.planned("(p1 = 1 or p1 = 2) and (c1 = 5 or c1 = 6)") == [
            two.get(p, c) for p in (1, 2) for c in (5, 6)
        ]
        assert dates.planned("(year = 1 and month = 2) or (year = 2 and state = 'CA')") == [
            dates.range(dates.at(1, 2), dates.after(1, 2)),
            dates.range(dates.at(2), dates.after(2), "state = 'CA'"),
        ]

    def test_major_parts(self) -> None:
        """Hive's three examples for the key (year, month, state)."""
        assert dates.planned("year = 2015 and 1 <= month and month < 5") == [
            dates.range(dates.at(2015, 1), dates.at(2015, 5))
        ]
        assert dates.planned("year = 2015 and state = 'CA'") == [
            dates.range(dates.at(2015), dates.after(2015), "state = 'CA'")
        ]
        assert dates.planned("month = 10 and state = 'CA'") == [
            dates.range(b"", None, "month = 10 AND state = 'CA'")
        ]


class TestHivesMistakes:
    """Each defect found in Hive's own implementation, by its number there."""

    def test_1_branches_do_not_tighten_each_other(self) -> None:
        """Hive's branches shared their markers, and p1 in (10, 20] was lost."""
        assert one.found("p1 >= 10 and (p1 >= 10 or p1 > 11)", (9,), (10,), (11,), (12,)) == [
            (10,),
            (11,),
            (12,),
        ]

    @pytest.mark.parametrize("value", [255, 256, -1, 65535, -256, 2**31 - 1, -(2**31), 0])
    @pytest.mark.parametrize("op", ["=", "<=", ">", "<", ">=", "!="])
    def test_2_bytes_are_carried(self, value: int, op: str) -> None:
        """Hive's p1 <= 255 scanned nothing."""
        values = sorted({v for v in (value - 1, value, value + 1) if -(2**31) <= v < 2**31})
        wanted = [
            v
            for v in values
            if {
                "=": v == value,
                "!=": v != value,
                "<=": v <= value,
                ">": v > value,
                "<": v < value,
                ">=": v >= value,
            }[op]
        ]
        rows = [(v, c) for v in values for c in (None, 0, 1)]
        for keys in (two, Keys(TWO, True, False), Keys(TWO, False, True)):
            found = keys.found(f"p1 {op} {value}", *rows)
            assert sorted({row[0] for row in found}) == wanted  # type: ignore[type-var]
            assert len(found) == 3 * len(wanted)

    def test_3_ends_of_later_columns_are_ends(self) -> None:
        """Hive put them where starts belong: state = 'CA' meant state >= 'CA'."""
        rows = [(1, m, s) for m in (10, 11, 12) for s in ("AL", "CA", "NY")]
        assert dates.found("state = 'CA'", *rows) == [(1, 10, "CA"), (1, 11, "CA"), (1, 12, "CA")]
        assert dates.found("month <= 11 and state < 'CA'", *rows) == [(1, 10, "AL"), (1, 11, "AL")]

    def test_4_the_exclusive_of_two_equal_bounds_wins(self) -> None:
        """x <= 20 and x < 20 kept 20."""
        for filter in ("p1 <= 20 and p1 < 20", "p1 < 20 and p1 <= 20"):
            assert one.found(filter, (19,), (20,)) == [(19,)]
        for filter in ("p1 >= 20 and p1 > 20", "p1 > 20 and p1 >= 20"):
            assert one.found(filter, (20,), (21,)) == [(21,)]

    def test_5_bounds_far_apart_are_compared(self) -> None:
        """Hive took any comparison but 1 and -1 for equal."""
        keys = Keys(KeySchema.of([("s", STRING), ("c1", INT)]))
        assert keys.planned("s > 'a' and s > 'zzz'") == keys.planned("s > 'zzz'")
        assert keys.planned("s < 'a' and s < 'zzz'") == keys.planned("s < 'a'")

    def test_6_a_literal_may_stand_on_the_left(self) -> None:
        """10 < p1 was planned as p1 < 10."""
        assert two.planned("10 < p1") == two.planned("p1 > 10")
        assert two.planned("10 >= p1") == two.planned("p1 <= 10")

    def test_7_like_is_sqls(self) -> None:
        """Hive matched a Java expression: 'C%' found nothing but itself."""
        keys = Keys(KeySchema.of([("s", STRING)]))
        rows = [("C",), ("CA",), ("CXA",), ("BCA",), ("C%",), (None,)]
        assert keys.found("s like 'C%'", *rows) == [("C",), ("C%",), ("CA",), ("CXA",)]
        assert keys.found("s like 'C%A'", *rows) == [("CA",), ("CXA",)]
        assert keys.found("s like 'C\\%'", *rows) == [("C%",)]

    def test_8_null_is_in_no_range(self) -> None:
        """Hive had NULLs in every `<` of the first column, and failed on them in others."""
        rows = [(p, c) for p in (None, 1, 3) for c in (None, 1, 3)]
        assert two.found("p1 < 2", *rows) == [(1, None), (1, 1), (1, 3)]
        assert two.found("c1 < 2", *rows) == [(None, 1), (1, 1), (3, 1)]
        assert two.found("p1 <= 3 and c1 != 1", *rows) == [(1, 3), (3, 3)]
        assert two.found("p1 is null and c1 is null", *rows) == [(None, None)]
        assert two.found("not p1 < 2", *rows) == [(3, None), (3, 1), (3, 3)]
        assert two.planned("p1 is null and c1 is null") == [two.get(None, None)]
        assert Keys(TWO, True, True).found("p1 < 2", *rows) == [(1, 3), (1, 1), (1, None)]

    def test_9_no_filter_is_everything_and_an_unknown_column_is_an_error(self) -> None:
        """Hive failed on the first and dropped the second; names are found in any case."""
        assert plan_scan(EVERY_ROW, TWO) == EVERYTHING
        assert EVERYTHING.scans == (KeyScan("range", b"", None, None),)
        with pytest.raises(ColumnNotFoundError, match="p9"):
            plan_scan(filter_of(equal("p9", 1, INT)), TWO)
        with pytest.raises(ColumnNotFoundError, match="p9"):
            compile_residual(filter_of(equal("p9", 1, INT)), TWO)
        assert two.planned("P1 = 1") == two.planned("p1 = 1")

    def test_10_the_plan_says_whether_it_is_exact(self) -> None:
        """Hive's flag was never set, and returned upside down."""
        unknown = Opaque("f(c1)", ("c1",), "function on the column")
        assert plan_scan(filter_of(And((equal("p1", 1, INT), equal("c1", 1, INT)))), TWO).exact
        assert plan_scan(filter_of(equal("c1", 1, INT)), TWO).exact
        assert not plan_scan(filter_of(And((equal("p1", 1, INT), unknown))), TWO).exact
        assert plan_scan(filter_of(Or((TRUE, unknown))), TWO).exact
        assert two.planned(And((equal("p1", 1, INT), unknown))) == [
            two.range(two.at(1), two.after(1), "f(c1)")
        ]
        assert two.planned(Or((equal("p1", 1, INT), unknown))) == [two.range(b"", None, "p1 = 1 OR f(c1)")]

    def test_11_bytes_have_no_sign(self) -> None:
        """Hive's first version sorted bytes of 80 and above first."""
        rows = [(-1,), (0,), (127,), (128,), (255,)]
        assert one.found("p1 >= 0", *rows) == rows[1:]
        keys = Keys(KeySchema.of([("s", STRING)]))
        assert keys.found("s > 'z'", ("a",), ("é",), ("😀",)) == [("é",), ("😀",)]

    def test_12_ranges_merge_and_contradictions_scan_nothing(self) -> None:
        """Hive scanned overlaps twice, and contradictions too."""
        assert two.planned("p1 > 10 or p1 > 20") == [two.range(two.at(11), None)]
        assert two.planned("p1 < 10 or (p1 >= 10 and p1 < 20)") == [two.range(NOT_NULL, two.at(20))]
        assert two.planned("p1 <= 10 or p1 > 10") == [two.range(NOT_NULL, None)]
        assert two.planned("p1 <= 10 or p1 > 10 or p1 is null") == [two.range(b"", None)]
        assert two.planned("p1 > 10 and p1 < 5") == []
        assert two.planned("p1 = 10 and p1 = 11") == []
        assert two.planned("p1 = 10 and p1 is null") == []
        assert two.planned("p1 > 5 and p1 < 6") == []
        assert two.planned("p1 = null") == []
        assert two.planned("p1 in (1, 2) and p1 not in (1, 2, 3)") == []
        assert two.planned("p1 = 5 and p1 != 5") == []
        assert one.found("p1 = 5 or p1 >= 5 or p1 in (5, 6)", (5,), (6,), (7,)) == [(5,), (6,), (7,)]

    def test_13_like_reaches_the_plan(self) -> None:
        """Hive's checker dropped a filter with LIKE whole."""
        keys = Keys(KeySchema.of([("s", STRING), ("c1", INT)]))
        assert keys.planned("s like 'ab%'") == [keys.range(b"\x01ab", b"\x01ac")]
        assert keys.planned("s like 'ab%' and c1 = 5") == [keys.range(b"\x01ab", b"\x01ac", "c1 = 5")]


class TestConditions:
    """What each kind of condition does to a plan."""

    def test_in_over_leading_columns_is_a_product(self) -> None:
        """Nine gets; a range for neighbours when a column follows; and the same written as tuples."""
        nine = [(x, y) for x in (1, 2, 3) for y in (5, 6, 7)]
        assert two.planned("p1 in (1, 2, 3) and c1 in (5, 6, 7)") == [two.get(*pair) for pair in nine]
        assert dates.planned("year in (1, 2, 3) and month in (5, 6, 7)") == [
            dates.range(dates.at(x, 5), dates.after(x, 7)) for x in (1, 2, 3)
        ]
        apart = [(x, y) for x in (1, 3, 5) for y in (5, 7, 9)]
        assert dates.planned("year in (1, 3, 5) and month in (5, 7, 9)") == [
            dates.range(dates.at(*pair), dates.after(*pair)) for pair in apart
        ]
        rows = ", ".join(map(str, reversed(nine)))
        assert two.planned(f"(p1, c1) in ({rows})") == [two.get(*pair) for pair in nine]
        assert two.planned(f"(c1, p1) in ({', '.join(str((y, x)) for x, y in nine)})") == [
            two.get(*pair) for pair in nine
        ]

    def test_tuples_need_not_be_a_product(self) -> None:
        """Each row is its own scan; a row with NULL is none; conditions on the same columns cut them."""
        assert two.planned("(p1, c1) in ((1, 5), (2, 6), (2, null))") == [two.get(1, 5), two.get(2, 6)]
        assert two.planned("(p1, c1) in ((1, 5), (2, 6)) and c1 > 5") == [two.get(2, 6)]
        assert dates.planned("(year, state) in ((1, 'CA'), (1, 'NY'))") == [
            dates.range(dates.at(1), dates.after(1), "state IN ('CA', 'NY')")
        ]
        rows = [(p, c) for p in (None, 1, 2) for c in (None, 5, 6)]
        assert two.found("(p1, c1) not in ((1, 5), (2, null))", *rows) == [(1, 6)]

    def test_many_tuples_not_in_are_a_residual(self) -> None:
        """Left whole, and tested with three truth values."""
        many = tuple((n, n) for n in range(MERGE_POINTS + 1))
        node = Not(TupleIn(("p1", "c1"), many, (INT, INT)))
        assert len(two.planned(node)) == 1
        rows = [(p, c) for p in (None, 5, 500) for c in (None, 5, 500)]
        assert two.found(node, *rows) == [(None, 500), (5, 500), (500, None), (500, 5), (500, 500)]

    def test_not_equal_narrows_nothing_and_loses_nothing(self) -> None:
        """On the last column used it is a residual; at the end of a range it moves the end."""
        assert two.planned("p1 != 5") == [two.range(NOT_NULL, None, "p1 != 5")]
        assert two.planned("p1 = 1 and c1 != 5") == [two.range(two.at(1) + NOT_NULL, two.after(1), "c1 != 5")]
        assert two.planned("p1 >= 5 and p1 != 5") == [two.range(two.at(6), None)]
        assert two.planned("p1 not in (1, 2, 9)") == [two.range(NOT_NULL, None, "p1 NOT IN (1, 2, 9)")]
        assert two.planned("p1 in (1, 2) and p1 != 1") == [two.range(two.at(2), two.after(2))]

    def test_like_on_the_last_column_used(self) -> None:
        """A prefix is a range, with a residual if the pattern has more."""
        assert dates.planned("year = 1 and month = 2 and state like 'C%'") == [
            dates.range(dates.at(1, 2) + b"\x01C", dates.at(1, 2) + b"\x01D")
        ]
        assert dates.planned("year = 1 and month = 2 and state like 'C_'") == [
            dates.range(dates.at(1, 2) + b"\x01C", dates.at(1, 2) + b"\x01D", "state LIKE 'C_'")
        ]
        assert dates.planned("year = 1 and month = 2 and state like '%A'") == [
            dates.range(dates.at(1, 2) + NOT_NULL, dates.after(1, 2), "state LIKE '%A'")
        ]
        assert dates.planned("year = 1 and month = 2 and state like 'CA'") == [dates.get(1, 2, "CA")]
        assert dates.planned("year = 1 and month = 2 and state not like 'C%'")[0][3] == "state NOT LIKE 'C%'"
        assert dates.planned("year = 1 and month = 2 and state = 'CA' and state like '%A'") == [
            dates.get(1, 2, "CA")
        ]
        assert dates.planned("year = 1 and month = 2 and state = 'CA' and state like '%B'") == []

    def test_literals_between_the_values(self) -> None:
        """2.5 and 1e20 against whole numbers."""
        assert two.planned("p1 > 2.5") == [two.range(two.at(3), None)]
        assert two.planned("p1 = 2.5") == []
        assert two.planned("p1 < 1e20") == [two.range(NOT_NULL, None)]
        assert two.planned("p1 in (2.5, 3)") == two.planned("p1 = 3")

    def test_floats_and_texts_at_the_edges(self) -> None:
        """NaN above all, one zero, the empty text the least."""
        nan, inf = float("nan"), float("inf")
        keys = Keys(KeySchema.of([("f", parse_type("double"))]))
        rows = [(None,), (-inf,), (-0.0,), (1.0,), (inf,), (nan,)]
        assert str(keys.found("f > 0", *rows)) == str([(1.0,), (inf,), (nan,)])
        assert str(keys.found("f = 'NaN'", *rows)) == str([(nan,)])
        assert keys.found("f > 'NaN'", *rows) == []
        assert keys.planned("f > 'NaN'") == []
        assert keys.found("f = 0", *rows) == [(0.0,)]
        texts = Keys(KeySchema.of([("s", STRING)]))
        assert texts.planned("s < ''") == []
        assert texts.found("s >= ''", (None,), ("",), ("\x00",), ("a",)) == [("",), ("\x00",), ("a",)]
        assert texts.found("s > ''", (None,), ("",), ("\x00",), ("a",)) == [("\x00",), ("a",)]
        flags = Keys(KeySchema.of([("ok", parse_type("boolean"))]))
        assert flags.planned("ok > true") == []
        assert flags.planned("ok") == [flags.get(True)]

    def test_descending_columns(self) -> None:
        """Ranges are turned round, each in its column, and results come in key order."""
        keys = Keys(TWO, True, False)
        rows = [(p, c) for p in (None, 1, 2, 3) for c in (1, 2)]
        assert keys.found("p1 > 1 and c1 >= 2", *rows) == [(3, 2), (2, 2)]
        assert keys.found("p1 is not null", *rows) == [(p, c) for p in (3, 2, 1) for c in (1, 2)]
        assert keys.planned("p1 in (1, 2) and c1 = 1") == [keys.get(2, 1), keys.get(1, 1)]
        texts = Keys(KeySchema.of([("s", STRING)]), True)
        assert texts.found("s like 'b%'", ("a",), ("b",), ("bz",), ("c",), (None,)) == [("bz",), ("b",)]

    def test_pages(self) -> None:
        """`(p1, c1) < (10, 5)` as people write it: no residual, and nothing of p1 = 10 beyond."""
        assert two.planned("p1 < 10 or (p1 = 10 and c1 < 5)") == [
            two.range(NOT_NULL, two.at(10)),
            two.range(two.at(10) + NOT_NULL, two.at(10, 5)),
        ]

    def test_a_table_without_partitions(self) -> None:
        """Has one key, the empty one."""
        assert plan_scan(EVERY_ROW, NONE) == EVERYTHING
        assert plan_scan(parse_filter("1 = 2", {}), NONE).scans == ()
        assert plan_scan(filter_of(Opaque("f()", (), "?")), NONE).whole


class TestCost:
    """Plans stay small, and are made fast; what is given up is only a residual's work."""

    def test_forty_ors_of_ands(self) -> None:
        """Under 50 ms of processor time, on a busy machine, and each branch a scan."""
        text = " or ".join(f"(year = {n} and month > {n} and state like 'a{n}%')" for n in range(40))
        assert len(self.timed(text, 0.05)) == 40

    def test_forty_ors_of_ranges(self) -> None:
        """Ranges of three columns that overlap cut each other into thousands of pieces, which is not gone into."""
        text = " or ".join(
            f"(year >= {n} and year < {n + 40} and month >= {n} and month < {n + 40} and state < 'a{n}')"
            for n in range(40)
        )
        self.timed(text, 0.05)

    def test_a_thousand_conditions(self) -> None:
        """No depth of calls grows with them."""
        for text in (
            " and ".join(f"state not like '%{n}'" for n in range(1000)),
            " or ".join(f"(month = {n} and state = 'a{n}')" for n in range(1000)),
        ):
            self.timed(text, 0.5)

    def test_forty_ands_of_ors(self) -> None:
        """Their normal form would have 3 to the 40 branches."""
        text = " and ".join(f"(year = {n} or month = {n} or state = 'a{n}')" for n in range(40))
        assert len(self.timed(text, 0.05)) == 1
        text = " and ".join(f"(year < {n} or month = {n} or state = 'a{n}')" for n in range(40))
        self.timed(text, 0.05)

    def test_a_product_of_lists_is_bounded(self) -> None:
        """A hundred by a hundred by a hundred: the last column becomes a range with a residual."""
        many = tuple(range(0, 200, 2))
        node = And(
            (In("year", many, INT), In("month", many, INT), In("state", tuple(map(str, many)), STRING))
        )
        plan = plan_scan(filter_of(node), DATES)
        assert len(plan.scans) == MAX_SCANS
        assert plan.exact
        assert {str(scan.residual)[:8] for scan in plan.scans} == {"state IN"}

    def test_more_values_than_scans(self) -> None:
        """One range, tested."""
        node = In("p1", tuple(range(0, 4 * MAX_SCANS, 2)), INT)
        assert [(kind, residual) for kind, _, _, residual in two.planned(node)] == [("range", str(node))]

    def test_neighbouring_values_are_read_together(self) -> None:
        """Sixty-four whole keys one by one, a year at once; of leading columns, any two that touch."""
        few = In("p1", tuple(range(MERGE_POINTS)), INT)
        year = In("p1", tuple(range(100, 465)), INT)
        assert len(one.planned(few)) == MERGE_POINTS
        assert two.planned(few) == [two.range(two.at(0), two.at(MERGE_POINTS))]
        assert dates.planned("year = 2013 or year = 2014") == [dates.range(dates.at(2013), dates.after(2014))]
        assert dates.planned("year in (2013, 2014, 2016)") == [
            dates.range(dates.at(2013), dates.after(2014)),
            dates.range(dates.at(2016), dates.after(2016)),
        ]
        assert dates.planned("year = 2013 or year = 2014 and (month is null or month <= 3)") == [
            dates.range(dates.at(2013), dates.after(2014, 3))
        ]
        assert dates.planned("year in (2013, 2014) and month > 3") == [
            dates.range(dates.at(2013, 4), dates.after(2013)),
            dates.range(dates.at(2014, 4), dates.after(2014)),
        ]
        assert two.planned(year) == [two.range(two.at(100), two.at(465))]
        assert one.planned(year) == [one.range(one.at(100), one.at(465))]

    def test_a_simple_plan_is_made_at_once(self) -> None:
        """A conjunction of three: a tenth of a millisecond on an idle core; ten times that is an error."""
        node = parse_filter("year = 2015 and month = 3 and state = 'CA'", DATES.types)
        assert columns_of(node.node) == {"year", "month", "state"}
        best = min(self.seconds(lambda: plan_scan(node, DATES)) for _ in range(50))
        assert best < 0.001

    def test_a_residual_is_tested_on_bytes(self) -> None:
        """A million keys in about a second; here a fiftieth of them, with five times the time."""
        test = compile_residual(parse_filter("month < 5 and state in ('a', 'b')", DATES.types), DATES)
        keys = [DATES.encode((n, n % 12, "abc"[n % 3])) for n in range(20_000)]
        assert min(self.seconds(lambda: [key for key in keys if test(key)]) for _ in range(3)) < 0.1

    def timed(self, text: str, limit: float) -> tuple[KeyScan, ...]:
        """Plan a filter, in the best of some tries, within a limit in seconds."""
        node = parse_filter(text, DATES.types)
        assert min(self.seconds(lambda: plan_scan(node, DATES)) for _ in range(5)) < limit
        return plan_scan(node, DATES).scans

    @staticmethod
    def seconds(work: object) -> float:
        """Measure the processor's time."""
        before = time.process_time()
        work()  # type: ignore[operator]
        return time.process_time() - before


def test_a_comparison_with_null_in_a_residual_is_never_true() -> None:
    """Nor is NOT IN of a list with NULL: the door leaves neither to those behind it."""
    never = filter_of(Or((Compare("=", "c1", None, INT), Not(In("c1", (1,), INT, has_null=True)))))
    assert str(never) == "NULL OR (c1 != 1 AND NULL)"
    test = compile_residual(never, TWO)
    assert not any(test(TWO.encode((1, c))) for c in (None, 1, 2))


@pytest.mark.parametrize("descending", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(
    ("type", "value", "other"),
    [
        ("int", -7, 3),
        ("string", "a\x00b", ""),
        ("char(4)", "ab", "b"),
        ("double", -0.0, 2.5),
        ("boolean", True, False),
        ("decimal(9,2)", Decimal("1.50"), Decimal("2")),
    ],
)
def test_whole_key_is_the_get_that_cutting_finds(
    type: str, value: Value, other: Value, descending: tuple[bool, ...]
) -> None:
    """One equality for each column is the get that the same filter has among others, in any order."""
    schema = KeySchema.of([("a", parse_type(type)), ("b", INT)], descending)
    bound = [Compare("=", "b", 2, INT), Compare("<=>", "a", value, schema.field("a").type)]
    cut = plan_scan(filter_of(And((bound[0], In("a", (value, other), schema.field("a").type)))), schema)
    whole = plan_scan(filter_of(And(tuple(bound))), schema)
    assert [scan.kind for scan in cut.scans] == ["get", "get"]
    assert len(whole.scans) == 1
    assert whole.scans[0] in cut.scans
    assert plan_scan(filter_of(And((*bound, Compare("=", "b", 3, INT)))), schema).scans == ()
