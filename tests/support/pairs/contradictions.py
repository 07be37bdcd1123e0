"""Find contradictions in a report: within itself, and with the files that were opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from parquetry.prune import Report, ScanReport


def contradictions(report: Report, named: Sequence[str], opened: Mapping[str, int]) -> list[str]:
    """Return the contradictions within the report of a query that has run, and with what was seen.

    Args:
        report: the report.
        named: the table of each scan that the query names, with a table for each of its names.
        opened: the number of different files that the run opened, by table.
    """
    return [
        *_counts(report),
        *_scans(report, Counter(named)),
        *_files(report, opened),
        *_broadcasts(report),
        *_conditions(report),
        *_values(report),
        *(["it says that the query has not run"] if report.not_run else []),
    ]


def files_opened(scan: ScanReport) -> int:
    """Return how many files a scan opened, by its report."""
    files = scan.step("files")
    return 0 if files is None else files.kept - scan.counted


def _counts(report: Report) -> Iterator[str]:
    for scan in report.scans:
        before = None
        for step in scan.steps:
            if not 0 <= step.kept <= step.of:
                yield f"{scan.table}: {step.name} {step.kept} of {step.of}"
            if step.whole is not None and not step.kept <= step.whole <= step.of:
                yield f"{scan.table}: {step.kept} bytes of files with {step.whole}, of {step.of}"
            if before == 0 and step.kept and not step.counts_bytes:
                yield f"{scan.table}: {step.name} {step.kept} of nothing"
            before = step.kept
        if files_opened(scan) < 0:
            yield f"{scan.table}: {scan.counted} files not opened, of fewer"
        if scan.not_read and files_opened(scan):
            yield f"{scan.table}: not read, but {files_opened(scan)} files"
        for cut in () if scan.run_time is None else scan.run_time.cuts:
            step = scan.step(cut.name)
            if cut.after > cut.before or (step is not None and step.kept > cut.after):
                yield f"{scan.table}: run time: {cut.name} {cut.before} → {cut.after}, but {step}"


def _scans(report: Report, named: Counter[str]) -> Iterator[str]:
    for table, count in Counter(scan.table for scan in report.scans).items():
        if count > named[table]:
            yield f"{table} is listed {count} times, and named {named[table]} times"
    for table in named:
        if not any(scan.table == table for scan in report.scans):
            yield f"{table} is not listed"


def _files(report: Report, opened: Mapping[str, int]) -> Iterator[str]:
    for table in {scan.table for scan in report.scans} | opened.keys():
        counts = [files_opened(scan) for scan in report.scans if scan.table == table]
        # several scans of a table may open the same files
        if not max(counts, default=0) <= opened.get(table, 0) <= sum(counts):
            yield f"{table}: {opened.get(table, 0)} files were opened, and the report says {counts}"


def _broadcasts(report: Report) -> Iterator[str]:
    broadcast = {
        name
        for join in report.joins
        for name in (join.left, join.right)
        if f"{name} is broadcast" in join.reason
    }
    for values in report.values:
        if "was not broadcast" in values.reason and values.build in broadcast:
            yield f"{values.build} is broadcast, and not: {values}"
        if values.shared and values.how == "shared" and not broadcast & {values.build}:
            yield f"{values.build} gives values by a broadcast that no join has: {values}"


def _conditions(report: Report) -> Iterator[str]:
    for scan in report.scans:
        for step in scan.steps:
            used = [text for text, _ in step.causes()]
            for text, count in Counter(used).items():
                if count > 1 and not step.counts_bytes:
                    yield f"{scan.table}: {text} is named {count} times"
            for note in step.not_by:
                if note.condition in used:
                    yield f"{scan.table}: {note.condition} pruned {step.name}, and not"


def _values(report: Report) -> Iterator[str]:
    """Yield lines about run-time values that the lines of scans do not bear out."""
    for table in {scan.table for scan in report.scans}:
        scans = [scan for scan in report.scans if scan.table == table]
        lines = [each for each in report.values if each.table == table]
        arrived = [each for each in lines if each.how not in ("refused", "known", "enough", "replaced")]
        if arrived and all(scan.not_read for scan in scans):
            yield f"{table} is not read, but gets values: {arrived[0]}"
        if len(scans) != 1 or scans[0].not_read:
            continue
        causes = [text for step in scans[0].steps for text, origin in step.causes() if origin == "join"]
        notes = [each.condition for step in scans[0].steps for each in step.not_by if each.origin == "join"]
        for line in arrived:
            about = f"{line.column} "
            if line.reason and any(text.startswith(about) for text in causes):
                yield f"{line}, but the scan says {causes}"
            if (
                not line.reason
                and any(text.startswith(about) for text in notes)
                and not any(text.startswith(about) for text in causes)
            ):
                yield f"{line}, but the scan says that nothing is left out: {notes}"
            if not line.reason and line.values is not None and scans[0].run_time is None:
                yield f"{line}, but the scan has none"
