"""The report of a query's audit: which claims about rows were checked, and which were not."""

from __future__ import annotations

from collections.abc import Mapping

from parquetry.prune.report.part import ReportPart

_SINGULAR: Mapping[str, str] = {
    "files left out": "file left out",
    "answers without files": "answer without files",
    "whole queries": "whole query",
    "batches": "batch",
}
"""Kinds of claims whose singular is not the plural without its last letter."""


class AuditReport(ReportPart, frozen=True):
    """The claims that the audit of a query has checked.

    A claim that does not hold is an error, so all of these hold.

    Attributes:
        held: the number of claims of each kind.
        skipped: claims that were not checked, each with the reason.

    >>> print(AuditReport({"files left out": 41, "scans": 2, "whole queries": 1}))
    audited: 41 files left out, 2 scans, 1 whole query: all hold
    >>> print(AuditReport({}, ("the whole query: the rows of a TABLESAMPLE are drawn",)))
    audited: nothing claimed; not checked: the whole query: the rows of a TABLESAMPLE are drawn
    """

    held: dict[str, int]
    skipped: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return the first word of the report's line."""
        return "audited"

    @property
    def outcome(self) -> str:
        """Return the numbers of the claims that hold, and what was not checked."""
        counts = ", ".join(
            f"{number:,} {_SINGULAR.get(kind, kind.removesuffix('s')) if number == 1 else kind}"
            for kind, number in self.held.items()
        )
        missing = f"; not checked: {'; '.join(self.skipped)}" if self.skipped else ""
        return f"{counts}: all hold{missing}" if counts else f"nothing claimed{missing}"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"
