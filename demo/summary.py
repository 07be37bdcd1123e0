"""The outcomes as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from demo.queries import Outcome, Shuffles, bare_name
from parquetry.prune.report.scan import ScanReport, Step
from parquetry.prune.report.text import reason_text
from parquetry.prune.rules.bytes import BytesRule
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.partitions import PartitionRule
from parquetry.texts import size_text

_WIDTH = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"


def summary(outcomes: Sequence[Outcome], sizes: Mapping[str, int], *, wide: bool) -> Table:
    """Return the table: for each query what was read of the large tables, why, and if the answer is right.

    Args:
        outcomes: in the order of the rows.
        sizes: bytes of each large table, by its full name.
        wide: whether there is room for the conditions.
    """
    table = Table(title="What was read of the large tables", title_justify="left", box=None, pad_edge=False)
    table.add_column("query", no_wrap=True, style="bold")
    table.add_column("table", no_wrap=True)
    table.add_column(PartitionRule.name, justify="right", no_wrap=True)
    table.add_column(BytesRule.name, no_wrap=True, width=_WIDTH)
    table.add_column("", justify="right", no_wrap=True)
    if wide:
        table.add_column("s", justify="right", no_wrap=True)
        table.add_column("plain Spark", justify="right", no_wrap=True)
        table.add_column("because of", no_wrap=True, overflow="ellipsis")
    table.add_column("answer", no_wrap=True)
    for outcome in outcomes:
        answer = Text("✗", "bold red") if outcome.faults else Text(f"✓ {outcome.rows:,}", "green")
        for number, scan in enumerate(outcome.limited):
            first = number == 0
            total = sizes[scan.table]
            table.add_row(
                outcome.query.name if first else "",
                bare_name(scan.table),
                _partitions(scan),
                bar(read_bytes(scan), total),
                f"{size_text(read_bytes(scan))} of {size_text(total)}",
                *(_beside(outcome, scan, first=first) if wide else ()),
                answer if first else "",
            )
    return table


def _beside(outcome: Outcome, scan: ScanReport, *, first: bool) -> tuple[Text, Text, Text]:
    """Return how long a query took, what plain Spark read for it, and what the scan went by."""
    seconds, plain = (f"{outcome.seconds:.1f}", plain_text(outcome)) if first else ("", "")
    return Text(seconds), Text(plain), Text(reason(scan), "dim")


def read_bytes(scan: ScanReport) -> int:
    """Return the bytes of the columns that a scan read."""
    step = scan.step(BytesRule.name)
    return step.kept if step is not None else 0


def reason(scan: ScanReport) -> str:
    """Return what a scan went by."""
    return "; ".join(reason_text(step) for step in scan.steps if step.by and not step.counts_bytes)


def plain_text(outcome: Outcome) -> str:
    """Say what plain Spark read of the same tables."""
    files, size, seconds = outcome.plain
    return f"{files:,} files, {size_text(size)}, {seconds:.1f} s"


def files_text(outcome: Outcome) -> str:
    """Say what was opened of the large tables, through Parquetry and through plain Spark."""
    steps = [(scan.step(FileRule.name), scan.step(BytesRule.name)) for scan in outcome.limited]
    files = sum(step.kept for step, _ in steps if step is not None)
    size = sum(step.of for _, step in steps if step is not None)
    return f"opened: {files:,} files, {size_text(size)}, {outcome.seconds:.1f} s (plain Spark: {plain_text(outcome)})"


def shuffles_text(shuffles: Shuffles) -> str:
    """Say how often rows were shuffled.

    >>> shuffles_text(Shuffles(0, 2))
    'rows shuffled by a hash 0 times (plain Spark: 2 times)'
    """
    return f"rows shuffled by a hash {_times(shuffles.ours)} (plain Spark: {_times(shuffles.plain)})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def bar(part: int, whole: int) -> Text:
    """Return a share as a bar; something is never drawn as nothing."""
    eighths = round(8 * _WIDTH * part / whole) if whole else 0
    full, rest = divmod(max(eighths, 1) if part else 0, 8)
    drawn = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text(drawn.ljust(_WIDTH, "·"), "cyan")


def _partitions(scan: ScanReport) -> str:
    step: Step | None = scan.step(PartitionRule.name)
    return f"{step.kept:,} of {step.of:,}" if step is not None else ""
