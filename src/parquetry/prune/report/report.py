"""The report of a query: what its scans read and why, which joins shuffle, which runtime filters served.

A report is data. Its parts come from `select` (scans), `joins.plan.shuffle_reasons` and
`joins.runtime.outcomes` (runtime filters). The modules `text` and `html` draw it. It is sent as the
dict that `to_dict` returns.

`openlineage_facet` is the report as a facet of OpenLineage: files x of y, beside what OpenLineage knows of
the job.

A run facet is a part of an event about a run. Each facet has `_producer` and `_schemaURL`; what else it has
is its producer's own. So any client of OpenLineage sends it, and servers such as Marquez show it.

Clients that have SQL alone get it as rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from parquetry._version import __version__
from parquetry.prune.report.audit import AuditReport
from parquetry.prune.report.html import ReportMarkup, whole_page
from parquetry.prune.report.join import HeavyKeysReport, JoinReport
from parquetry.prune.report.join_values import ValuesReport
from parquetry.prune.report.part import ReportPart
from parquetry.prune.report.scan import ScanReport
from parquetry.prune.report.text import (
    NOT_RUN_TEXT,
    condition_text,
    counted_text,
    reason_text,
    report_text,
    run_time_text,
)


class Report(ReportPart, frozen=True):
    """The scans of a query in its plan's order, its joins in the order of the query, and runtime filters.

    >>> from parquetry.prune.report.scan import Step
    >>> scan = ScanReport("lake.db.t", (Step("partitions", 2, 10, ("p IN (1, 2)",)), Step("files", 3, 4)))
    >>> print(Report((scan,)))
    lake.db.t: partitions 2 of 10 (p IN (1, 2)) · files 3 of 4
    """

    scans: tuple[ScanReport, ...]
    joins: tuple[JoinReport, ...] = ()
    values: tuple[ValuesReport, ...] = ()
    not_run: bool = False
    """Whether these are the numbers of the plan, since neither the query nor its scans have run."""
    heavy_keys: tuple[HeavyKeysReport, ...] = ()
    """The joins of tables with heavy keys: whether these are joined apart, or why not."""
    audited: AuditReport | None = None
    """The outcome of the query's audit, or None without an audit."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain lists and dicts, for JSON.

        Some keys are present only when needed:

        - A step has `origins` if one of the conditions in its `by` is not from the query. It then names the
          origin of each: `query`, `join` (runtime values) or `table`. A note in `not_by` has an `origin` if
          it is not the query.
        - A step has a `unit` if its name does not say what it counts.
        - The step `bytes` has `whole` if not all columns are read: the size of the files read with all of
          their columns.
        - A scan has `not_read`, the reason, if the run opened no file for it. An origin is `run` if the run
          needed no more rows. The report has `not_run` if neither the query nor its scans have run.
        - A scan has `buckets` if its table is bucketed. The report has `joins` if tables are joined; each has
          the `sides` that are shuffled, unless none is.
        - A scan has `run_time` if runtime values of a join have come. It has `values`, each with `column` and
          `count` or with a `condition`. It has `cuts`: what each step kept `before` and `after` (`about`
          marks an estimate). It has `late` if no file was listed before they came, and `missed` for filters
          that timed out. If runtime pruning is off, it has only `off`.
        - The report has `values` if a scan is of a table that is joined, and `heavy_keys` if such a table is
          known to have some. It has `audited` if the query was audited.
        """
        plain = super().to_dict() | {"scans": [scan.to_dict() for scan in self.scans]}
        return plain | {"values": [each.to_dict() for each in self.values]} if self.values else plain

    def to_openlineage(self) -> dict[str, Any]:
        """Return run facets of OpenLineage by name: the files and bytes read of how many."""
        return run_facet(self.scans)

    def __str__(self) -> str:
        return report_text(self.scans, self._lines, self.values, not_run=self.not_run)

    __repr__ = __str__
    """At a prompt a report is read, as a table is."""

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self, *, styled: bool = True) -> str:
        """Return the report as an HTML fragment, with a funnel for each scan and the graph of joins.

        Args:
            styled: whether elements bring their styles, as a notebook needs them. If not, the page has
                `report.css`.
        """
        return ReportMarkup(styled).draw(self.scans, self._lines, self.values, not_run=self.not_run)

    def to_page(self, title: str = "Report") -> str:
        """Return the report as a page of HTML, to be saved: a file by itself."""
        return whole_page(title, self.to_html(styled=False))

    @property
    def _lines(self) -> tuple[JoinReport | HeavyKeysReport | AuditReport, ...]:
        audited = () if self.audited is None else (self.audited,)
        return (*self.joins, *self.heavy_keys, *audited)


FACET = "parquetry_scans"
"""The name of the facet among the facets of a run. Names of one's own begin with the producer's."""
_PRODUCER = f"https://pypi.org/project/parquetry/{__version__}"
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"
"""The facet's schema: the one that all run facets have, which takes further fields."""


def run_facet(scans: Iterable[ScanReport]) -> dict[str, Any]:
    """Return the run facet of scans: for each table, what each step of pruning kept of how many.

    Args:
        scans: of a report.
    """
    return {
        FACET: {
            "_producer": _PRODUCER,
            "_schemaURL": _SCHEMA,
            "scans": [
                {
                    "table": scan.table,
                    **{step.name: {"read": step.kept, "of": step.of} for step in scan.steps},
                }
                for scan in scans
            ],
        }
    }


class ReportRow(NamedTuple):
    """One line of a report.

    Attributes:
        part: number of the scan, the join or the values within the report, from 0; the lines of one scan have
            one number.
        table: that it is about; of a join what is joined, and of its values the column that they are for.
        step: the step of pruning: `partitions`, `directories`, `buckets`, `files`, `bytes`. Other lines have
            `run time`, `not used` (a condition that left out nothing), `not read` (a scan), `native` or
            `not native` (whether a native engine reads a scan), `join`, or
            `values` (of a join). `not run` is the first line for a query that has not run.
        kept: how many are read. None if the line counts nothing.
        total: how many there were. None if the line counts nothing.
        why: the conditions that did it, or the reason.
    """

    part: int
    table: str
    step: str
    kept: int | None
    total: int | None
    why: str


def report_rows(report: Report) -> Iterator[ReportRow]:
    """Yield the lines of a report: of its scans, its joins, and the values of joins.

    >>> from parquetry.prune.report.scan import ScanReport, Step
    >>> scan = ScanReport("lake.db.t", (Step("partitions", 2, 10, ("p IN (1, 2)",)),))
    >>> list(report_rows(Report((scan,))))
    [ReportRow(part=0, table='lake.db.t', step='partitions', kept=2, total=10, why='p IN (1, 2)')]
    """
    if report.not_run:
        yield ReportRow(0, "", "not run", None, None, NOT_RUN_TEXT)
    for part, scan in enumerate(report.scans):
        if scan.not_read:
            yield ReportRow(part, scan.table, "not read", None, None, scan.not_read)
        for step in scan.steps:
            yield ReportRow(part, scan.table, step.name, step.kept, step.of, reason_text(step))
        if scan.counted:
            yield ReportRow(part, scan.table, "not opened", scan.counted, None, counted_text(scan))
        if scan.native is not None and not scan.not_read:
            name, _, why = str(scan.native).partition(": ")
            yield ReportRow(part, scan.table, name, None, None, why)
        if scan.run_time is not None:
            why = run_time_text(scan.run_time).removeprefix("run time: ")
            yield ReportRow(part, scan.table, "run time", None, None, why)
        for note in scan.unused():
            why = f"{condition_text(note.condition, note.origin)}: {note.reason}"
            yield ReportRow(part, scan.table, "not used", None, None, why)
    first = len(report.scans)
    for part, join in enumerate(report.joins, first):
        yield ReportRow(part, join.title, "join", None, None, join.outcome)
    for part, values in enumerate(report.values, first + len(report.joins)):
        yield ReportRow(part, values.title, "values", None, None, values.outcome)
