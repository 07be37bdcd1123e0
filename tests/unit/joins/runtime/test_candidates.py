"""The cost model decides which runtime filters are worth their cost.

The tests show each reason against a filter alone, and the choice among several.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from parquetry.joins.runtime.candidates import (
    Build,
    Candidate,
    Gathered,
    Part,
    PlanNode,
    PlanTimeValues,
    Verdict,
)
from parquetry.joins.runtime.estimates import KeyFiles, Spread
from parquetry.joins.runtime.judge import decide, reason_against
from parquetry.joins.runtime.outcomes import CandidateOutcome, reports
from parquetry.prune.report.join_values import How, ValuesReport
from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import IneffectiveCondition, ScanReport, Step as Counted

MB = 1 << 20
LIMIT = 10 * MB
DIM = Build("dim", "k", size=MB, cost=MB, files=1)


def candidate(files: int = 9, **changed: Any) -> Candidate:
    """Return one that is used: of an inner join with a dimension of 1 MB, for a table of 100."""
    facts: dict[str, Any] = {
        "scan": 0,
        "report": ScanReport("fact", (Counted("files", files, 9),)),
        "bytes": 100 * MB,
        "column": "k",
        "form": "column",
        "filterable": True,
        "join": 1,
        "type": "INNER",
        "side": "left",
        "steps": (),
        "equality": True,
        "null_aware": False,
        "build": DIM,
        "source": 2,
        "narrowed": False,
        "shared": False,
    }
    return Candidate(**facts | changed)


def build(**changed: Any) -> Build:
    return msgspec.structs.replace(DIM, **changed)


def said(one: Candidate, limit: int | None = LIMIT) -> str:
    (verdict,) = decide([one], [limit])
    return verdict.reason or verdict.how


@pytest.mark.parametrize(
    ("type", "left", "right"),
    [
        ("INNER", True, True),
        ("CROSS", True, True),
        ("LEFT SEMI", True, True),
        ("LEFT OUTER", False, True),
        ("RIGHT OUTER", True, False),
        ("LEFT ANTI", False, True),
        ("EXISTS", False, True),
        ("FULL OUTER", False, False),
        ("LEFT SINGLE", False, False),
        ("a type to come", False, False),
    ],
)
def test_sides_that_may_be_pruned(type: str, left: bool, right: bool) -> None:
    """A side may be pruned if its unmatched rows are not in the result and decide about no other row."""
    for side, expected in (("left", left), ("right", right)):
        got = said(candidate(type=type, side=side))
        part = {
            "EXISTS": "rows without a match may satisfy what stands beside OR",
            "LEFT SINGLE": "rows without a match are part of a scalar subquery",
        }
        kept = part.get(type, f"rows without a match are part of a {type} JOIN")
        assert got == ("collected" if expected else kept)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"null_aware": True}, "NOT IN: one NULL among the rows decides"),
        ({"equality": False}, "k says nothing of k without the other side's row"),
        ({"equality": False, "form": "ranges"}, "collected"),
        (
            {"form": "ranges", "shared": True, "build": build(cost=None)},
            "dim is asked for the ends of a range, and its size is not known",
        ),
        ({"known": PlanTimeValues(3, complete=False, useful=True)}, "known"),
        ({"known": PlanTimeValues(3, complete=True, useful=False), "placed": "always"}, "known"),
        ({"known": PlanTimeValues(3, complete=False, useful=False), "placed": "always"}, "spark"),
        ({"known": PlanTimeValues(3, complete=True, useful=True), "files": 1}, "1 file of fact left"),
        (
            {"known": PlanTimeValues(3, complete=True, useful=True), "filterable": False},
            "nothing is known of the values of k",
        ),
        (
            {"form": "computed", "column": "(k + 1)"},
            "(k + 1) is computed, and its values in a file are not known",
        ),
        ({"form": "function", "column": "(k + 1)"}, "collected"),
        ({"form": "partitions"}, "collected"),
        ({"form": "partitions", "placed": "shared", "shared": True}, "spark"),
        ({"form": "widened", "placed": "shared", "shared": True}, "collected"),
        (
            {"form": "widened", "shared": True, "build": build(cost=None)},
            "dim is of another type, and its size is not known",
        ),
        ({"filterable": False}, "nothing is known of the values of k"),
        ({"read_once": True}, "what is read of fact serves several places of the query"),
        ({"files": 1}, "1 file of fact left"),
        ({"files": 0}, "0 files of fact left"),
        ({"build": build(python=True)}, "a Python function computes k"),
        ({"build": build(deterministic=False)}, "dim is computed anew each time"),
        ({"shared": True}, "collected"),
        ({"shared": True, "build": build(cost=None)}, "shared"),
        ({"shared": True, "build": build(unrepeatable="an RDD")}, "shared"),
        ({"shared": True, "build": build(size=None, cost=None)}, "shared"),
        (
            {"shared": True, "build": build(size=LIMIT * 11, cost=LIMIT * 11)},
            "dim has 115 MB, too much for a list of values",
        ),
        (
            {"build": build(unrepeatable="an RDD")},
            "dim is not broadcast, and an RDD may give other rows when it runs again",
        ),
        ({"build": build(cost=None)}, "dim is not broadcast, and its size is not known"),
        (
            {"outside": True, "build": build(cost=None)},
            "dim is broadcast with values of other joins, which makes it another broadcast, and its size is not known",
        ),
        ({"outside": True}, "collected"),
        (
            {"build": build(cost=LIMIT + MB)},
            "dim is not broadcast, and has 11.5 MB, more than runtime-pruning-max-build-size (10.5 MB)",
        ),
        (
            {"bytes": MB, "files": 2},
            "dim is not broadcast, and reading its 1 MB again is not worth it for 1 MB of fact",
        ),
        (
            {"bytes": MB, "files": 9},
            "collected",
        ),  # of small columns in many files, it is the opening that takes time
        (
            {"bytes": MB, "files": 9, "build": build(files=9)},
            "dim is not broadcast, and reading its 1 MB again is not worth it for 1 MB of fact",
        ),
        ({"bytes": None}, "collected"),
        ({"placed": "always"}, "spark"),
        ({"placed": "shared"}, "collected"),
        ({"placed": "shared", "shared": True}, "spark"),
    ],
)
def test_reasons(changed: dict[str, Any], expected: str) -> None:
    """Each reason alone refuses or allows a filter.

    Values of a broadcast cost almost none, and the values of a second run cost what it reads.
    """
    assert said(candidate(**changed)) == expected


def test_it_can_be_turned_off() -> None:
    """`runtime-pruning` = false refuses all."""
    assert said(candidate(), None) == "runtime-pruning is false"


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (PlanNode("Project"), "collected"),
        (PlanNode("Union"), "collected"),
        (PlanNode("Aggregate", keyed=True), "collected"),
        (PlanNode("Aggregate"), "GROUP BY is not by k"),
        (PlanNode("WindowGroupLimit"), "a window function is not by k"),
        (PlanNode("Project", deterministic=False), "SELECT computes something else each time"),
        (PlanNode("GlobalLimit"), "below LIMIT"),
        (PlanNode("Expand"), "below GROUPING SETS"),
        (PlanNode("INNER", "right"), "collected"),
        (PlanNode("LEFT ANTI", "left"), "collected"),
        (PlanNode("LEFT OUTER", "left"), "collected"),
        (PlanNode("LEFT OUTER", "right"), "below a LEFT OUTER JOIN"),
        (PlanNode("RIGHT OUTER", "left"), "below a RIGHT OUTER JOIN"),
        (PlanNode("FULL OUTER", "left"), "below a FULL OUTER JOIN"),
    ],
)
def test_nodes_on_the_way(step: PlanNode, expected: str) -> None:
    """A condition on the key goes down through what leaves each row as it is, and through nothing unknown."""
    assert said(candidate(steps=(PlanNode("Filter"), step))) == expected


def how(candidates: list[Candidate]) -> list[str]:
    return [verdict.how for verdict in decide(candidates, [LIMIT] * len(candidates))]


def test_one_of_several() -> None:
    """A narrower build side replaces the whole dimension.

    If both sides of a join could wait for each other, only one of them does.
    """
    whole = candidate(shared=True)
    narrow = candidate(narrowed=True, join=7, side="inner")
    assert how([whole, narrow]) == ["replaced", "collected"]
    dear = candidate(narrowed=True, join=7, side="inner", build=build(cost=LIMIT * 2))
    assert how([whole, dear]) == ["collected", "refused"]
    assert how([narrow, narrow]) == ["collected", "replaced"]
    assert how([whole, candidate(scan=8, narrowed=True)]) == ["collected", "collected"]
    back = candidate(scan=5, side="right", source=6, build=Build("fact", "k", cost=2 * MB))
    assert how([whole, back]) == ["collected", "replaced"]
    assert how([candidate(), back]) == ["collected", "replaced"]
    assert how([back, candidate(build=build(cost=3 * MB))]) == ["collected", "replaced"]
    assert how([candidate(), candidate(scan=5, side="right", join=9, source=6)]) == ["collected"] * 2


SALES = Build("sales", "n", cost=20 * MB, files=1000, parts=(Part(1, 20 * MB, 1000), Part(2, 0, 1)))
"""1,000 days of sales, and the table of days."""
BY_DAY = candidate(
    scan=1,
    column="day",
    held=1000,
    build=Build("days", "day", cost=0, files=1, rows=20, parts=(Part(2, 0, 1),)),
)
"""A filter on sales by the selected days, which keeps 20 of 1,000 days."""


@pytest.mark.parametrize(
    ("day", "returns", "spread", "expected"),
    [
        ({}, {}, 0.1, "collected"),
        ({}, {"shared": True}, 0.1, "collected"),
        ({}, {}, 0.6, "refused"),
        ({}, {"files": 90}, 0.1, "refused"),
        ({}, {"type": "FULL OUTER"}, 0.1, "refused"),
        ({}, {"build": msgspec.structs.replace(SALES, parts=())}, 0.1, "refused"),
        ({}, {"bytes": MB // 4}, 0.1, "refused"),
        ({}, {"build": msgspec.structs.replace(SALES, unrepeatable="an RDD")}, 0.1, "refused"),
        ({"held": None}, {}, 0.1, "refused"),
        ({"build": build(rows=None)}, {}, 0.1, "refused"),
        ({"build": build(rows=400)}, {}, 0.1, "refused"),
        ({"build": build(cost=None)}, {}, 0.1, "refused"),
        ({"placed": "shared", "shared": True}, {}, 0.1, "collected"),
        (
            {"placed": "shared", "shared": True},
            {"build": msgspec.structs.replace(SALES, parts=SALES.parts[:1])},
            0.1,
            "refused",
        ),
    ],
)
def test_what_other_values_leave_of_a_side(
    day: dict[str, Any], returns: dict[str, Any], spread: float, expected: str
) -> None:
    """A fact table is read for its values if runtime values prune most of it.

    The values must be worth that, and the files must have narrow ranges of the column.
    """
    by_day = msgspec.structs.replace(BY_DAY, **day)
    files = returns.pop("files", 1000)
    facts = {"scan": 3, "bytes": 2 * MB, "join": 5, "build": SALES, "source": 9, "column": "n"} | returns
    verdicts = decide([by_day, candidate(files, **facts)], [LIMIT] * 2, lambda _: Spread(spread, 1000))
    used = verdicts[1].how if verdicts[1].how != "shared" else "refused"
    assert used == expected, verdicts


@pytest.mark.parametrize(
    ("day", "returns", "files", "spread", "expected"),
    [
        ({}, {}, KeyFiles(1, in_order=True), 0.1, "ends"),
        ({}, {"files": 90}, KeyFiles(1, in_order=True), 0.1, "ends"),
        ({}, {"type": "LEFT OUTER", "side": "right"}, KeyFiles(1, in_order=True), 0.1, "ends"),
        ({}, {"type": "LEFT OUTER"}, KeyFiles(1, in_order=True), 0.1, "refused"),
        ({}, {"form": "widened"}, KeyFiles(1, in_order=True), 0.1, "collected"),
        ({}, {"equality": False}, KeyFiles(1, in_order=True), 0.1, "refused"),
        ({}, {}, KeyFiles(1, in_order=False), 0.1, "collected"),
        ({}, {"unrepeatable": "GlobalLimit"}, KeyFiles(1, in_order=True), 0.1, "refused"),
        ({}, {}, None, 0.1, "collected"),
        ({}, {}, KeyFiles(1, in_order=True), 0.6, "refused"),
        ({"build": build(rows=600)}, {}, KeyFiles(1, in_order=True), 0.1, "refused"),
        ({"build": build(rows=600)}, {}, KeyFiles(0.5, in_order=True), 0.1, "ends"),
        ({"held": None}, {}, KeyFiles(0.1, in_order=True), 0.1, "ends"),
    ],
)
def test_what_files_tell_of_a_side(
    day: dict[str, Any], returns: dict[str, Any], files: KeyFiles | None, spread: float, expected: str
) -> None:
    """The minimum and maximum are enough if keys grow from file to file and at most half of these remain.

    They come from the files' statistics, and no file is read for them.
    """
    by_day = msgspec.structs.replace(BY_DAY, **day)
    left = returns.pop("files", 1000)
    told = None if returns.get("form") == "widened" else 1
    known = msgspec.structs.replace(SALES, ends_of=told, unrepeatable=returns.get("unrepeatable"))
    facts = {"scan": 3, "bytes": 2 * MB, "join": 5, "build": known, "source": 9, "column": "n"} | returns
    facts.pop("unrepeatable", None)
    verdicts = decide(
        [by_day, candidate(left, **facts)],
        [LIMIT] * 2,
        lambda _: Spread(spread, 1000),
        key_files=lambda place: files if place == 1 else None,
    )
    assert verdicts[1].how == expected, verdicts


def test_what_files_tell_is_asked_once() -> None:
    """The same key of the same scan, by way of two joins, has the same ends."""
    sales = msgspec.structs.replace(SALES, ends_of=1)
    facts: dict[str, Any] = {"scan": 3, "bytes": 2 * MB, "build": sales, "column": "n"}
    both = [candidate(1000, join=5 + place, source=9 + place, **facts) for place in range(2)]
    verdicts = decide(
        [BY_DAY, *both],
        [LIMIT] * 3,
        lambda _: Spread(0.1, 1000),
        key_files=lambda _: KeyFiles(1, in_order=True),
    )
    assert [verdict.how for verdict in verdicts[1:]] == ["ends", "replaced"]


@pytest.mark.parametrize(
    ("scans", "where", "together", "expected"),
    [
        ((1, 2), ("x = 1",), None, "replaced"),
        ((1, 3), ("x = 1",), None, "collected"),
        ((1, 2), ("x = 2",), None, "collected"),
        (
            (1, 2),
            ("x = 1",),
            1,
            "collected",
        ),  # of another place, whose rows the first one's values would lose
    ],
)
def test_two_sides_that_read_the_same_for_a_column(
    scans: tuple[int, ...], where: tuple[str, ...], together: int | None, expected: str
) -> None:
    """A join's side and its first table, narrowed by the others, have the same values.

    One of them is enough.
    """
    sides = [((1, 2), ("x = 1",)), (scans, where)]
    both = [
        candidate(
            source=2 + place,
            build=build(parts=tuple(Part(scan, 1, 1) for scan in read), where=asked),
            together=together,
        )
        for place, (read, asked) in enumerate(sides)
    ]
    assert [verdict.how for verdict in decide(both, [LIMIT] * 2)] == ["collected", expected]


@pytest.mark.parametrize(
    ("rows", "spread", "facts", "expected"),
    [
        (20_000, Spread(0.95, 1e6), {}, "refused"),
        (20_000, Spread(0.95, 1e6), {"form": "widened"}, "refused"),
        (20_000, Spread(0.8, 1e6), {}, "collected"),
        (20_000, Spread(0.95, 1e6, laid_out=True), {}, "collected"),
        (20_000, Spread(0.95, 18_000, laid_out=True), {}, "refused"),
        (20_000, None, {}, "collected"),
        (9_000, Spread(0.95, 1e6), {}, "collected"),
        (600, Spread(0.95, 10_000), {}, "refused"),
        (400, Spread(0.95, 10_000), {}, "collected"),
        (None, Spread(0.95, 1e6), {}, "collected"),
        (20_000, Spread(0.95, 1e6), {"form": "partitions"}, "collected"),
        (20_000, Spread(0.95, 1e6), {"shared": True}, "collected"),
    ],
)
def test_many_values_of_files_that_span_the_whole_range(
    rows: int | None, spread: Spread | None, facts: dict[str, Any], expected: str
) -> None:
    """No second run collects many of the possible values if each file's values span the whole range.

    A broadcast's values cost less, so they are used.
    """
    (verdict,) = decide([candidate(build=build(rows=rows), **facts)], [LIMIT], lambda _: spread)
    assert verdict.how == expected
    assert ("lie all over" in verdict.reason) == (expected == "refused")


@pytest.mark.parametrize(
    ("facts", "whole", "found", "expected"),
    [
        ({"shared": True}, True, 100_000, "refused"),
        ({"shared": True}, True, None, "collected"),
        ({"shared": True}, False, 100_000, "collected"),
        ({"shared": True, "form": "partitions"}, True, 100_000, "collected"),
        ({"shared": True, "bytes": 2 * MB}, True, 100_000, "refused"),
        ({}, True, 100_000, "collected"),
    ],
)
def test_all_values_of_a_broadcast(
    facts: dict[str, Any], whole: bool, found: int | None, expected: str
) -> None:
    """Values of a broadcast are refused if they are dense keys of a table without conditions.

    Values of partition columns, and values of a second run, are not checked for that.
    """
    one = candidate(build=build(whole=whole), **facts)
    (verdict,) = decide([one], [LIMIT], lambda _: Spread(0.1, 1e6), lambda _: found)
    assert verdict.how == expected
    if expected == "refused":
        assert (
            verdict.reason == "its 100,000 values are nearly all that there are, and files of fact hold some"
        )


def test_all_places_or_none() -> None:
    """Values of all places of a scan that Spark reads once are used in all of them, or in none."""
    one, other = (candidate(scan=n, source=n + 5, together=1) for n in (1, 2))
    assert how([one, other]) == ["collected", "collected"]
    barred = msgspec.structs.replace(other, filterable=False)
    assert how([one, barred, candidate(scan=3, source=8)]) == ["refused", "refused", "collected"]


def test_values_known_in_planning_are_enough() -> None:
    """A scan without remaining files gets no runtime values.

    The line says that the plan-time values are enough, and not that no values were used.
    """
    steps = (Counted("partitions", 0, 210, ("k IN (1, 2)",), origins=("known",)), Counted("files", 0, 0))
    one = msgspec.structs.replace(candidate(), report=ScanReport("fact", steps))
    refused = Verdict("refused", "0 files of fact left")
    (line,) = reports([CandidateOutcome(one, refused)])
    assert str(line) == (
        "fact.k: values known in planning are enough, without any of dim.k (INNER JOIN: 0 files of fact left)"
    )
    other = msgspec.structs.replace(one, column="x")
    (line,) = reports([CandidateOutcome(other, refused)])
    assert str(line) == "fact.x: no run-time values of dim.k (INNER JOIN: 0 files of fact left)"


def test_names_in_a_line_are_those_of_sql() -> None:
    """A key that Spark normalises, and a source without a name, have SQL's names in the line."""
    build = msgspec.structs.replace(
        candidate().build, name="OneRowRelation", key="knownfloatingpointnormalized(normalizenanandzero(k))"
    )
    one = candidate(build=build, type="EXISTS", column="normalizenanandzero(k)")
    assert msgspec.structs.replace(build, name="UnionLoopRef").name == "the rows of WITH RECURSIVE"
    (line,) = reports([CandidateOutcome(one, Verdict("refused", "because"))])
    assert str(line) == (
        "fact.k: no run-time values of k of SELECT without FROM (EXISTS or IN beside OR: because)"
    )


def test_what_a_report_says() -> None:
    """A join with values is reported by these values alone, and a join without values by each reason once.

    The report survives its dict.
    """
    used = CandidateOutcome(candidate(), Verdict("collected"), Gathered(1234, shared=False))
    build = msgspec.structs.replace(candidate().build, where=("(year = 2000)", "((a = 1) OR (b = 2))"))
    shared = CandidateOutcome(
        candidate(shared=True, build=build), Verdict("shared"), Gathered(None, shared=True)
    )
    spark = CandidateOutcome(candidate(), Verdict("spark"), Gathered(None, shared=True))
    gone = CandidateOutcome(candidate(), Verdict("shared"))
    other = CandidateOutcome(candidate(side="right"), Verdict("refused", "because"))
    alone = CandidateOutcome(candidate(join=3, scan=5), Verdict("refused", "because"))
    again = CandidateOutcome(candidate(join=3), Verdict("refused", "because"))
    assert [str(each) for each in reports([used, other, alone, alone, again])] == [
        "fact.k: 1,234 run-time values of dim.k (INNER JOIN, dim is read for them)",
        "fact.k: no run-time values of dim.k (INNER JOIN: because)",
    ]
    assert [str(each) for each in reports([shared, spark, gone])] == [
        "fact.k: run-time values of dim.k where year = 2000 AND ((a = 1) OR (b = 2)) (INNER JOIN, its broadcast)",
        "fact.k: run-time values of dim.k (INNER JOIN, Spark's own filter)",
    ]
    assert [str(each) for each in reports([gone])] == [
        "fact.k: no run-time values of dim.k (INNER JOIN: dim was not broadcast after all)"
    ]
    replaced = CandidateOutcome(candidate(join=3), Verdict("replaced"))
    assert reports([used, replaced, spark]) == reports([used, spark])
    assert len(reports([spark, replaced])) == 1
    report = Report((), (), reports([used]))
    plain = report.to_dict()
    assert plain["values"] == [
        {
            "table": "fact",
            "column": "k",
            "type": "INNER",
            "build": "dim",
            "key": "k",
            "how": "collected",
            "reason": "",
            "values": 1234,
            "shared": False,
            "where": [],
        }
    ]
    assert Report.from_dict(plain) == report
    assert "1,234 run-time values" in report._repr_html_()
    assert isinstance(report.values[0], ValuesReport)


@pytest.mark.parametrize(
    ("how", "gathered", "said"),
    [
        ("shared", Gathered(9, shared=True), "9 run-time values of dim.k (INNER JOIN, its broadcast)"),
        (
            "shared",
            Gathered(9, shared=True, unused="every partition may hold a match"),
            "9 run-time values of dim.k (INNER JOIN, its broadcast) leave nothing out: every partition may hold a match",
        ),
        (
            "spark",
            Gathered(9, shared=True, unused="every file may hold a match"),
            "9 run-time values of dim.k (INNER JOIN, Spark's own filter) leave nothing out: every file may hold a match",
        ),
        ("spark", None, "no run-time values of dim.k (INNER JOIN: dim was not broadcast after all)"),
        ("collected", None, "no run-time values of dim.k (INNER JOIN: fact itself is broadcast, for its values)"),
        (
            "collected",
            Gathered(None, shared=False, scan="gone"),
            "no run-time values of dim.k (INNER JOIN: nothing of fact is read)",
        ),
        (
            "shared",
            Gathered(None, shared=False, scan="reused"),
            "no run-time values of dim.k (INNER JOIN: what another place of the query reads of fact serves here, too)",
        ),
        (
            "collected",
            Gathered(None, shared=False, missed=60_000),
            "no run-time values of dim.k (INNER JOIN: dim was not there within 60 s, the runtime-pruning-max-wait)",
        ),
        (
            "ends",
            Gathered(None, shared=False, unused="no statistics for column k"),
            "least and greatest of the run-time values of dim.k (INNER JOIN, by its files' statistics) leave nothing out: "
            "no statistics for column k",
        ),
    ],
)  # fmt: skip
def test_what_leaves_nothing_out_has_its_reason(how: How, gathered: Gathered | None, said: str) -> None:
    """The line has a reason if the values prune nothing, and if no values came."""
    (line,) = reports([CandidateOutcome(candidate(), Verdict(how), gathered)])
    assert str(line) == f"fact.k: {said}"
    assert ValuesReport.from_dict(line.to_dict()) == line
    assert said.endswith((line.reason, f"{line.reason})"))
    assert (line.how == "refused") == said.startswith("no ")
    assert bool(line.reason) == (gathered is None or gathered.unused is not None or line.how == "refused")


@pytest.mark.parametrize(
    ("partitions", "reason"),
    [
        (Counted("partitions", 3, 9, ("k IN (1, 2)",), (), ("known",)), ""),
        (
            Counted("partitions", 9, 9, (), (IneffectiveCondition("k IN (1, 2)", "every partition may hold a match", "known"),)),
            "every partition may hold a match",
        ),
        (Counted("partitions", 9, 9), "every partition has one of them"),
        (Counted("partitions", 3, 9, ("j = 1",), (), ("known",)), "every partition has one of them"),
    ],
)  # fmt: skip
def test_why_values_known_in_planning_leave_nothing_out(partitions: Counted, reason: str) -> None:
    """Plan-time values that prune need no reason.

    Otherwise the reason comes from the scan's report, or says that every partition has a value.
    """
    scan = ScanReport("fact", (partitions, Counted("files", 9, 9)))
    one = msgspec.structs.replace(
        candidate(), known=PlanTimeValues(2, complete=True, useful=False), report=scan
    )
    (line,) = reports([CandidateOutcome(one, Verdict("known"))])
    assert (line.values, line.reason) == (2, reason)
    assert (" leave nothing out: " in str(line)) == bool(reason)


@pytest.mark.parametrize("joins", [(1, 1), (1, 2)])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("narrowed", [False, True])
def test_candidates_of_unknown_columns_change_no_other_verdict(
    joins: tuple[int, int], shared: bool, narrowed: bool
) -> None:
    """The planner refuses candidates of unknown columns, and decides about the others as without them.

    So the bridge leaves them out.
    """
    first, second = joins
    others = [
        candidate(join=first, shared=shared, narrowed=narrowed),
        candidate(join=second, column="o", build=build(size=10 * MB, cost=10 * MB)),
        candidate(join=second, side="right", scan=7, bytes=9 * MB),
    ]
    hopeless = [
        candidate(join=first, side="right", scan=9, filterable=False, shared=True),
        candidate(join=second, column="o", filterable=False),
    ]
    mixed = [hopeless[0], *others, hopeless[1]]
    verdicts = decide(mixed, [LIMIT] * len(mixed))
    assert {verdicts[0].how, verdicts[-1].how} == {"refused"}
    assert verdicts[1:-1] == decide(others, [LIMIT] * len(others))
    assert verdicts[0].reason == reason_against(hopeless[0])
