"""The report of a join names the requirement of Spark's that is not met, or the buckets that all use."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from parquetry.joins.plan.join_facts import JoinFacts, Key, KeyColumn, RowMove, ScanFacts, Side
from parquetry.joins.plan.shuffle_reasons import (
    ALL_KEYS,
    COMPATIBLE,
    ENABLED,
    PARTIAL,
    PUSH_VALUES,
    SETTINGS,
    SHUFFLE,
    SUBSET,
    explain_joins,
)
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec, questions
from parquetry.prune.report.join import BucketReport, HeavyKeysReport, JoinReport
from parquetry.prune.report.report import Report

BY_ID = BucketReport(("id",), ("int",), "2", 8)
BY_TWO = BucketReport(("x", "y"), ("int", "string"), "2", 8)
DEARER = "to shuffle one side alone is estimated to cost more"
SET = {
    ENABLED: "true",
    PUSH_VALUES: "true",
    COMPATIBLE: "true",
    PARTIAL: "false",
    SUBSET: "false",
    SHUFFLE: "false",
    ALL_KEYS: "false",
}


def plain(name: str, type: str = "int", scan: int = 0) -> Key:
    return Key(name, (KeyColumn(scan, name, type),), plain=True, cast=False)


def cast(name: str, to: str, type: str = "int") -> Key:
    return Key(f"CAST({name} AS {to})", (KeyColumn(0, name, type),), plain=False, cast=True)


def computed(sql: str, name: str, type: str = "int") -> Key:
    return Key(sql, (KeyColumn(0, name, type),), plain=False, cast=False)


def moved(*nodes: str, shuffle: bool = True) -> tuple[RowMove, ...]:
    """Return what has moved rows: nodes, the lowest first, and a shuffle above them."""
    return (*(RowMove("node", node) for node in nodes), *([RowMove("shuffle")] if shuffle else []))


def side(
    table: str, buckets: BucketReport | None, *keys: Key, moves: tuple[RowMove, ...] = moved(), **more: Any
) -> Side:
    return Side("leaf", keys, (ScanFacts(table, buckets),), moves, **more)


def told(left: Side, right: Side, settings: dict[str, str] | None = None) -> str:
    (report,) = explain_joins([JoinFacts("INNER", (left, right), None)], SET | (settings or {}))
    assert report.shuffled == (left.exchanged or right.exchanged)
    return report.reason


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (
            side("a", BY_ID, plain("id")),
            side("b", replace(BY_ID, version="1"), plain("id")),
            "versions of the hash differ: a has 2, b 1",
        ),
        (
            side("a", BY_ID, plain("id")),
            side("b", replace(BY_ID, count=3), plain("id")),
            "numbers of buckets share no divisor: 8 and 3",
        ),
        (
            side("a", BY_ID, plain("id")),
            side("b", replace(BY_ID, count=1), plain("id")),
            "b has 1 bucket and a 8: with bucket-join = larger, b is read 8 times instead",
        ),
        (
            side("a", BY_ID, cast("id", "BIGINT")),
            side("b", replace(BY_ID, types=("bigint",)), plain("id", "bigint")),
            "types differ: a.id is int, b.id is bigint",
        ),
        (
            side("a", replace(BY_ID, columns=("s",), types=("string",)), plain("s", "string")),
            side("b", replace(BY_ID, columns=("t",), types=("varchar(9)",)), plain("t", "string")),
            "types differ: a.s is string, b.t is varchar(9)",
        ),
        (
            side("a", BY_ID, computed("(id + 1)", "id")),
            side("b", BY_ID, plain("id")),
            "the key (id + 1) is not a plain column",
        ),
        (
            side("a", replace(BY_ID, types=("double",)), computed("id", "id", "double")),
            side("b", replace(BY_ID, types=("double",)), computed("id", "id", "double")),
            "Spark normalises keys of type double, so that id is no plain column to it",
        ),
        (
            side("a", replace(BY_ID, types=("char(4)",)), computed("id", "id", "string")),
            side("b", replace(BY_ID, types=("char(4)",)), computed("id", "id", "string")),
            "Spark pads columns of type char(4) as it reads them, so that id is no plain column to it",
        ),
        (
            side("a", BY_ID, computed("coalesce(id, 0)", "id"), computed("(id IS NULL)", "id")),
            side("b", BY_ID, computed("coalesce(id, 0)", "id"), computed("(id IS NULL)", "id")),
            "Spark compares by <=> what it computes of the columns, so that id is no plain column to it",
        ),
        (
            side("a", BY_ID, cast("id", "BIGINT")),
            side("b", BY_ID, cast("id", "BIGINT")),
            "the key CAST(id AS BIGINT) is not a plain column",
        ),
        (
            side("a", BY_TWO, plain("x")),
            side("b", BY_TWO, plain("x")),
            "a is in buckets by x, y, and y is not joined on",
        ),
        (
            side("a", BY_TWO, plain("x")),
            side("b", replace(BY_TWO, reason="column y is not read", unread=("y",)), plain("x")),
            "b is in buckets by x, y, and y is neither joined on nor read",
        ),
        (
            side("a", BY_TWO, plain("x"), plain("y")),
            side("b", BY_TWO, plain("y"), plain("x")),
            "columns differ: a is in buckets by x, y, b by x, y, and a.x is joined with b.y, not with b.x",
        ),
        (
            side("a", BY_TWO, plain("x"), plain("y")),
            side("b", BY_ID, plain("id"), plain("z")),
            "columns differ: a is in buckets by x, y, b by id",
        ),
        (side("a", BY_ID, plain("id")), side("b", None, plain("id")), f"b is not in buckets; {DEARER}"),
        (
            side("a", BY_ID, plain("id")),
            Side("Range", (Key("id", (), plain=False, cast=False),), (), moved()),
            f"range() is not in buckets; {DEARER}",
        ),
        (
            side("a", replace(BY_ID, reason="partition p=3 is not in buckets"), plain("id")),
            side("b", BY_ID, plain("id")),
            "a: partition p=3 is not in buckets",
        ),
        (
            side("a", BY_ID, plain("id"), moves=(RowMove("repartition"),)),
            side("b", BY_ID, plain("id")),
            "the query repartitions a",
        ),
        (
            side("a", BY_ID, plain("id"), moves=moved("FULL OUTER JOIN")),
            side("b", BY_ID, plain("id")),
            "rows of a come through FULL OUTER JOIN, which leaves them in no buckets",
        ),
        (
            side("a", BY_ID, plain("id")),
            side("b", BY_ID, plain("id")),
            DEARER,
        ),
    ],
)
def test_a_shuffle_has_its_reason(left: Side, right: Side, reason: str) -> None:
    """The reason names the first requirement of Spark's that is not met, with its tables and values."""
    assert told(left, right) == reason


def test_a_setting_that_stands_in_the_way_is_named() -> None:
    """Only those are that this join needs."""
    equal = side("a", BY_ID, plain("id")), side("b", BY_ID, plain("id"))
    unequal = equal[0], side("b", replace(BY_ID, count=4), plain("id"))
    more = side("a", BY_ID, plain("v"), plain("id")), side("b", BY_ID, plain("v"), plain("id"))
    two = side("a", BY_TWO, plain("x"), plain("y")), side("b", BY_TWO, plain("x"), plain("y"))
    for sides, name, value, wrong in (
        (equal, ENABLED, "true", "false"),
        (equal, PUSH_VALUES, "true", "false"),
        (unequal, COMPATIBLE, "true", "false"),
        (unequal, PARTIAL, "false", "true"),
        (more, ALL_KEYS, "false", "true"),
        (two, SUBSET, "false", "true"),
        (two, SHUFFLE, "false", "true"),
    ):
        assert told(*sides, {name: wrong}) == f"{name} is {wrong}: set it to {value}"
        assert name in SETTINGS
    for name in (COMPATIBLE, ALL_KEYS):
        assert told(*equal, {name: "false" if SET[name] == "true" else "true"}) == DEARER


def test_joins_that_do_not_shuffle_say_by_which_buckets() -> None:
    """Counts that differ meet in their greatest common divisor; columns of other names are both named."""

    def whole(table: str, buckets: BucketReport | None, *keys: Key) -> Side:
        return side(table, buckets, *keys, moves=())

    user = replace(BY_ID, columns=("user",), count=12)
    assert told(whole("a", BY_ID, plain("id")), whole("b", BY_ID, plain("id"))) == "8 buckets by id"
    assert told(whole("a", BY_ID, plain("id")), whole("b", user, plain("user"))) == "4 buckets by id and user"
    assert (
        told(whole("a", BY_ID, plain("id")), whole("b", None, plain("id"))) == "the rows are together already"
    )
    finer = replace(BY_ID, again=1_500)
    assert told(whole("a", finer, plain("id")), whole("b", BY_ID, plain("id"))) == (
        "8 buckets by id, 1.5 kB of a read again"
    )
    broadcast = JoinFacts(
        "LEFT ANTI", (whole("a", BY_ID, plain("id")), side("b", None, plain("id"), moves=())), 1
    )
    assert (
        str(explain_joins([broadcast], SET)[0])
        == "a LEFT ANTI JOIN b ON id = id: no shuffle (b is broadcast)"
    )


def test_the_side_that_is_shuffled_is_named() -> None:
    """Where it is one: why it is, and why the other is not; a report of a time without sides has none."""
    stays = side("a", BY_ID, plain("id"), moves=(), in_buckets=True)
    joined = side("a", BY_ID, plain("id"), moves=())
    other = side("b", None, plain("id"))
    for left, right, name, why in (
        (stays, other, "right", "a stays in its buckets by id"),
        (other, stays, "left", "a stays in its buckets by id"),
        (joined, other, "right", "rows of a are together already"),
    ):
        (report,) = explain_joins([JoinFacts("LEFT OUTER", (left, right), None)], SET)
        assert (report.shuffled, report.sides) == (True, (name,))
        assert report.outcome == f"one side shuffled, the {name} (b is not in buckets; {why})"
        assert f"one side shuffled, the {name} (" in Report((), (report,))._repr_html_()
    old = {name: value for name, value in report.to_dict().items() if name != "sides"}
    assert JoinReport.from_dict(old).outcome == f"shuffled (b is not in buckets; {why})"


def test_a_null_safe_key_is_written_as_in_the_query() -> None:
    """Spark compares two keys for `<=>`; a report has one condition for them, and each condition once."""

    def keys(name: str) -> tuple[Key, ...]:
        null = computed(f"({name} IS NULL)", name)
        return (plain("k"), computed(f"coalesce({name}, 0)", name), null, plain("k"))

    def conditions(left: tuple[Key, ...], right: tuple[Key, ...]) -> tuple[str, ...]:
        return JoinFacts("INNER", (side("a", BY_ID, *left), side("b", BY_ID, *right)), None).conditions

    assert conditions(keys("id"), keys("other")) == ("k = k", "id <=> other")
    assert conditions(keys("id")[2:], keys("other")[2:]) == ("(id IS NULL) = (other IS NULL)", "k = k")
    assert conditions(keys("id")[1:3], keys("other")[2:0:-1]) == (
        "coalesce(id, 0) = (other IS NULL)",
        "(id IS NULL) = coalesce(other, 0)",
    )


def test_explain_has_the_lines_of_a_report() -> None:
    """A question with the facts of a plan gets a line for each join of our tables, and for heavy keys."""
    joins = [
        JoinFacts("INNER", (side("a", BY_ID, plain("id")), side("b", None, plain("id"), moves=())), None, 2),
        JoinFacts("INNER", (side("b", None, plain("id")), side("c", None, plain("id"))), None),
    ]
    heavy = HeavyKeysReport("b", "c", "INNER", reason="the query has a hint for the join")
    question = questions.ExplainJoins(
        protocol=codec.PROTOCOL,
        joins=joins,
        heavy_keys=[heavy],
        settings=SET | {ENABLED: "false"},
    )
    answer = json.loads(Planner(NoEngine("UTC")).ask(msgspec.json.encode(question).decode()))
    assert answer["ok"]["lines"] == [
        "a INNER JOIN b ON id = id: one side shuffled, the left, 2 sorts (b is not in buckets; rows of b are together already)",
        "b INNER JOIN c ON id = id: shuffled (neither side is in buckets)",
        "b INNER JOIN c: heavy keys not joined apart: the query has a hint for the join",
    ]


def test_every_join_of_our_tables_has_a_line() -> None:
    """A join of tables without buckets has one, too, with a broadcast or without keys; others have none."""
    one, other = side("a", None, plain("id")), side("b", None, plain("id"))
    values = Side("Range", (Key("id", (), plain=False, cast=False),), (), moved())
    loops = side("a", None, moves=()), side("b", None, moves=())
    lines = {
        JoinFacts("INNER", (one, other), None, 2): (
            "a INNER JOIN b ON id = id: shuffled, 2 sorts (neither side is in buckets)"
        ),
        JoinFacts("INNER", (one, one), None): "a INNER JOIN a ON id = id: shuffled (a is not in buckets)",
        JoinFacts("LEFT OUTER", (values, one), None): (
            "range() LEFT OUTER JOIN a ON id = id: shuffled (neither side is in buckets)"
        ),
        JoinFacts("INNER", (replace(one, moves=()), other), None): (
            "a INNER JOIN b ON id = id: one side shuffled, the right (neither side is in buckets; "
            "rows of a are together already)"
        ),
        JoinFacts("INNER", (one, other), 1): "a INNER JOIN b ON id = id: no shuffle (b is broadcast)",
        JoinFacts("LEFT OUTER", loops, 1): "a LEFT OUTER JOIN b: no shuffle (b is broadcast)",
        JoinFacts("EXISTS", loops, 1): "a with EXISTS or IN beside OR of b: no shuffle (b is broadcast)",
        JoinFacts("CROSS", loops, None): (
            "a CROSS JOIN b: no shuffle (no keys are compared: each part of one side meets each part of the other)"
        ),
    }
    foreign = JoinFacts("INNER", (values, values), None)
    assert list(map(str, explain_joins([foreign, *lines], SET))) == list(lines.values())


def test_a_side_is_seen_from_the_scan_that_its_keys_are_of() -> None:
    """In a join of three tables, a side of two is reported by the table of its key.

    Buckets that were folded for the join below are not folded again.
    """
    twelve, eight = replace(BY_ID, count=12), replace(BY_ID, count=8)
    scans = (ScanFacts("a", twelve), ScanFacts("b", eight))
    joined = Side("leaf", (plain("id", scan=1),), scans, moved("INNER JOIN"))
    (report,) = explain_joins([JoinFacts("INNER", (joined, side("c", BY_ID, plain("id"))), None)], SET)
    assert (report.left, report.right) == ("b", "c")
    assert report.reason == "the buckets of b were folded for the join below, which Spark does not do twice"


def test_a_table_without_buckets_in_a_union_is_named() -> None:
    """The rows of a UNION ALL are in no buckets if one of its tables is in none."""

    def reason(*through: str) -> str:
        union = Side(
            "leaf", (plain("id"),), (ScanFacts("a", BY_ID), ScanFacts("p", None)), moved(*reversed(through))
        )
        return told(union, side("c", BY_ID, plain("id"), moves=(), in_buckets=True))

    stays = "c stays in its buckets by id"
    assert reason("UNION") == f"p, in a UNION with a, is not in buckets; {stays}"
    nodes = "UNION, INNER JOIN"
    assert reason("UNION", "INNER JOIN") == (
        f"rows of a come through {nodes}, which leaves them in no buckets; {stays}"
    )


def test_sorts_of_both_kinds_are_counted_and_a_reason_of_both_sides_is_told_once() -> None:
    """A side that is sorted only among equal rows is an incremental sort."""
    partly = replace(BY_ID, reason="partition p=9 is not in buckets")
    one = side("a", partly, plain("id"), moves=(RowMove("rest"),))
    (report,) = explain_joins([JoinFacts("INNER", (one, one), None, 1, 1)], SET)
    assert report.outcome == (
        "a part of the left side and a part of the right side shuffled, 1 sort, 1 incremental sort "
        "(a: partition p=9 is not in buckets)"
    )


def test_facts_and_reports_travel_as_json() -> None:
    """The bridge's JSON becomes facts, and a report with joins survives its dict, in text and HTML."""
    facts = JoinFacts("INNER", (side("a", BY_ID, plain("id")), side("b", None, plain("id"))), None)
    assert msgspec.json.decode(msgspec.json.encode(facts), type=JoinFacts) == facts
    report = Report((), explain_joins([facts], SET))
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    assert report.to_dict()["joins"] == [
        {
            "type": "INNER",
            "left": "a",
            "right": "b",
            "on": ["id = id"],
            "shuffled": True,
            "reason": f"b is not in buckets; {DEARER}",
            "sides": ["left", "right"],
        }
    ]
    assert str(report) == f"a INNER JOIN b ON id = id: shuffled (b is not in buckets; {DEARER})"
    odd = Report((), (JoinReport("INNER", "<a>", "b", ("x < 1 = y",), True, "a & b"),))
    assert "&lt;a&gt; INNER JOIN b ON x &lt; 1 = y</strong>: shuffled (a &amp; b)" in odd._repr_html_()
