"""Whether the values of a join's build side are worth what they cost.

A broadcast has them at hand. Another side has to run once more for them, which pays if it is small beside what they may leave out.
Some sides are expensive to read in full and cheap once other run-time filters apply to them:

    catalog_sales JOIN date_dim ON cs_sold_date_sk = d_date_sk LEFT JOIN catalog_returns ON cs_order_number = cr_order_number

To read all sales a second time for their order numbers would not pay for what these leave out of the returns. Two months of them are read
sooner: that many days satisfy the conditions on `date_dim`, by an estimate (`estimates`), of 1,830 that the sales have partitions for.

Where the numbers grow with the days, nothing need be read at all: the least and the greatest of those two months stand in the statistics of
their files, and no return with another number is of use (`key_range_part`).

What is left is an estimate, and a fact's values are many. So it must be far less than what they may save, files to open and all, and no
more bytes than the scan has; and they must be of a column of which files hold narrow ranges: values from all over would leave out nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parquetry.prune.runtime.candidates import Build, Candidate, Verdict
from parquetry.prune.runtime.cost_model import LIMITS
from parquetry.prune.runtime.estimates import KeyFiles, Spread
from parquetry.texts import size_text

SpreadOf = Callable[[int], Spread | None]
"""How far the values of a column lie apart, for a candidate by its place; None: it is not known."""
KeyFilesOf = Callable[[int], KeyFiles | None]
"""How the values lie in the files that a candidate's key comes from, by its place; None: it is not known."""


def cost_verdict(candidate: Candidate, limit: int) -> Verdict:
    """Say whether the values are worth what they cost."""
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
    """Say why a side is not to run once more for its values."""
    build = candidate.build
    if build.unrepeatable is not None:
        return f"{build.unrepeatable} may give other rows when it runs again"
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
    """Return a verdict, unless every file is likely to hold one of so many values."""
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
    """Return whether a side is worth running once more because of what other values leave of it.

    Args:
        candidates: all of a query.
        verdicts: what is to become of them as things stand.
        position: of the candidate in question.
        limit: how many bytes a side may have that runs only for its values.
        spread: of the column in the files.
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
    """Return of which part of the files with a key these need to tell its least and its greatest value.

    None: that is not likely to leave out files of a scan.

    Args:
        candidates: all of a query.
        verdicts: what is to become of them as things stand.
        position: of the candidate in question.
        spread: of the column in the files of the scan.
        key_files: how the key lies in the files that it comes from.
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
    """Return which part of a scan's partitions is likely to be left by values that are taken.

    Args:
        candidates: all of a query.
        verdicts: what is to become of them.
        scan: its number.
        within: the side that is run once more, in which only values count that reach it there; None: the query itself.
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
    """Return whether values come to a scan also where it is read for another's values: a broadcast's do if the join is there."""
    scans = {part.scan for part in one.build.parts}
    if verdict.how in ("shared", "spark"):
        return scans <= {part.scan for part in within.parts}
    return not any(
        other.scan in scans and column_spread.used
        for other, column_spread in zip(candidates, verdicts, strict=True)
    )
