"""The record of a step of `erase`."""

from __future__ import annotations

from dataclasses import dataclass

DONE, NOTHING, PLANNED, NOT_REACHED = "done", "nothing", "planned", "not reached"


@dataclass(frozen=True, slots=True)
class Erased:
    """One step of `erase`, or one place that it cannot reach.

    Attributes:
        step: the rows, versions, files, logs or the place.
        outcome: ``done``; ``nothing``, as there was nothing to do; ``planned`` in a dry run; or ``not
            reached``.
        count: the number of rows, versions or files.
        bytes: the size of files.
        detail: more about it, or what to do about a place that was not reached.
    """

    step: str
    outcome: str
    count: int | None = None
    bytes: int | None = None
    detail: str | None = None


def step(
    name: str, count: int | None, size: int | None = None, detail: str | None = None, *, planned: bool = False
) -> Erased:
    """Return the record of a step that is done, or planned, by its count; None if that is not known."""
    outcome = NOTHING if count == 0 else PLANNED if planned else DONE
    return Erased(name, outcome, count, size, detail)
