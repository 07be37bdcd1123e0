"""A report of a run is made from the facts that the bridge sends about it.

The tests with Spark are in tests/spark/reports.
"""

from __future__ import annotations

from html import escape
from typing import Any

import msgspec
import pytest

from parquetry.planner import report_from_facts
from parquetry.planner.report_facts import _is_refusal_of_files, scan_reports
from parquetry.prune.report.join_values import ValuesReport
from parquetry.prune.report.report import Report, report_rows
from parquetry.prune.report.scan import NativeReport, ScanReport, Step

SCAN = ScanReport(
    "lake.db.t",
    (
        Step("partitions", 3, 5, ("p > 2",)),
        Step("files", 15, 15),
        Step("bytes", 4500, 90_000, ("v",), whole=30_000),
    ),
)


def facts(**more: Any) -> dict[str, Any]:
    """Return the facts of a scan as the bridge sends them."""
    return {"report": SCAN.to_dict(), "untranslated": [], "read": "read", "opened": 15} | more


def test_the_search_for_files_is_no_join_of_the_user() -> None:
    """DELETE finds the files with matching rows by a join of the table with itself, which no report has."""

    def join(*sides: tuple[str, str]) -> dict[str, Any]:
        described = [
            {
                "name": name,
                "keys": [{"sql": key, "columns": [], "plain": True, "cast": False}],
                "scans": [{"table": name, "buckets": None}],
            }
            for name, key in sides
        ]
        return {"type": "EXISTS", "sides": described, "broadcast": 1}

    found = {"scans": [], "values": [], "settings": {}}
    own, other = ("lake.db.t", "_file"), ("lake.db.t", "id")
    assert report_from_facts(found | {"joins": [join(own, own)]}).joins == ()
    for sides in ((own, other), (own, ("lake.db.u", "_file"))):
        assert len(report_from_facts(found | {"joins": [join(*sides)]}).joins) == 1
    refused = ValuesReport("lake.db.t", "_file", "EXISTS", "lake.db.t", "_file", "refused", "1 file left")
    assert _is_refusal_of_files(refused)
    assert not _is_refusal_of_files(msgspec.structs.replace(refused, how="spark"))
    assert not _is_refusal_of_files(msgspec.structs.replace(refused, column="id", key="id"))


def texts(*scans: dict[str, Any], run: str = "own") -> list[str]:
    """Return the lines of a report of some scans."""
    found = {
        "scans": list(scans),
        "joins": [],
        "values": [],
        "run": run,
        "settings": {},
        "spark": "4.3.0",
    }
    return str(report_from_facts(found)).splitlines()


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (
            {},
            "lake.db.t: partitions 3 of 5 (p > 2) · files 15 of 15 · 4.5 kB of 90 kB (column v; these files have 30 kB)",
        ),
        (
            {"opened": 1, "report": msgspec.structs.replace(SCAN, counted=15).to_dict()},
            "lake.db.t: partitions 3 of 5 (p > 2) · files 1 of 15 (no more rows were needed) · about 300 B of 90 kB "
            "(column v; these files have 2 kB) · rows of 1 file from the metastore, without opening it",
        ),
        (
            {"opened": 1},
            "lake.db.t: partitions 3 of 5 (p > 2) · files 1 of 15 (no more rows were needed) · "
            "about 300 B of 90 kB (column v; these files have 2 kB)",
        ),
        (
            {"read": "dropped", "opened": None, "joins": ["INNER"]},
            "lake.db.t: not read: the other side of its INNER JOIN had no rows · partitions 0 of 5 · files 0 of 15 · 0 B of 90 kB",
        ),
        (
            {"read": "dropped", "opened": 0, "joins": ["NOT IN"]},
            "lake.db.t: not read: the subquery of NOT IN gave a NULL · partitions 0 of 5 · files 0 of 15 · 0 B of 90 kB",
        ),
        (
            {"read": "dropped", "opened": 2, "joins": ["INNER"]},
            "lake.db.t: partitions 3 of 5 (p > 2) · files 2 of 15 (no more rows were needed) · "
            "about 600 B of 90 kB (column v; these files have 4 kB)",
        ),
        (
            {"read": "cached", "opened": None, "cache": "days"},
            "lake.db.t: not read: its rows came from the cache days · partitions 0 of 5 · files 0 of 15 · 0 B of 90 kB",
        ),
    ],
)
def test_a_scan_says_what_became_of_it(more: dict[str, Any], line: str) -> None:
    """A scan that the run skipped or stopped early reports no file that was not opened."""
    assert texts(facts(**more)) == [line]
    (scan,) = scan_reports([facts(**more)])
    assert Report.from_dict(Report((scan,)).to_dict()) == Report((scan,))
    assert ("not read" in Report((scan,))._repr_html_()) == ("not read" in line)
    steps = [row.step for row in report_rows(Report((scan,)))]
    assert ("not read" in steps) == ("not read" in line)


@pytest.mark.parametrize(
    ("native", "by_spark", "line"),
    [
        (NativeReport("Comet"), False, "native: Comet reads it"),
        (NativeReport("Comet"), True, "not native: Comet left it to Spark"),
        (NativeReport("Comet", "its files are orc"), True, "not native: its files are orc"),
        (NativeReport(), True, "native: Spark's scan of files reads it"),
    ],
)
def test_an_engine_may_leave_a_scan_to_spark(native: NativeReport, by_spark: bool, line: str) -> None:
    """The report names an engine only if it has read the scan, in the text, in HTML and in rows."""
    report = msgspec.structs.replace(SCAN, native=native).to_dict()
    found = facts(report=report, by_spark=by_spark)
    assert texts(found)[1] == f"  {line}"
    (scan,) = scan_reports([found])
    assert escape(line) in Report((scan,))._repr_html_()
    assert [f"{row.step}: {row.why}" for row in report_rows(Report((scan,))) if "native" in row.step] == [
        line
    ]


def test_a_scan_that_served_two_places_is_told_once() -> None:
    """A scan that serves two places of the plan is reported once."""
    assert len(texts(facts(), facts(read="reused", opened=None))) == 1


def test_a_query_that_has_not_run_says_so_first() -> None:
    """A report without a run says so in the text, in HTML, in rows and in the dict.

    A query without our tables says nothing about a run.
    """
    planned = facts(read="planned", opened=None)
    first, _ = texts(planned, run="none")
    assert first == "This query has not run: these are the numbers before run-time values."
    assert len(texts(planned, run="planned")) == 1
    assert texts(run="none") == ["no scans"]
    report = Report((SCAN,), not_run=True)
    assert report.to_dict()["not_run"] is True
    assert "has not run" in report._repr_html_()
    assert next(iter(report_rows(report))).step == "not run"


def test_inner_names_are_written_as_a_user_knows_them() -> None:
    """The report has users' names for columns.

    A set that Spark also has through its own functions is reported once.
    """
    step = Step(
        "partitions",
        2,
        5,
        ("knownfloatingpointnormalized(normalizenanandzero(f)) IN (1.0D, 2.0D)", "f IN (1.0, 2.0)"),
        origins=("join", "join"),
    )
    scan = ScanReport("t", (step,)).to_dict()
    scan["run_time"] = {
        "values": [
            {"column": "knownfloatingpointnormalized(normalizenanandzero(f))", "count": 2},
            {"column": "f", "count": 2},
            {"condition": "NULL OR x IS NULL"},
        ],
        "cuts": [{"name": "partitions", "before": 5, "after": 2}],
    }
    assert texts(facts(report=scan, opened=None)) == [
        "t: partitions 2 of 5 (run-time values f IN (1.0D, 2.0D))",
        "  run time: f → 2 values, x IS NULL: partitions 5 → 2",
    ]


def test_the_reason_of_a_join_that_cannot_gain() -> None:
    """The report gives the reason against a candidate that the bridge has refused by itself."""
    candidate = {
        "scan": 0, "report": SCAN.to_dict(), "bytes": 4500, "column": "v", "form": "column", "filterable": False,
        "join": 1, "type": "INNER", "side": "left", "steps": [], "equality": True, "null_aware": False,
        "build": {"name": "lake.db.d", "key": "k"}, "source": 2, "narrowed": False, "shared": True,
    }  # fmt: skip
    verdict = {"how": "refused", "reason": "", "tuple": None}
    found = {
        "scans": [facts()], "joins": [], "run": "own", "settings": {}, "spark": "4.3.0",
        "values": [{"candidate": candidate, "verdict": verdict, "gathered": None}],
    }  # fmt: skip
    assert [values.reason for values in report_from_facts(found).values] == [
        "nothing is known of the values of v"
    ]


def test_rows_are_beside_the_estimate() -> None:
    """A report has the rows of the run and the optimizer's estimate; a dropped scan has neither."""
    report = Report(scan_reports([facts(rows=[1204, 1300])]))
    assert "(column v; these files have 30 kB) · rows 1,204 (estimated 1,300)" in str(report)
    assert "<li>rows 1,204 (estimated 1,300)</li>" in report._repr_html_()
    assert Report.from_dict(report.to_dict()).to_dict() == report.to_dict()
    assert report.to_dict()["scans"][0]["rows"] == {"rows": 1204, "estimated": 1300}
    (dropped,) = scan_reports([facts(rows=[0, 1300], read="dropped", opened=0, joins=["INNER"])])
    assert dropped.rows is None
