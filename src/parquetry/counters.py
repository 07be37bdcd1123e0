"""Counters of this process, since its start: the metrics that no metastore records.

Any room may count. `parquetry.metrics` hands the numbers to Prometheus. Counting costs a lock and an
addition, so it is always on.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

COMMITS = "commits"
CONFLICTS = "commit_conflicts"
SCANS = "scans"
SCAN_FILES = "scan_files"
SCAN_FILES_LEFT_OUT = "scan_files_left_out"
SCAN_BYTES = "scan_bytes"
SCAN_BYTES_LEFT_OUT = "scan_bytes_left_out"
AUDITS_FAILED = "audits_failed"

HELP: Mapping[str, str] = {
    COMMITS: "Commits of this process that made a version.",
    CONFLICTS: "Commits of this process that failed, since others had changed the same.",
    SCANS: "Scans that this process has planned.",
    SCAN_FILES: "Data files of the tables of these scans.",
    SCAN_FILES_LEFT_OUT: "Data files among them that the scans do not open.",
    SCAN_BYTES: "Bytes of the tables of these scans.",
    SCAN_BYTES_LEFT_OUT: "Bytes among them in files that the scans do not open.",
    AUDITS_FAILED: "Audits that found rows, or an answer, other than a claim about them says.",
}
"""The counters, each with its meaning."""


class Counters:
    """Numbers that only grow. Several threads may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values = dict.fromkeys(HELP, 0)

    def add(self, name: str, amount: int = 1) -> None:
        """Add to a counter.

        Args:
            name: one of `HELP`.
            amount: 0 or more.

        Raises:
            KeyError: there is no such counter.
        """
        with self._lock:
            self._values[name] += max(0, amount)

    def add_scan(self, files: int, files_left_out: int, size: int, bytes_left_out: int) -> None:
        """Count a scan, with the files and bytes of its table and what of them it leaves out."""
        with self._lock:
            self._values[SCANS] += 1
            self._values[SCAN_FILES] += files
            self._values[SCAN_FILES_LEFT_OUT] += max(0, files_left_out)
            self._values[SCAN_BYTES] += size
            self._values[SCAN_BYTES_LEFT_OUT] += max(0, bytes_left_out)

    def values(self) -> dict[str, int]:
        """Return the present value of each counter."""
        with self._lock:
            return dict(self._values)


COUNTERS = Counters()
"""The counters of this process."""


def count_failed_audit() -> None:
    """Count an audit that found other rows, or another answer, than a claim about them says."""
    COUNTERS.add(AUDITS_FAILED)
