"""Choose the files that are worth sorting anew, and forecast what queries read afterwards.

A file is on the **boundary** of a query if the query opens it, and may need only some of its rows. Where a
query needs all rows of a file, their order does not matter. Where it needs none, it does not open the file.
So only files on boundaries are rewritten. (Research calls it workload-aware incremental reclustering.)

For example, a table has one file for each day, and the queries are `day = 3 AND user = 17` and
`day = 4 AND user = 5`. The files of days 3 and 4 are on boundaries, so they are sorted by user. Others stay.

The bytes that queries read of such files, and would not of sorted ones, have to be more than the bytes to
rewrite. Several sets of files are compared. The files come first that waste most bytes of queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parquetry.adviser.forecast import OPEN_BYTES, REWRITE_FACTOR, Forecaster
from parquetry.adviser.input.sources import FilesKnowledge
from parquetry.adviser.layouts import TableLayout
from parquetry.adviser.study import TableStudy
from parquetry.predicate import Match, match

_SHARES = (1.0, 0.5, 0.25, 0.125)
"""The parts of all files on boundaries that are compared."""


@dataclass(frozen=True, slots=True)
class Resorting:
    """Files to sort anew, and what that does.

    Attributes:
        layout: that their rows get.
        files: their positions in the source.
        bytes: of them.
        bytes_now, bytes_then: that a query of the table reads on average, before and after.
        files_then: that a query opens afterwards.
        spread: how many bytes the forecast may be off.
        saved: the cost that a query saves, at the bad end of the forecast.
    """

    layout: TableLayout
    files: tuple[int, ...]
    bytes: int
    bytes_now: float
    bytes_then: float
    files_then: float
    spread: float
    saved: float

    def net(self, queries: float) -> float:
        """Return the bytes that so many queries save, less the bytes to read and write once."""
        return self.saved * queries - REWRITE_FACTOR * self.bytes

    @property
    def pays_after(self) -> int:
        """Return the number of queries after which it has paid."""
        return int(np.ceil(REWRITE_FACTOR * self.bytes / self.saved))


def plan_resorting(
    study: TableStudy, layout: TableLayout, queries: float, most_bytes: int | None = None
) -> Resorting | None:
    """Return the set of files whose new order saves most, or None if none pays.

    Args:
        study: of the table.
        layout: that the files are to have.
        queries: how many queries have to pay for it.
        most_bytes: of files that may be rewritten.
    """
    best = None
    for files in _sets(study, most_bytes):
        each = _forecast(study, layout, files)
        net = 0.0 if each is None else each.net(queries)
        if each is not None and net > 0 and (best is None or net > best.net(queries)):
            best = each
    return best


def _sets(study: TableStudy, most_bytes: int | None) -> Iterator[NDArray[np.int64]]:
    """Yield sets of files on boundaries, each with the files of the next one."""
    source = study.source
    sizes = source.bytes_of(None)
    waste = _wasted(study) / np.maximum(sizes, 1)
    order = np.argsort(-waste, kind="stable")
    order = order[: int((waste > 0).sum())]
    if most_bytes is not None:
        order = order[np.cumsum(sizes[order]) <= most_bytes]
    before = 0
    for share in _SHARES:
        number = int(np.ceil(len(order) * share))
        if number and number != before:
            yield np.sort(order[:number])
        before = number


def _wasted(study: TableStudy) -> NDArray[np.float64]:
    """Return for each file the bytes that queries read of it, as far as they may need a part of it only."""
    source = study.source
    known = FilesKnowledge(source)
    waste = np.zeros(len(source.files))
    for question, kept in zip(study.questions.questions, study.forecaster.kept_now, strict=True):
        partly = kept & np.asarray(match(question.condition, known) != Match.MUST)
        waste += question.weight * np.where(partly, source.bytes_of(question.columns), 0)
    return waste


def _forecast(study: TableStudy, layout: TableLayout, files: NDArray[np.int64]) -> Resorting | None:
    """Return what sorting some files does, or None if the sample has no row of them."""
    source, questions = study.source, study.questions.questions
    part = replace(source, files=tuple(source.files[index] for index in files.tolist()))
    sample = study.sample.of_files(files, part.rows)
    if not sample.count:
        return None
    then = Forecaster(part, sample, questions, study.other_tables).then(layout)
    total = sum(question.weight for question in questions) or 1.0
    is_chosen = np.zeros(len(source.files), np.bool_)
    is_chosen[files] = True
    whole = before = opened = opened_now = 0.0
    for question, kept in zip(questions, study.forecaster.kept_now, strict=True):
        share, sizes = question.weight / total, source.bytes_of(question.columns)
        whole += share * float(sizes[kept].sum())
        before += share * float(sizes[kept & is_chosen].sum())
        opened += share * float(kept.sum())
        opened_now += share * float((kept & is_chosen).sum())
    less, fewer = before - then.mean("bytes"), opened_now - then.mean("files")
    saved = less + OPEN_BYTES * fewer - then.spread
    return Resorting(
        layout, tuple(files.tolist()), part.bytes, whole, whole - less, opened - fewer, then.spread, saved
    )
