"""What a query's scans read, of how much, why, and why not less; which of its joins shuffle, and why; and which values of joins served.

A report is data: `select` makes the part of each scan, `shuffle_reasons` that of each join, `runtime.outcomes` that of its values, `text` and `html` draw it, and it
travels as the dict that `to_dict` gives.
"""

from __future__ import annotations

from typing import Any

from parquetry.prune.report.html import report_html
from parquetry.prune.report.join import JoinReport
from parquetry.prune.report.join_values import ValuesReport
from parquetry.prune.report.part import ReportPart
from parquetry.prune.report.scan import ScanReport
from parquetry.prune.report.text import report_text


class Report(ReportPart, frozen=True):
    """All scans of a query, in the order of its plan, those of its joins that are of tables in buckets, and the values of joins.

    >>> from parquetry.prune.report.scan import Step
    >>> scan = ScanReport("lake.db.t", (Step("partitions", 2, 10, ("p IN (1, 2)",)), Step("files", 3, 4)))
    >>> print(Report((scan,)))
    lake.db.t: partitions 2 of 10 (p IN (1, 2)) · files 3 of 4
    """

    scans: tuple[ScanReport, ...]
    joins: tuple[JoinReport, ...] = ()
    values: tuple[ValuesReport, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain lists and dicts, for JSON.

        A step has `origins` if one of the conditions in its `by` is not the query's, and says then for each whose it
        is: `query`, `join` (values found at run time) or `table`. A note in `not_by` has an `origin` if it is not
        the query's. A step has a `unit` if its name does not say what it counts. A scan has `buckets` if its table is in
        buckets, and the report has `joins` if one is of such tables, each with the `sides` that are shuffled. A scan has `run_time` if values of a join have come: `values`, each with
        `column` and `count` or as a `condition`, and `cuts`, what a step left `before` and `after` (`about`: an estimate), `late` if nothing
        was listed before they came, and `missed`, which were not there in time; or `off`, where there are to be none.
        The report has `values` if a scan is of a table that is joined.
        """
        plain = super().to_dict() | {"scans": [scan.to_dict() for scan in self.scans]}
        return plain | {"values": [each.to_dict() for each in self.values]} if self.values else plain

    def __str__(self) -> str:
        return report_text(self.scans, self.joins, self.values)

    def _repr_html_(self) -> str:
        return report_html(self.scans, self.joins, self.values)
