"""Reports of queries that were saved as JSON in a folder: their names, and one as it is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from parquetry.errors import ReportFileError
from parquetry.prune import Report

MAX_REPORTS = 500
"""Reports that are listed, the newest first."""
MAX_REPORT_BYTES = 16 << 20
"""Size of a report that is drawn."""


def read_report(file: Path) -> Report:
    """Return the report that a file has as JSON, as `Report.to_dict` gives it.

    Raises:
        ReportFileError: the file has no report.
        OSError: it cannot be read.
    """
    if file.stat().st_size > MAX_REPORT_BYTES:
        raise ReportFileError(f"Report {file.name} is longer than 16 MB: it is no report of a query.")
    try:
        return Report.from_dict(msgspec.json.decode(file.read_bytes()))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportFileError(
            f"File {file.name} has no report of a query ({error}): write json.dumps(parquetry.report(df).to_dict())."
        ) from None


def reports_answer(folder: Path | None) -> dict[str, Any]:
    """Return the names of the reports in a folder, the newest first, or what to do for some."""
    if folder is None:
        return {"folder": None, "rows": []}
    files = [(each.stat().st_mtime, each.stat().st_size, each.name) for each in folder.glob("*.json")]
    newest = sorted(files, reverse=True)[:MAX_REPORTS]
    rows = [{"name": name, "bytes": size, "time": int(time * 1000)} for time, size, name in newest]
    return {"folder": folder.name, "rows": rows}


def report_answer(folder: Path | None, name: str) -> dict[str, Any]:
    """Return a saved report, drawn.

    Args:
        folder: of the reports.
        name: of a file in it. Nothing else is read.

    Raises:
        ReportFileError: the folder has no such report.
    """
    listed = {} if folder is None else {each.name: each for each in folder.glob("*.json")}
    if name not in listed:
        raise ReportFileError(
            f"There is no report {name!r} in the folder of reports: name one that is listed."
        )
    report = read_report(listed[name])
    return {"name": name, "html": report.to_html(styled=False), "text": str(report)}
