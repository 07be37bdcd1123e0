"""The outcome of an interleaving. An outcome is allowed if some serial order of the operations has it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from parquetry.errors import (
    CommitConflictError,
    CommitUnknownError,
    FileMissingError,
    ForeignWarehouseError,
    ParquetryError,
)
from parquetry.locations import join_location
from parquetry.metastore import Metastore, TableSnapshot, branches_of
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.refs.heads import is_living_branch
from parquetry.metastore.storage import owner
from parquetry.metastore.storage.head import decode_head
from parquetry.metastore.storage.keyspace import HEADS, NAMES, RESTORING, prefix_range
from parquetry.metastore.vacuuming.vacuum import remove_orphans
from tests.support.interleavings.operations import DONE, NamedOperation, Site
from tests.support.interleavings.steps import SteppedStore
from tests.support.interleavings.world import LAKE, SteppedWorld, Surroundings

CRASHED = "crashed"
CONFLICTS = (
    CommitConflictError.code,
    CommitUnknownError.code,
    FileMissingError.code,
    ForeignWarehouseError.code,
)
"""Errors whose operation has done nothing, or does not know whether it has."""

Content = tuple[tuple[str, tuple[tuple[object, ...], ...]], ...]


class Outcome(NamedTuple):
    """The outcome of an interleaving.

    Attributes:
        answers: to each of the actors.
        content: the databases, with the name, kind, comment and files of each table and view.
    """

    answers: tuple[str, ...]
    content: Content


def run(operation: NamedOperation, site: Site) -> str:
    """Run an operation; return its answer to the user."""
    try:
        return operation.run(site) or DONE
    except ParquetryError as error:
        return error.code


def undisturbed_site(around: Surroundings) -> Site:
    """Return a site whose operation is not interrupted."""
    store = SteppedStore(around.world.store, around.step, around.saw)
    return Site(around.metastore(store), around)


def make(around: Surroundings, operations: Sequence[NamedOperation]) -> SteppedWorld:
    """Return the world after these operations were done, one after the other."""
    around.enter(SteppedWorld())
    around.metastore(around.world.store)
    for number, operation in enumerate(operations):
        around.actor = f"before {number}"
        assert run(operation, undisturbed_site(around)) == DONE, operation.name
    owner._active.clear()
    return around.world


def content(world: SteppedWorld) -> Content:
    """Return what can be seen in a world.

    Raises:
        ParquetryError: a table that is listed cannot be read.
        AssertionError: a file that one lists is gone.
    """
    metastore = Metastore(world.owner(), LAKE)
    found = []
    for database in metastore.databases():
        tables: list[tuple[object, ...]] = []
        for name in metastore.tables(database):
            table = metastore.table(database, name)
            tables.append(("table", name, table.metadata.comment, _files(world, table)))
            for branch in branches_of(table):
                newest = metastore.table(database, name, version=branch.name)
                tables.append(("branch", newest.name, newest.metadata.comment, _files(world, newest)))
        views = [metastore.table(database, name, kind="view") for name in metastore.views(database)]
        tables += [("view", view.name, view.metadata.comment) for view in views]
        found.append((database, tuple(tables)))
    return tuple(found)


def _files(world: SteppedWorld, table: TableSnapshot) -> tuple[tuple[object, str], ...]:
    """Return the partitions and files of a version."""
    tags: list[tuple[object, str]] = []
    for part in table.partitions():
        for file in part.files:
            if join_location(part.location, file.path) not in world.files:
                raise AssertionError(f"{table.label} lists {file.path}, which is gone")
            tags.append((part.values, file.path.rpartition("-")[2]))
    return tuple(sorted(tags, key=repr))


def clean(world: SteppedWorld) -> None:
    """Remove what is left over, as vacuums do."""
    store = Metastore(world.store, LAKE).store
    for _ in range(2):
        remove_orphans(store, FileAccess())


def leftovers(world: SteppedWorld, whole: bool) -> Iterator[str]:
    """Yield what is in a world after vacuums that belongs to no table.

    Args:
        world: after `clean`.
        whole: whether no actor has crashed: then no file of a deleted table is left.
    """
    rows = world.owner()
    if rows.get(RESTORING) is not None:  # a restore that was interrupted is run again
        return
    metastore = Metastore(rows, LAKE)
    there = {
        metastore.table(database, name, kind=None).id
        for database in metastore.databases()
        for name in [*metastore.tables(database), *metastore.views(database)]
    }
    for key, value in metastore.store.scan(*prefix_range(HEADS)):
        head = decode_head(value)
        if key[len(HEADS) :] not in there and not is_living_branch(metastore.store, key[len(HEADS) :], head):
            yield f"a table that is {head.state} and calls itself {head.database}.{head.name}"
    if (names := sum(1 for _ in rows.scan(*prefix_range(NAMES)))) != len(there):
        yield f"{names} rows of names for {len(there)} tables"
    if whole:
        yield from (path for path in sorted(world.files) if not any(id.hex() in path for id in there))
    for database in {key[1:].split(b"\0")[0].decode() for key, _ in rows.scan(*prefix_range(NAMES))}:
        if database not in metastore.databases():
            yield f"a table in {database}, which is gone"


def possible(
    around: Surroundings, initial: SteppedWorld, operations: Sequence[NamedOperation]
) -> dict[Outcome, tuple[int, ...]]:
    """Return the outcomes of all serial orders of any of the operations, with the operations left out."""
    everyone = range(len(operations))
    found: dict[Outcome, tuple[int, ...]] = {}
    for count in everyone:
        for left_out in itertools.combinations(everyone, count):
            for order in itertools.permutations(each for each in everyone if each not in left_out):
                outcome = _serial(around, initial, operations, order)
                found.setdefault(outcome, left_out)
    found.setdefault(_serial(around, initial, operations, ()), tuple(everyone))
    return found


def _serial(
    around: Surroundings, initial: SteppedWorld, operations: Sequence[NamedOperation], order: Iterable[int]
) -> Outcome:
    around.enter(initial.copy())
    owner._active.clear()
    answers = [""] * len(operations)
    for number in order:
        around.actor = f"a{number}"
        answers[number] = run(operations[number], undisturbed_site(around))
    around.actor = "vacuum"
    clean(around.world)
    return Outcome(tuple(answers), content(around.world))


def is_possible(outcome: Outcome, allowed: Iterable[Outcome]) -> bool:
    """Return whether some serial order has this outcome; it may leave out actors that conflict or crash."""
    return any(
        other.content == outcome.content
        and all(
            answers in (wanted, CRASHED) or (wanted == "" and answers in CONFLICTS)
            for answers, wanted in zip(outcome.answers, other.answers, strict=True)
        )
        for other in allowed
    )
