"""`branch`, `publish_branch`, `drop_branch` and `branches`: lines of versions beside a table's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from parquetry import metastore as ms
from parquetry.operations.operation import Context, Option, Presentation, TableName, Timestamp, operation
from parquetry.operations.past.tags import TableTag, table_tags


class BranchRow(NamedTuple):
    """A branch of a table.

    `version` is its newest version, and `begins` the table's version that it began with.
    """

    name: str
    version: int
    begins: int
    created_at: Timestamp


class PublishedRow(NamedTuple):
    """A branch that was published, and the table's versions before and after the commit."""

    name: str
    version_before: int
    version_after: int
    operation: str
    rows_added: int | None
    rows_removed: int | None
    files_added: int | None
    files_removed: int | None


def table_refs(snapshot: ms.TableSnapshot) -> Iterator[TableTag]:
    """Yield the tags and the branches of a table, by name; the type tells which, as in Iceberg's `refs`."""
    branches = (
        TableTag(each.name, "BRANCH", each.version, Timestamp(each.created_at * 1000))
        for each in ms.branches_of(snapshot)
    )
    return iter(sorted([*table_tags(snapshot), *branches]))


def _row(branch: ms.TableBranch) -> BranchRow:
    return BranchRow(branch.name, branch.version, branch.begins, Timestamp(branch.created_at * 1000))


_TABLE = {"name": "branch", "version": "version", "begins": "begins with", "created_at": "created at (UTC)"}


@operation(
    "Lists the branches of a table.",
    command=Presentation("Look at tables", "branches sales.orders", _TABLE, empty="no branches"),
)
def branches(context: Context, table: TableName) -> Iterator[BranchRow]:
    """List the branches of a table.

    VERSION AS OF reads a branch by its name. The metadata table `refs` has branches and tags.
    """
    return map(_row, ms.branches_of(context.find(table)))


BranchName = Annotated[
    str, "The branch, such as audit.", Option("The branch, such as audit.", "BRANCH", positional=True)
]


@operation(
    "Makes a branch of a table: writes into it are not seen by the table's readers until it is published.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "branch sales.orders audit",
        sentence=lambda _, made, __: (
            f"{made[0].name} is now a branch that begins with version {made[0].begins}."
        ),
    ),
)
def branch(
    context: Context,
    table: TableName,
    name: BranchName,
    version: Annotated[
        int | None,
        "The version that it begins with; the default is the newest.",
        Option("The version that it begins with; the default is the newest.", "VERSION", positional=True),
    ] = None,
) -> list[BranchRow]:
    """Make a branch of a table.

    It begins with a version of the table, which vacuum keeps until the branch ends. No file is copied.
    """
    current = context.find(table)
    if version is not None:
        current = context.metastore.table(current.database, current.name, version=version)
    return [_row(ms.create_branch(current, name))]


@operation(
    "Publishes a branch: its changes become one version of the table, and the branch ends.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "publish-branch sales.orders audit",
        sentence=lambda _, done, __: (
            f"{done[0].name} is published as version {done[0].version_after}."
            if done[0].version_after != done[0].version_before
            else f"{done[0].name} has changed nothing, and is no more."
        ),
    ),
)
def publish_branch(context: Context, table: TableName, name: BranchName) -> list[PublishedRow]:
    """Publish a branch.

    It conflicts with what others have changed in the same partitions since the branch began; appends do not.
    """
    done = ms.publish_branch(context.find(table), name)
    changes = done.after.commit.changes if done.after.version != done.before.version else None
    counts = ms.ChangeCounts() if changes is None else changes
    return [
        PublishedRow(
            done.branch.name,
            done.before.version,
            context.cache(done.after).version,
            done.after.operation,
            counts.rows_added,
            counts.rows_removed,
            counts.files_added,
            counts.files_removed,
        )
    ]


@operation(
    "Drops a branch: the next vacuum of the table deletes the files that only the branch has.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "drop-branch sales.orders audit",
        sentence=lambda _, dropped, __: f"{dropped[0].name} is no longer a branch.",
    ),
)
def drop_branch(context: Context, table: TableName, name: BranchName) -> list[BranchRow]:
    """Drop a branch.

    Its files stay until a vacuum of the table takes them.
    """
    return [_row(ms.drop_branch(context.find(table), name))]
