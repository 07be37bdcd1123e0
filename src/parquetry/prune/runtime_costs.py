"""What values that a join finds at run time cost, beside what they may leave out."""

from __future__ import annotations

from collections.abc import Callable

from parquetry.prune.cost_model import LIMITS
from parquetry.prune.runtime import Candidate, Verdict
from parquetry.prune.selected_rows import Spread
from parquetry.texts import size_text


def of_cost(candidate: Candidate, limit: int) -> Verdict:
    """Say whether the values are worth what they cost."""
    build = candidate.build
    if candidate.serves_itself:
        if build.size is not None and build.size > limit * LIMITS.broadcast_factor:
            return Verdict(
                "refused", f"{build.name} has {size_text(build.size)}, too much for a list of values"
            )
        return Verdict("shared" if _too_dear(candidate, limit) else "collected")
    reason = _too_dear(candidate, limit)
    if reason is None:
        return Verdict("collected")
    if candidate.form == "ranges":
        return Verdict("refused", f"{build.name} is asked for the ends of a range, and {reason}")
    why = "is of another type" if candidate.shared else "is not broadcast"
    if candidate.outside:
        why = "is broadcast with values of other joins, which makes it another broadcast"
    return Verdict("refused", f"{build.name} {why}, and {reason}")


def _too_dear(candidate: Candidate, limit: int) -> str | None:
    """Say why a side is not to run once more for its values."""
    build = candidate.build
    if build.unrepeatable is not None:
        return f"{build.unrepeatable} may give other rows when it runs again"
    if build.cost is None:
        return "its size is not known"
    if build.cost > limit:
        return f"has {size_text(build.cost)}, more than runtime-pruning-max-build-size ({size_text(limit)})"
    if candidate.bytes is not None:
        gain = candidate.bytes + (candidate.files_left or 0) * LIMITS.file_opening_bytes
        if (build.cost + build.files * LIMITS.file_opening_bytes) * LIMITS.second_run_gain > gain:
            return (
                f"reading its {size_text(build.cost)} again is not worth it for {size_text(candidate.bytes)} of "
                f"{candidate.table}"
            )
    return None


def unless_all_over(
    candidate: Candidate,
    verdict: Verdict,
    spread: Callable[[], Spread | None],
    nearly_all: Callable[[], int | None],
) -> Verdict:
    """Return a verdict, unless every file is likely to hold one of so many values."""
    if not verdict.used or candidate.form not in ("column", "widened"):
        return verdict
    table = candidate.table
    if candidate.serves_itself:
        values = nearly_all() if candidate.build.whole else None
        if values is None:
            return verdict
        return Verdict(
            "refused", f"its {values:,} values are nearly all that there are, and files of {table} hold some"
        )
    rows = candidate.build.rows
    if verdict.how != "collected" or rows is None:
        return verdict
    found = spread()
    if found is None or found.of_file < LIMITS.scattered_span:
        return verdict
    if rows <= (
        found.numbers if found.laid_out else min(LIMITS.scattered_rows, found.numbers / LIMITS.sparse_numbers)
    ):
        return verdict
    return Verdict(
        "refused", f"its values are of about {rows:,} rows, and those of a file of {table} lie all over"
    )
