"""Decide whether the values of a join's build side are worth their cost.

A broadcast already has the values. Any other build side must run a second time for them. That pays if the
build side is small beside the bytes and files that the values may prune. Some build sides are expensive to
read in full, but inexpensive once other runtime filters apply to them:

    catalog_sales JOIN date_dim ON cs_sold_date_sk = d_date_sk

    LEFT JOIN catalog_returns ON cs_order_number = cr_order_number

Reading all sales a second time for their order numbers costs more than the numbers prune from the returns.
But the conditions on `date_dim` select 61 days by estimate (`estimates`), of 1,830 days with partitions of
sales. Reading these 61 partitions costs little (`affordable`).

If order numbers grow with the days, nothing need be read. The statistics of those partitions' files give the
least and the greatest number, and returns outside of that range have no match (`key_range_part`).

The reduced size is an estimate, and a fact table has many values. So `affordable` is strict: the reduced
build side must cost far less than it may save, counting files to open, and have no more bytes than the scan.
The column must also have narrow ranges in the scan's files, since values from the whole range prune no file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parquetry.joins.runtime.candidates import Build, Candidate, Verdict
from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.joins.runtime.estimates import KeyFiles, Spread
from parquetry.prune import node_words
from parquetry.texts import size_text

SpreadOf = Callable[[int], Spread | None]
"""Returns the value clustering of the column of the candidate at a position, or None if it is not known."""
KeyFilesOf = Callable[[int], KeyFiles | None]
"""Returns the `KeyFiles` of the candidate at a position, or None if they are not known."""


def cost_verdict(candidate: Candidate, limit: int) -> Verdict:
    """Return the verdict on a candidate by the cost of its values."""
    build = candidate.build
    if candidate.serves_itself:
        if build.size is not None and build.size > limit * LIMITS.broadcast_factor:
            return Verdict(
                "refused", f"{build.name} has {size_text(build.size)}, too much for a list of values"
            )
        return Verdict("shared" if _cost_refusal(candidate, limit) else "collected")
    reason = _cost_refusal(candidate, limit)
    if reason is None:
        return Verdict("collected")
    if candidate.form == "ranges":
        return Verdict("refused", f"{build.name} is asked for the ends of a range, and {reason}")
    why = "is of another type" if candidate.shared else "is not broadcast"
    if candidate.outside:
        why = "is broadcast with values of other joins, which makes it another broadcast"
    return Verdict("refused", f"{build.name} {why}, and {reason}")


def _cost_refusal(candidate: Candidate, limit: int) -> str | None:
    """Return why a build side must not run a second time for its values, or None if it may."""
    build = candidate.build
    if build.unrepeatable is not None:
        return f"{node_words(build.unrepeatable)} may give other rows when it runs again"
    if build.cost is None:
        return "its size is not known"
    if build.cost > limit:
        return f"has {size_text(build.cost)}, more than runtime-pruning-max-build-size ({size_text(limit)})"
    if candidate.bytes is not None:
        gain = candidate.bytes + (candidate.remaining_files or 0) * LIMITS.file_opening_bytes
        if (build.cost + build.files * LIMITS.file_opening_bytes) * LIMITS.second_run_gain > gain:
            return (
                f"reading its {size_text(build.cost)} again is not worth it for {size_text(candidate.bytes)} of "
                f"{candidate.table}"
            )
    return None


def refuse_scattered(
    candidate: Candidate,
    verdict: Verdict,
    spread: Callable[[], Spread | None],
    dense_key_count: Callable[[], int | None],
) -> Verdict:
    """Return the verdict, or a refusal if every file is likely to have one of so many values."""
    if not verdict.used or candidate.form not in ("column", "widened"):
        return verdict
    table = candidate.table
    if candidate.serves_itself:
        values = dense_key_count() if candidate.build.whole else None
        if values is None:
            return verdict
        return Verdict(
            "refused", f"its {values:,} values are nearly all that there are, and files of {table} hold some"
        )
    rows = candidate.build.rows
    if verdict.how != "collected" or rows is None:
        return verdict
    column_spread = spread()
    if column_spread is None or column_spread.of_file < LIMITS.scattered_span:
        return verdict
    if rows <= (
        column_spread.numbers
        if column_spread.laid_out
        else min(LIMITS.scattered_rows, column_spread.numbers / LIMITS.sparse_numbers)
    ):
        return verdict
    return Verdict(
        "refused", f"its values are of about {rows:,} rows, and those of a file of {table} lie all over"
    )


def affordable(
    candidates: Sequence[Candidate],
    verdicts: Sequence[Verdict],
    position: int,
    limit: int,
    spread: SpreadOf,
) -> bool:
    """Return whether a build side is worth a second run once other runtime filters reduce it.

    Args:
        candidates: all candidates of a query.
        verdicts: their verdicts so far.
        position: the position of the candidate.
        limit: the most bytes that a build side may read in a second run.
        spread: returns the value clustering of a candidate's column.
    """
    candidate = candidates[position]
    build = candidate.build
    if candidate.bytes is None or build.cost is None or build.unrepeatable is not None or not build.parts:
        return False
    size, files = build.cost, build.files
    for part in build.parts:
        share = _remaining_share(candidates, verdicts, part.scan, build)
        size -= part.bytes - round(part.bytes * share)
        files -= part.files - round(part.files * share)
    if size > limit:
        return False
    saved = (
        candidate.bytes + (candidate.remaining_files or 0) * LIMITS.file_opening_bytes
    ) * _remaining_share(candidates, verdicts, candidate.scan, None)
    if (
        size + files * LIMITS.file_opening_bytes
    ) * LIMITS.reduced_build_gain > saved or size > candidate.bytes:
        return False
    column_spread = spread(position)
    return column_spread is not None and column_spread.of_file <= LIMITS.narrow_span


def key_range_part(
    candidates: Sequence[Candidate],
    verdicts: Sequence[Verdict],
    position: int,
    spread: SpreadOf,
    key_files: KeyFilesOf,
) -> float | None:
    """Return the share of the build side's files whose statistics give the range of its keys.

    It is None if that range is not likely to prune files of the scan.

    Args:
        candidates: all candidates of a query.
        verdicts: their verdicts so far.
        position: the position of the candidate.
        spread: returns the value clustering of a candidate's column in the files of the scan.
        key_files: returns the order of a candidate's keys in the build side's files.
    """
    build = candidates[position].build
    files = None if build.ends_of is None or build.unrepeatable is not None else key_files(position)
    if build.ends_of is None or files is None or not files.in_order:
        return None
    part = files.share * _remaining_share(candidates, verdicts, build.ends_of, build)
    column_spread = spread(position) if part <= LIMITS.key_range_share else None
    return None if column_spread is None or column_spread.of_file > LIMITS.narrow_span else part


def _remaining_share(
    candidates: Sequence[Candidate], verdicts: Sequence[Verdict], scan: int, within: Build | None
) -> float:
    """Return the share of a scan's partitions that is likely to remain after the runtime filters in use.

    Args:
        candidates: all candidates of a query.
        verdicts: their verdicts.
        scan: the number of the scan.
        within: the build side of a second run, where only filters count that arrive there; or None for the
            query itself.
    """
    least = 1.0
    for one, verdict in zip(candidates, verdicts, strict=True):
        if one.scan != scan or not one.held or one.build.rows is None or not verdict.used:
            continue
        if within is not None and not _reach(candidates, verdicts, one, verdict, within):
            continue
        least = min(least, one.build.rows / one.held)
    return least


def _reach(
    candidates: Sequence[Candidate],
    verdicts: Sequence[Verdict],
    one: Candidate,
    verdict: Verdict,
    within: Build,
) -> bool:
    """Return whether a filter also reaches a scan within the second run of a build side.

    A broadcast's values do if the join is part of that build side.
    """
    scans = {part.scan for part in one.build.parts}
    if verdict.how in ("shared", "spark"):
        return scans <= {part.scan for part in within.parts}
    return not any(
        other.scan in scans and column_spread.used
        for other, column_spread in zip(candidates, verdicts, strict=True)
    )
