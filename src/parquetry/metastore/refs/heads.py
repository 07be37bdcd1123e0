"""Tags and branches in the heads of tables."""

from __future__ import annotations

import msgspec

from parquetry.errors import CommitConflictError, TableNotFoundError, VersionNotFoundError
from parquetry.metastore.storage.head import Branch, Head, read_head
from parquetry.store import Store

_NAMED = 5
"""Tags or branches that a message lists."""


def tagged_version(head: Head, name: str) -> int:
    """Return the number of the version that has a tag.

    Raises:
        VersionNotFoundError: no version has it.
    """
    tag = head.tags.get(name)
    if tag is None:
        some = sorted(head.tags)[:_NAMED]
        known = f"its tags are {', '.join(map(repr, some))}" if some else "it has no tags"
        if head.branches:
            known += f", and its branches are {', '.join(map(repr, sorted(head.branches)[:_NAMED]))}"
        more = ", …" if len(some) < len(head.tags) else ""
        raise VersionNotFoundError(
            f"Table {head.database}.{head.name} has no version of tag {name!r}; {known}{more}. CALL system.tags lists "
            "them, and CALL system.history the versions."
        )
    return tag.version


def branch_in(head: Head, name: str) -> Branch:
    """Return a table's branch of a name, which is in lower case.

    Raises:
        TableNotFoundError: the table has none of this name.
    """
    branch = head.branches.get(name)
    if branch is None:
        some = sorted(head.branches)[:_NAMED]
        known = f"its branches are {', '.join(map(repr, some))}" if some else "it has no branches"
        more = ", …" if len(some) < len(head.branches) else ""
        raise TableNotFoundError(
            f"Table {head.database}.{head.name} has no branch {name!r}; {known}{more}. CALL system.branch makes one."
        )
    return branch


def without_branch(head: Head, name: str, branch: Branch) -> Head:
    """Return a head without a branch, to publish it.

    Args:
        head: the table's head.
        name: the branch's name.
        branch: its record when its publishing began.

    Raises:
        CommitConflictError: others have published or dropped it, or have begun to publish it since.
    """
    if head.branches.get(name) != branch:
        raise CommitConflictError(
            f"Branch {name!r} of table {head.database}.{head.name} was published or dropped by others meanwhile; nothing "
            "was written."
        )
    others = {other: each for other, each in head.branches.items() if other != name}
    return msgspec.structs.replace(head, branches=others)


def is_living_branch(store: Store, table: bytes, head: Head) -> bool:
    """Return whether the table that a branch is of still names it.

    Args:
        store: store of the metastore.
        table: id of the branch.
        head: its head.
    """
    base = None if head.is_deleted else read_head(store, head.branch_of)
    return (
        base is not None and not base.is_deleted and any(each.id == table for each in base.branches.values())
    )
