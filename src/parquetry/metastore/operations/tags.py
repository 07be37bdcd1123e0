"""Tags of versions. A tag is a name that reads the version, and keeps it from vacuum.

Tags are in the table's head, so one compare-and-set decides between a new tag and a vacuum that retires its
version. A tag keeps all later versions, too: the versions of a table that can be read have no gaps.

Each change takes a ticket that no commit gets, as no head returns to an earlier value (`storage.head`).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from parquetry.errors import TableNotFoundError, UnsupportedError, VersionNotFoundError
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.refs.heads import tagged_version
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import TAGGED, require_format
from parquetry.metastore.storage.head import Head, Tag, edit_head, live_head
from parquetry.metastore.transactions.gathering import require_no_draft
from parquetry.metastore.versions.snapshot import TableSnapshot

MAX_TAGS = 1000
"""Tags of one table: each commit writes them again, some 40 bytes each."""
MAX_NAME_CHARACTERS = 255
MAIN = "main"
"""The branch that readers of Iceberg know as the newest version, so no tag has this name."""


@dataclass(frozen=True, slots=True)
class TaggedVersion:
    """A tag of a table.

    Attributes:
        name: the tag.
        version: number of its version.
        created_at: when the tag was made, in milliseconds since the epoch.
    """

    name: str
    version: int
    created_at: int


def tags_of(table: TableSnapshot) -> list[TaggedVersion]:
    """Return the tags of a table, by name.

    Args:
        table: any version of the table.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped meanwhile.")
    return [TaggedVersion(name, tag.version, tag.created_at) for name, tag in sorted(head.tags.items())]


def set_tag(table: TableSnapshot, name: str, version: int, *, replace: bool = False) -> TaggedVersion:
    """Give a version a tag. It is read by this name, and kept by vacuum until the tag is dropped.

    The first tag raises the format of the metastore to 8.

    Args:
        table: any version of the table.
        name: the tag. Reads have to name it in this spelling.
        version: number of the version.
        replace: whether a tag of this name may go from another version to this one.

    Raises:
        UnsupportedError: no tag can have the name; another version has it; or the table has too many tags.
        VersionNotFoundError: there is no such version, or it is no longer kept.
        TableNotFoundError: the table was dropped meanwhile.
    """
    require_no_draft(table, "A tag")
    require_ref_name(table, name, "a tag")
    ownership_of(table.store).require(now=True)
    made = Tag(version, store_now_ms(table.store))

    def change(head: Head) -> Head:
        _require_open(table, head)
        require_format(table.store, TAGGED)
        if not head.oldest <= version <= head.commit.version:
            raise VersionNotFoundError(
                f"Table {table.label} has no version {version} that tag {name!r} could be given to; it has versions "
                f"{head.oldest} to {head.commit.version}."
            )
        if name.lower() in head.branches:
            raise UnsupportedError(
                f"Table {table.label} has a branch {name!r}, so no tag can have this name: choose another one."
            )
        before = head.tags.get(name)
        if before is not None and before.version == version:
            return head
        if before is not None and not replace:
            raise UnsupportedError(
                f"Tag {name!r} of table {table.label} is at version {before.version}: choose another name, or say replace => true "
                "(--replace) to give it to version "
                f"{version}."
            )
        if before is None and len(head.tags) >= MAX_TAGS:
            raise UnsupportedError(
                f"Table {table.label} has {MAX_TAGS} tags already, so it cannot have tag {name!r}: drop some first."
            )
        return msgspec.structs.replace(head, tags={**head.tags, name: made}, next_ticket=head.next_ticket + 1)

    head = edit_head(table.store, table.id, change, lambda head: head.tags.get(name) == made)
    tag = head.tags[name]
    return TaggedVersion(name, tag.version, tag.created_at)


def drop_tag(table: TableSnapshot, name: str) -> TaggedVersion:
    """Take a tag from its version. The next vacuum may retire the version.

    Args:
        table: any version of the table.
        name: the tag.

    Returns:
        The tag as it was.

    Raises:
        VersionNotFoundError: the table has no such tag.
        TableNotFoundError: the table was dropped meanwhile.
    """
    require_no_draft(table, "A tag")
    ownership_of(table.store).require(now=True)
    seen: list[Tag] = []

    def change(head: Head) -> Head:
        _require_open(table, head)
        require_format(table.store, TAGGED)
        tagged_version(head, name)
        seen.append(head.tags[name])
        others = {other: tag for other, tag in head.tags.items() if other != name}
        return msgspec.structs.replace(head, tags=others, next_ticket=head.next_ticket + 1)

    edit_head(table.store, table.id, change, lambda head: name not in head.tags)
    return TaggedVersion(name, seen[-1].version, seen[-1].created_at)


def _require_open(table: TableSnapshot, head: Head) -> None:
    if head.is_deleted:
        raise TableNotFoundError(f"Table {table.label} was {head.state} meanwhile; nothing was changed.")


def require_ref_name(table: TableSnapshot, name: str, what: str) -> None:
    """Make sure that a tag or a branch can have a name.

    Args:
        table: for the message.
        name: the name.
        what: for the message: ``a tag`` or ``a branch``.

    Raises:
        UnsupportedError: it cannot.
    """
    fault = None
    if not name or name != name.strip() or not name.isprintable():
        fault = f"{what} has characters, begins and ends with none that is blank, and has none that cannot be seen"
    elif name.isdigit():
        fault = "a number names the version of this number"
    elif name.lower() == MAIN:
        fault = "it is the newest version for readers of Iceberg"
    elif len(name) > MAX_NAME_CHARACTERS:
        fault = f"{what} has {MAX_NAME_CHARACTERS} characters at most"
    if fault is not None:
        shown = name if len(name) <= MAX_NAME_CHARACTERS else f"{name[:40]}…"
        raise UnsupportedError(
            f"{shown!r} cannot be {what} of table {table.label}: {fault}. Choose another name."
        )
