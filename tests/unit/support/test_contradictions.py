"""Contradictions in reports are found, each kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest

from parquetry.prune import IneffectiveCondition, Report, ScanReport, Step, ValuesReport
from parquetry.prune.report.join import JoinReport
from parquetry.prune.report.join_values import RunTimeReport, StepReduction
from tests.support.pairs.contradictions import contradictions

SCAN = ScanReport("f", (Step("partitions", 1, 10, ("p = 1",)), Step("files", 2, 2)))
JOIN = JoinReport("INNER", "f", "d", ("p = p",), False, "d is broadcast")
VALUES = ValuesReport("f", "p", "INNER", "d", "p", "shared", values=1, shared=True)


@dataclass(frozen=True)
class Case:
    """A report, what was opened, and a part of the contradiction that is to be found."""

    said: str
    scans: tuple[ScanReport, ...] = (SCAN,)
    joins: tuple[JoinReport, ...] = ()
    values: tuple[ValuesReport, ...] = ()
    opened: dict[str, int] = field(default_factory=lambda: {"f": 2})
    not_run: bool = False


def changed(**fields: object) -> ScanReport:
    """Return the scan with other fields."""
    return msgspec.structs.replace(SCAN, **fields)


CASES = (
    Case("f is listed 2 times", scans=(SCAN, SCAN)),
    Case("f is not listed", scans=(), opened={}),
    Case("3 files were opened", opened={"f": 3}),
    Case("g: 1 files were opened", opened={"f": 2, "g": 1}),
    Case("files 3 of 2", scans=(changed(steps=(Step("files", 3, 2),)),), opened={"f": 3}),
    Case("of nothing", scans=(changed(steps=(Step("partitions", 0, 10), Step("files", 2, 2))),)),
    Case("files not opened, of fewer", scans=(changed(counted=3),), opened={}),
    Case("not read, but 2 files", scans=(changed(not_read="no rows"),)),
    Case("run time: files", scans=(changed(run_time=RunTimeReport(cuts=(StepReduction("files", 9, 1),))),)),
    Case("d is broadcast, and not", joins=(JOIN,), values=(msgspec.structs.replace(VALUES, how="refused", reason="d was not broadcast after all"),)),
    Case("by a broadcast that no join has", values=(VALUES,)),
    Case("p = 1 is named 2 times", scans=(changed(steps=(Step("files", 2, 4, ("p = 1", "p = 1")),)),)),
    Case("p = 1 pruned files, and not", scans=(changed(steps=(Step("files", 2, 4, ("p = 1",), (IneffectiveCondition("p = 1", "…"),)),)),)),
    Case("the scan has none", joins=(JOIN,), values=(VALUES,)),
    Case("is not read, but gets values", scans=(changed(steps=(Step("files", 0, 2),), not_read="no rows"),), joins=(JOIN,), values=(VALUES,), opened={}),
    Case("has not run", not_run=True),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.said)
def test_a_contradiction_is_found(case: Case) -> None:
    """Each kind of contradiction has a line that names it."""
    report = Report(case.scans, case.joins, case.values, not_run=case.not_run)
    assert case.said in "\n".join(contradictions(report, ["f"], case.opened))


def test_a_report_without_contradictions() -> None:
    """A report that agrees with itself and with the opened files has none."""
    arrived = Step("partitions", 1, 10, ("p = 1",), origins=("join",))
    run_time = RunTimeReport(cuts=(StepReduction("partitions", 10, 1),))
    scan = changed(steps=(arrived, Step("files", 2, 2)), run_time=run_time)
    assert contradictions(Report((scan,), (JOIN,), (VALUES,)), ["f", "d"], {"f": 2}) == ["d is not listed"]
    assert contradictions(Report((scan,), (JOIN,), (VALUES,)), ["f"], {"f": 2}) == []
