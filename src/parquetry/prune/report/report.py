"""The report of a query: what its scans read and why, which joins shuffle, which runtime filters served.

A report is data. Its parts come from `select` (scans), `joins.plan.shuffle_reasons` and
`joins.runtime.outcomes` (runtime filters). The modules `text` and `html` draw it. It is sent as the dict that
`to_dict` returns.
"""

from __future__ import annotations

from typing import Any

from parquetry.prune.report.audit import AuditReport
from parquetry.prune.report.heavy_keys import HeavyKeysReport
from parquetry.prune.report.html import report_html
from parquetry.prune.report.join import JoinReport
from parquetry.prune.report.join_values import ValuesReport
from parquetry.prune.report.openlineage import run_facet
from parquetry.prune.report.part import ReportPart
from parquetry.prune.report.scan import ScanReport
from parquetry.prune.report.text import report_text


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
        return report_html(self.scans, self._lines, self.values, not_run=self.not_run)

    @property
    def _lines(self) -> tuple[JoinReport | HeavyKeysReport | AuditReport, ...]:
        audited = () if self.audited is None else (self.audited,)
        return (*self.joins, *self.heavy_keys, *audited)
