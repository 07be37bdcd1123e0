"""Properties of plans that no line of text shows: their bounds, their cost, and some of Hive's mistakes.

The plan of each filter is in tests/golden/plans.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from decimal import Decimal

import pytest

from parquetry.errors import ColumnNotFoundError
from parquetry.key_schema import KeySchema
from parquetry.predicate.filter import EVERY_ROW, Filter
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
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan import EVERYTHING, KeyScan, compile_residual, plan_scan
from parquetry.scan.generate import MAX_SCANS, MERGE_POINTS
from parquetry.scan.plan_text import plan_text
from parquetry.types import Value, parse_type
from tests.support.planning.filters import make_filter
from tests.support.planning.keys import read_plan

INT, STRING = parse_type("int"), parse_type("string")
ONE = KeySchema.from_columns([("p1", INT)])
TWO = KeySchema.from_columns([("p1", INT), ("c1", INT)])
NONE = KeySchema(())
DATES = KeySchema.from_columns([("year", INT), ("month", INT), ("state", STRING)])


def planned(filter: str | Predicate, schema: KeySchema) -> list[str]:
    """Return the lines of a filter's plan."""
    return plan_text(plan_scan(_filter(filter, schema), schema), schema).splitlines()


def found(
    filter: str | Predicate, schema: KeySchema, rows: Iterable[tuple[Value, ...]]
) -> list[tuple[Value, ...]]:
    """Run a filter's plan over rows."""
    stored = sorted(map(schema.encode, rows))
    plan = plan_scan(_filter(filter, schema), schema)
    scanned = read_plan(
        plan, schema, lambda start, stop: (k for k in stored if start <= k and (stop is None or k < stop))
    )
    return list(map(schema.decode, scanned))


def _filter(filter: str | Predicate, schema: KeySchema) -> Filter:
    return parse_filter(filter, schema.types) if isinstance(filter, str) else make_filter(filter)


class TestHivesMistakes:
    """Defects in Hive's own implementation, by number.

    The other defects are in tests/golden/plans/hives-mistakes.txt.
    """

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
        for descending in ((False, False), (True, False), (False, True)):
            read = found(f"p1 {op} {value}", KeySchema.from_columns(TWO.types.items(), descending), rows)
            assert sorted({row[0] for row in read}) == wanted  # type: ignore[type-var]
            assert len(read) == 3 * len(wanted)

    def test_9_no_filter_is_everything_and_an_unknown_column_is_an_error(self) -> None:
        """Hive failed on the first and dropped the second."""
        assert plan_scan(EVERY_ROW, TWO) == EVERYTHING
        assert EVERYTHING.scans == (KeyScan("range", b"", None, None),)
        with pytest.raises(ColumnNotFoundError, match="p9"):
            plan_scan(make_filter(equal("p9", 1, INT)), TWO)
        with pytest.raises(ColumnNotFoundError, match="p9"):
            compile_residual(make_filter(equal("p9", 1, INT)), TWO)

    def test_10_the_plan_says_whether_it_is_exact(self) -> None:
        """Hive's flag was never set, and returned upside down."""
        unknown = Opaque("f(c1)", ("c1",), "function on the column")
        assert plan_scan(make_filter(And((equal("p1", 1, INT), equal("c1", 1, INT)))), TWO).exact
        assert plan_scan(make_filter(equal("c1", 1, INT)), TWO).exact
        assert not plan_scan(make_filter(And((equal("p1", 1, INT), unknown))), TWO).exact
        assert plan_scan(make_filter(Or((TRUE, unknown))), TWO).exact
        assert planned(And((equal("p1", 1, INT), unknown)), TWO) == ["scan p1 = 1 where f(c1)"]
        assert planned(Or((equal("p1", 1, INT), unknown)), TWO) == ["scan everything where p1 = 1 OR f(c1)"]


class TestConditions:
    """Each kind of condition has its effect on a plan."""

    def test_many_tuples_not_in_are_a_residual(self) -> None:
        """Left whole, and tested with three truth values."""
        many = tuple((n, n) for n in range(MERGE_POINTS + 1))
        node = Not(TupleIn(("p1", "c1"), many, (INT, INT)))
        assert len(planned(node, TWO)) == 1
        rows = [(p, c) for p in (None, 5, 500) for c in (None, 5, 500)]
        assert found(node, TWO, rows) == [(None, 500), (5, 500), (500, None), (500, 5), (500, 500)]

    def test_a_table_without_partitions(self) -> None:
        """Has one key, the empty one."""
        assert plan_scan(EVERY_ROW, NONE) == EVERYTHING
        assert plan_scan(parse_filter("1 = 2", {}), NONE).scans == ()
        assert plan_scan(make_filter(Opaque("f()", (), "?")), NONE).whole


class TestCost:
    """Plans stay small, and are made fast; what is given up is only a residual's work."""

    def test_forty_ors_of_ands(self) -> None:
        """Under 50 ms of processor time, on a busy machine, and each branch a scan."""
        text = " or ".join(f"(year = {n} and month > {n} and state like 'a{n}%')" for n in range(40))
        assert len(self.timed(text, 0.05)) == 40

    def test_forty_ors_of_ranges(self) -> None:
        """A plan does not split overlapping ranges of three columns into thousands of pieces."""
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
        plan = plan_scan(make_filter(node), DATES)
        assert len(plan.scans) == MAX_SCANS
        assert plan.exact
        assert {str(scan.residual)[:8] for scan in plan.scans} == {"state IN"}

    def test_more_values_than_scans(self) -> None:
        """One range, tested."""
        node = In("p1", tuple(range(0, 4 * MAX_SCANS, 2)), INT)
        greatest = 4 * MAX_SCANS - 2
        assert planned(node, TWO) == [f"scan p1 >= 0, p1 < {greatest + 1} where {node}"]

    def test_neighbouring_values_are_read_together(self) -> None:
        """Sixty-four whole keys one by one, a year at once; of leading columns, any two that touch."""
        few = In("p1", tuple(range(MERGE_POINTS)), INT)
        year = In("p1", tuple(range(100, 465)), INT)
        assert len(planned(few, ONE)) == MERGE_POINTS
        assert planned(few, TWO) == [f"scan p1 >= 0, p1 < {MERGE_POINTS}"]
        assert planned(year, TWO) == ["scan p1 >= 100, p1 < 465"]
        assert planned(year, ONE) == ["scan p1 >= 100, p1 < 465"]

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
    never = make_filter(Or((Compare("=", "c1", None, INT), Not(In("c1", (1,), INT, has_null=True)))))
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
    schema = KeySchema.from_columns([("a", parse_type(type)), ("b", INT)], descending)
    bound = [Compare("=", "b", 2, INT), Compare("<=>", "a", value, schema.field("a").type)]
    cut = plan_scan(make_filter(And((bound[0], In("a", (value, other), schema.field("a").type)))), schema)
    whole = plan_scan(make_filter(And(tuple(bound))), schema)
    assert [scan.kind for scan in cut.scans] == ["get", "get"]
    assert len(whole.scans) == 1
    assert whole.scans[0] in cut.scans
    assert plan_scan(make_filter(And((*bound, Compare("=", "b", 3, INT)))), schema).scans == ()
