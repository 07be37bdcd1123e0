"""Questions of the demo, limits on what each may read, and the outcome on both sides.

DuckDB counts every limit from the raw rows, so a limit owes nothing to the library that must keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import ScanReport
from parquetry.texts import size_text


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a query may read of one table.

    Attributes:
        table: whose scan is limited.
        step: of that scan's report, by its name.
        count: SQL over the raw tables, whose one number is the limit.
    """

    table: str
    step: str
    count: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One question, and why its answer costs less here.

    Attributes:
        name: short, for a chart.
        asks: the question, in one sentence.
        why: the reason, in a few sentences.
        sql: the query, with bare table names.
        limits: on its scans. The scene counts the tables with a limit.
        shuffles: how many times rows may be shuffled by the hash of columns, or None if the scene is about
            files.
        reports: whether the report is shown with the outcome, as it reads after the run.
    """

    name: str
    asks: str
    why: str
    sql: str
    limits: tuple[Limit, ...] = ()
    shuffles: int | None = None
    reports: bool = False

    @property
    def tables(self) -> frozenset[str]:
        """Return the tables that the scene counts."""
        return frozenset(limit.table for limit in self.limits)


class Side(NamedTuple):
    """The work of one side for an answer.

    Attributes:
        counted: how many of the thing that the scene is about.
        unit: the thing, in the singular, such as `file` or `file rewritten`.
        bytes: size of the files that were read, or rewritten; None if the side counts no files.
        seconds: from the question to the answer, planning included; None if nothing ran.
        besides: something else that was counted, as text.
    """

    counted: int
    unit: str
    bytes: int | None = None
    seconds: float | None = None
    besides: str = ""

    @property
    def text(self) -> str:
        """Return all numbers.

        >>> Side(1835, "file", 30_800_000, 3.14).text
        '1,835 files · 30.8 MB · 3.1 s'
        >>> Side(1, "key examined", None, 0.0004).text
        '1 key examined · 0.4 ms'
        """
        size = size_text(self.bytes) if self.bytes else ""
        time = "" if self.seconds is None else seconds_text(self.seconds)
        return " · ".join(filter(None, (counted_text(self.counted, self.unit), self.besides, size, time)))


class Read(NamedTuple):
    """Files of some tables that were opened, and their bytes."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a scene.

    Attributes:
        scene: the question.
        ours: what Parquetry did.
        beside: what plain Spark did, or what the table holds.
        rows: how many rows the answer has.
        faults: what is wrong with the answer or the reading; empty if all is well.
        report: what Parquetry says of its scans, or None if no query of Spark ran.
        beside_name: whom or what `beside` is about.
    """

    scene: Scene
    ours: Side
    beside: Side
    rows: int
    faults: tuple[str, ...] = ()
    report: Report | None = None
    beside_name: str = "plain Spark"

    @property
    def share(self) -> float:
        """Return what was counted as a share of what was counted on the other side."""
        return self.ours.counted / self.beside.counted if self.beside.counted else 1.0

    @property
    def ran_beside(self) -> bool:
        """Return whether plain Spark ran: a side that did has a time."""
        return self.beside.seconds is not None

    @property
    def beside_share(self) -> float:
        """Return the length of plain Spark's bar: the whole, or nothing where it did not run or count."""
        return 1.0 if self.ran_beside and self.beside.counted else 0.0

    @property
    def factor(self) -> str:
        """Return how many times fewer: `15 ×`, `none` if none is left, or nothing without a gain.

        Without another side that ran, there is nothing to compare.
        """
        if not self.ran_beside:
            return ""
        if not self.ours.counted:
            return "none"
        times = self.beside.counted / self.ours.counted
        return "" if times <= 1 else f"{times:,.0f} ×" if times >= 9.95 else f"{times:.1f} ×"


def report_text(outcome: Outcome) -> str:
    """Return what the report says after the run, or nothing if the scene shows no report."""
    return str(outcome.report) if outcome.scene.reports and outcome.report is not None else ""


def limited_scans(scene: Scene, report: Report) -> tuple[ScanReport, ...]:
    """Return the scans of the tables that a scene counts."""
    return tuple(scan for scan in report.scans if bare_name(scan.table) in scene.tables)


def bare_name(table: str) -> str:
    """Return a table's name without its catalog and database."""
    return table.rpartition(".")[2]


def excesses(report: Report, allowed: Mapping[Limit, int]) -> list[str]:
    """Return in what a query read more than it may, as sentences."""
    sentences = []
    for limit, most in allowed.items():
        scans = [scan for scan in report.scans if bare_name(scan.table) == limit.table]
        if not scans:
            sentences.append(f"no scan of {limit.table} in the report")
        for scan in scans:
            step = scan.step(limit.step)
            if step is None:
                sentences.append(f"{limit.table}: no step {limit.step!r} in the report")
            elif step.kept > most:
                sentences.append(f"{limit.table}: read {step.kept:,} {limit.step} where {most:,} are enough")
    return sentences


def counted_text(number: int, unit: str) -> str:
    """Return a number of things.

    >>> counted_text(1, "file"), counted_text(1000, "file rewritten"), counted_text(0, "query")
    ('1 file', '1,000 files rewritten', '0 queries')
    """
    noun, space, rest = unit.partition(" ")
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") and noun != "key" else f"{noun}s"
    return f"{number:,} {noun}{space}{rest}"


def seconds_text(seconds: float) -> str:
    """Return a time; below a tenth of a second in milliseconds.

    >>> seconds_text(2.04), seconds_text(0.0123), seconds_text(0.00042)
    ('2.0 s', '12 ms', '0.4 ms')
    """
    if seconds >= 0.0995:
        return f"{seconds:.1f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.00995 else f"{1000 * seconds:.1f} ms"
