"""The outcomes as one HTML page that needs nothing beside itself: shares are bars, in light or dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from msgspec.structs import replace

from demo.queries import Outcome, bare_name
from demo.summary import files_text, read_bytes, shuffles_text
from parquetry.prune.report.scan import ScanReport, Step
from parquetry.prune.report.text import amount, condition_text, reason_text
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.partitions import PartitionRule
from parquetry.texts import size_text

_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def page(outcomes: Sequence[Outcome], sizes: Mapping[str, int], scale: float) -> str:
    """Return the page.

    Args:
        outcomes: in the order they are shown.
        sizes: bytes of each partitioned table, by its full name.
        scale: TPC-DS's scale factor.
    """
    title = f"What Parquetry read: TPC-DS at scale {scale:g}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        '<p class="soft">Every answer was compared with plain Spark\'s over the same rows. '
        "Bytes are those of the columns read, by the statistics of the files that were kept; opened are whole files. Plain Spark "
        "reads the same files, which it has listed before (where directories lie within partitions, which it does not "
        "understand, the raw rows), and runs second, when all of them have been read once.</p>\n"
        f"{_totals(outcomes, sizes)}\n"
        f"{''.join(_article(outcome, sizes) for outcome in outcomes)}</body></html>\n"
    )


def _totals(outcomes: Sequence[Outcome], sizes: Mapping[str, int]) -> str:
    scans = [scan for outcome in outcomes for scan in outcome.limited]
    partitions = [step for scan in scans if (step := scan.step(PartitionRule.name)) is not None]
    read, whole = sum(map(read_bytes, scans)), sum(sizes[scan.table] for scan in scans)
    right = sum(not outcome.faults for outcome in outcomes)
    share = f"{100 * read / whole:.1f} %" if whole else "nothing"
    boxes = (
        (f"{right} of {len(outcomes)}", "answers right, reading no more than they had to"),
        (share, f"of the large tables' bytes: {size_text(read)} of {size_text(whole)}"),
        (
            f"{sum(step.kept for step in partitions):,}",
            f"{PartitionRule.kept_text}, of {sum(step.of for step in partitions):,} in all scans",
        ),
    )
    cells = "".join(
        f"<div><b>{number}</b><span class=soft>{escape(text)}</span></div>" for number, text in boxes
    )
    return f'<section class="totals">{cells}</section>'


def _article(outcome: Outcome, sizes: Mapping[str, int]) -> str:
    verdict = (
        '<span class="verdict wrong">✗ wrong</span>'
        if outcome.faults
        else f'<span class="verdict">✓ {_counted(outcome.rows, "row")}, as plain Spark</span>'
    )
    faults = "".join(f'<p class="fault">{escape(fault)}</p>' for fault in outcome.faults)
    limited = outcome.limited
    others = [scan for scan in outcome.report.scans if scan not in limited]
    beside = (
        f"<details><summary>{_counted(len(others), 'small table')}</summary>"
        f"{''.join(_scan(scan) for scan in others)}</details>"
        if others
        else ""
    )
    return (
        f'<article><header class="query"><h2>{escape(outcome.query.name)}</h2>'
        f'<span class="soft">{escape(outcome.query.asks)}</span>{verdict}</header>'
        f'{faults}<p class="soft">{escape(files_text(outcome))}</p>{_shuffles(outcome)}'
        f"{''.join(_scan(scan, sizes.get(scan.table)) for scan in limited)}{beside}"
        f"<details><summary>SQL</summary><pre>{escape(outcome.query.sql)}</pre></details></article>\n"
    )


def _shuffles(outcome: Outcome) -> str:
    if outcome.query.shuffles is None:
        return ""
    told = "; ".join([*map(str, outcome.report.joins), shuffles_text(outcome.shuffles)])
    return f'<p class="soft">{escape(told)}</p>'


def _scan(scan: ScanReport, size: int | None = None) -> str:
    """Return a scan's steps; with the size of its whole table, the bytes are a share of that."""
    steps = "".join(
        _step(step if size is None or not step.counts_bytes else _of(step, size))
        for step in scan.steps
        if step.kept < step.of or step.name != FileRule.name  # one file a partition: nothing new to draw
    )
    notes = "".join(
        f"<li>not by <code>{escape(condition_text(note.condition, note.origin))}</code>: {escape(note.reason)}</li>"
        for note in scan.unused()
    )
    listed = f'<ul class="soft">{notes}</ul>' if notes else ""
    return f'<section class="scan"><h3>{escape(bare_name(scan.table))}</h3>{steps}{listed}</section>'


def _of(step: Step, size: int) -> Step:
    return replace(step, of=size)


def _step(step: Step) -> str:
    share = 100 * step.kept / step.of if step.of else 0.0
    width = max(share, 0.6) if step.kept else 0.0  # something is never drawn as nothing
    why = reason_text(step)
    return (
        f'<div class="step"><span>{escape(step.name)}</span>'
        f'<span class="track" role="img" aria-label="{share:.1f} %" title="{share:.1f} %">'
        f'<i style="width:{width:.2f}%"></i></span>'
        f'<span class="number">{amount(step, step.kept)} of {amount(step, step.of)}</span>'
        f'<span class="why soft" title="{escape(why)}"><code>{escape(why)}</code></span></div>'
    )


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
