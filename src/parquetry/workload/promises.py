"""Promises beside the truth: what advice said that queries would read, and what they have read since.

The commit that gives a table's files another layout has the promise in its summary. It holds until the next
one: each query of the history names the version that it read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from parquetry import metastore as ms
from parquetry.texts import quantity, size_text
from parquetry.workload.history import stored_reads
from parquetry.workload.model import TableRead

PROMISE_KEY = "promise"
"""The key of a commit's summary."""


class LayoutPromise(msgspec.Struct, frozen=True):
    """A promise: the bytes that a query will read on average.

    Attributes:
        layout: that files get.
        bytes_now, bytes: of the columns that a query reads, before and after.
        spread: how many bytes the promise may be off.
        files: that a query will open.
        columns: of the conditions and joins that it was made for.
    """

    layout: str
    bytes_now: int
    bytes: int
    spread: int = 0
    files: float = 0.0
    columns: tuple[str, ...] = ()

    def to_summary(self) -> dict[str, str]:
        """Return the entry of a commit's summary."""
        return {PROMISE_KEY: msgspec.json.encode(self).decode()}


@dataclass(frozen=True, slots=True)
class GivenPromise:
    """A promise that a version of a table was made with.

    Attributes:
        version: the first one that it is about.
        time: of the commit, in milliseconds since 1970.
        user: who made it; None if unknown.
        promise: the promise.
    """

    version: int
    time: int
    user: str | None
    promise: LayoutPromise


@dataclass(frozen=True, slots=True)
class PromiseBesideTruth:
    """A promise, and what queries have read while it held.

    Attributes:
        given: the promise.
        queries: that have read the table since, with a count of bytes.
        bytes: that they have read on average; None without queries.
    """

    given: GivenPromise
    queries: int = 0
    bytes: int | None = None

    def __str__(self) -> str:
        promise = self.given.promise
        truth = (
            "no query has read it since"
            if self.bytes is None
            else f"read {size_text(self.bytes)} in {quantity(self.queries, 'query', 'queries')} since"
        )
        return (
            f"version {self.given.version}, {promise.layout}: promised {size_text(promise.bytes)} ± "
            f"{size_text(promise.spread)} per query ({size_text(promise.bytes_now)} before), {truth}"
        )


PromiseEpochs = Sequence[tuple[int, GivenPromise | None]]
"""From each of these versions on, what is promised; the oldest first."""


def promise_epochs(snapshot: ms.TableSnapshot) -> PromiseEpochs:
    """Return the promises of a table, each with the first version that it holds for.

    A rollback brings back what was promised then. A promise that cannot be read is left out.
    """
    epochs: list[tuple[int, GivenPromise | None]] = []
    for commit in reversed(list(ms.history(snapshot))):
        if commit.operation == "rollback":
            epochs.append((commit.version, promise_of(epochs, int(commit.summary["to_version"]))))
        if (text := commit.summary.get(PROMISE_KEY)) is not None:
            with contextlib.suppress(msgspec.ValidationError):
                promise = msgspec.json.decode(text, type=LayoutPromise)
                given = GivenPromise(commit.version, commit.time, commit.author.user, promise)
                epochs.append((commit.version, given))
    return epochs


def promise_of(epochs: PromiseEpochs, version: int | None) -> GivenPromise | None:
    """Return the promise that holds for a version that a query has read, or None."""
    if version is None:
        return None
    return next((given for first, given in reversed(epochs) if first <= version), None)


def beside_truth(epochs: PromiseEpochs, reads: Iterable[TableRead]) -> list[PromiseBesideTruth]:
    """Return promises beside what queries have read while they held, the newest first.

    Args:
        epochs: of a table's promises.
        reads: of the table.
    """
    promises = {given.version: given for _, given in epochs if given is not None}
    sizes: dict[int, list[int]] = {version: [] for version in promises}
    for read in reads:
        given = promise_of(epochs, read.version)
        if given is not None and read.bytes is not None:
            sizes[given.version].append(read.bytes.read)
    return [
        PromiseBesideTruth(given, len(some), round(sum(some) / len(some)) if some else None)
        for version, given in sorted(promises.items(), reverse=True)
        for some in (sizes[version],)
    ]


def kept_promises(
    metastore: ms.Metastore, snapshot: ms.TableSnapshot, *, limit: int | None = None
) -> list[PromiseBesideTruth]:
    """Return a table's promises beside the truth, by the history of queries, the newest first.

    Args:
        metastore: of the warehouse.
        snapshot: of the table.
        limit: how many queries to look at, at most, the newest first.
    """
    epochs = promise_epochs(snapshot)
    if not epochs:
        return []
    reads = (read for _, _, read in stored_reads(metastore.store, snapshot.id))
    return beside_truth(epochs, islice(reads, limit))
