"""A step is a rule and a place in the list: everything that selects, reports or draws goes by that."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate.nodes import Compare, In
from parquetry.predicate.pruning.match import Match
from parquetry.prune import steps
from parquetry.prune.condition import Condition
from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import IneffectiveCondition, ScanReport, Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule
from parquetry.prune.select import select_files
from parquetry.prune.tally import Tally
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type
from tests.support.planning.filters import make_filter, make_filters

INT = parse_type("int")


class EvenNames(Rule):
    """Keeps files whose names end in an even digit, as if each condition on `v` required them."""

    name = "halves"
    kept_text = "halves read"
    of_text = "halves of the table"

    def narrow(self, scan: PruningRequest, left: Remaining) -> tuple[Remaining, Step | None]:
        """Cut the odd ones."""
        tally = Tally()
        asked = [condition for condition in scan.conditions if "v" in condition.about]
        blocks = []
        for block in left.files(scan):
            odd = np.array([int(path[-1]) % 2 for path in block.files.paths], np.bool_)
            answers = np.where(odd, Match.CANNOT, Match.MIGHT).astype(np.uint8)
            blocks.append(
                block.project(np.flatnonzero(tally.combine(asked, [answers] * len(asked))), scan.projected)
            )
        kept = sum(block.count for block in blocks)
        return replace(left, blocks=blocks), tally.step(
            self, kept, left.count, scan.conditions, lambda _: "not about v"
        )


@pytest.fixture
def table() -> TableSnapshot:
    """Two partitions of four files each."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    columns = (TableColumn("v", "integer"), TableColumn("p", "integer"))
    metadata = TableMetadata(columns, ("p",), "parquet", "/lake/db.db/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p in (1, 2):
        transaction.append((p,), [FileRecord(f"f{n}", 100, 10) for n in range(4)])
    return commit(transaction)


def test_a_step_added_to_the_list_is_selected_by_and_reported(
    table: TableSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It narrows what the next step is given, and stands in the report, its text, its HTML and its dict."""
    partitions, *others = steps.STEPS
    monkeypatch.setattr(steps, "STEPS", (partitions, EvenNames(), *others))
    selection = select_files(table, make_filters([Compare("=", "p", 1, INT), Compare(">", "v", 5, INT)]))
    assert [file.file.path for file in selection.files] == ["f0", "f2"]
    assert selection.bytes == 200
    report = Report((selection.report,))
    assert str(report).split("\n")[0] == (
        "db.t: partitions 1 of 2 (p = 1) · halves 2 of 4 (v > 5) · files 2 of 2 · 200 B of 800 B"
    )
    assert "halves" in report._repr_html_()
    assert report.to_dict()["scans"][0]["steps"][1] == {
        "name": "halves",
        "kept": 2,
        "of": 4,
        "by": ["v > 5"],
        "not_by": [{"condition": "p = 1", "reason": "not about v"}],
    }
    assert Report.from_dict(report.to_dict()) == report
    halves = steps.unread(selection.report).step("halves")
    assert halves == selection.report.step("halves")


def test_an_unread_scan_has_no_open_files(table: TableSnapshot) -> None:
    """A scan that the metastore answers reads partitions, but no files and no bytes."""
    report = steps.unread(select_files(table, make_filters([Compare("=", "p", 1, INT)]), ["v"]).report)
    assert str(Report((report,))) == (
        "db.t: partitions 1 of 2 (p = 1) · files 0 of 4 (answered by the metastore) · 0 B of 800 B"
    )


def test_a_report_says_where_conditions_come_from(table: TableSnapshot) -> None:
    """Run-time values and the table's own conditions stand beside the query's, in all forms of the report."""
    found = make_filter(In("p", (1, 7), INT))
    asked = [
        make_filter(Compare("<", "p", 9, INT)),
        Condition.from_filter(found, "join"),
        Condition.from_filter(make_filter(Compare("<", "p", 2, INT)), "table"),
        Condition.from_filter(make_filter(Compare(">", "v", 5, INT)), "join"),
    ]
    report = Report((select_files(table, asked).report,))
    assert str(report) == (
        "db.t: partitions 1 of 2 (p < 9, run-time values p IN (1, 7), the table's p < 2)"
        " · files 4 of 4 · 400 B of 800 B\n"
        "  not by run-time values v > 5: no statistics for column v"
    )
    html = report._repr_html_()
    assert "p &lt; 9, run-time values p IN (1, 7), the table&#x27;s p &lt; 2" in html
    assert "not by <code>run-time values v &gt; 5</code>" in html
    partitions, files, _ = report.to_dict()["scans"][0]["steps"]
    assert partitions["by"] == ["p < 9", "p IN (1, 7)", "p < 2"]
    assert partitions["origins"] == ["query", "join", "table"]
    assert files["not_by"] == [
        {"condition": "v > 5", "reason": "no statistics for column v", "origin": "join"}
    ]
    assert Report.from_dict(report.to_dict()) == report


def test_a_report_of_before_there_were_origins_is_read() -> None:
    """All of its conditions are the query's, and its bytes are bytes."""
    step = {"name": "bytes", "kept": 1000, "of": 2000, "by": ["v"], "not_by": []}
    files = {
        "name": "files",
        "kept": 1,
        "of": 2,
        "by": ["v > 5"],
        "not_by": [{"condition": "a", "reason": "b"}],
    }
    report = Report.from_dict({"scans": [{"table": "t", "steps": [files, step]}]})
    assert report.scans[0].steps[0].not_by == (IneffectiveCondition("a", "b", "query"),)
    assert str(report).startswith("t: files 1 of 2 (v > 5) · 1 kB of 2 kB (column v)\n")


def test_any_step_may_count_bytes() -> None:
    """Its unit says so, not its name; one that is called something else is drawn with its name."""
    step = Step("pages", 1_000, 2_000, ("v",), unit="bytes")
    report = Report((ScanReport("t", (step,)),))
    assert str(report) == "t: pages 1 kB of 2 kB (column v)"
    assert report.to_dict()["scans"][0]["steps"][0]["unit"] == "bytes"
    assert Report.from_dict(report.to_dict()) == report
