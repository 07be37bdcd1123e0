"""Who made a version, by what, and how much it changed: what the history answers besides the totals.

The author of a commit is what the door says for the time of its work (`author_of_commits`): the bridge for a
statement of Spark's, the command line for a command. Plain Python programs say nothing, and are recorded as
the process that they are.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from operator import add

import msgspec

from parquetry.config import HISTORY_STATEMENTS, settle

MAX_STATEMENT_CHARACTERS = 200
"""Characters of a statement that a version records: they tell which one it was. The head has them, too."""
MAX_NAME_CHARACTERS = 200
"""Characters of the name of a user or of an application: users choose both."""


class Author(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who and what made a version.

    Attributes:
        user: the name of the user, or None if the machine has none for it.
        door: how the statement came: ``sql``, ``dataframe``, ``connect``, ``thrift``, ``spark-sql``, ``cli``
            or ``python``.
        application: the application's id, such as Spark's.
        application_name: the application's name; of a Python program its file.
        statement: the beginning of the statement's text.
    """

    user: str | None = None
    door: str | None = None
    application: str | None = None
    application_name: str | None = None
    statement: str | None = None


class ChangeCounts(msgspec.Struct, frozen=True, array_like=True):
    """How much a version changed.

    A file that is rewritten counts as removed, and its successors as added. So do its rows.

    Attributes:
        partitions_added: partitions that there were not before.
        partitions_removed: partitions that there are no more.
        partitions_replaced: other partitions that lost some of their files, or all of them.
        files_added: data files that the version lists and the one before did not.
        files_removed: data files that the version before listed and this one does not.
        bytes_added: size of the added files.
        bytes_removed: size of the removed files.
        known_rows_added: rows of the added files whose number is known.
        known_rows_removed: rows of the removed files whose number is known.
        uncounted_added: added files, or lists of files, whose number of rows is not known.
        uncounted_removed: removed ones.
    """

    partitions_added: int = 0
    partitions_removed: int = 0
    partitions_replaced: int = 0
    files_added: int = 0
    files_removed: int = 0
    bytes_added: int = 0
    bytes_removed: int = 0
    known_rows_added: int = 0
    known_rows_removed: int = 0
    uncounted_added: int = 0
    uncounted_removed: int = 0

    @property
    def rows_added(self) -> int | None:
        """Return the rows of the added files, or None if one file's number is not known."""
        return None if self.uncounted_added else self.known_rows_added

    @property
    def rows_removed(self) -> int | None:
        """Return the rows of the removed files, or None if one file's number is not known."""
        return None if self.uncounted_removed else self.known_rows_removed

    def __add__(self, other: ChangeCounts) -> ChangeCounts:
        return ChangeCounts(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """The author and the counts that a version records.

    Attributes:
        author: who and what made it.
        changes: how much it changed.
    """

    author: Author
    changes: ChangeCounts


@dataclass(frozen=True, slots=True)
class Door:
    """The present work of a door: its author, and the settings of its session.

    Attributes:
        author: who and what works, with the whole statement.
        settings: the session's settings.
    """

    author: Author
    settings: Mapping[str, str] = field(default_factory=dict)


_DOOR: ContextVar[Door | None] = ContextVar("door", default=None)


@contextlib.contextmanager
def author_of_commits(door: Door) -> Iterator[None]:
    """Record this author with the commits of a block."""
    token = _DOOR.set(door)
    try:
        yield
    finally:
        _DOOR.reset(token)


def current_author(properties: Mapping[str, str]) -> Author:
    """Return the author to record with a commit that is made now.

    Args:
        properties: the table's, which may say that no statement is recorded.
    """
    door = _DOOR.get() or Door(_this_process())
    author = door.author
    statement = author.statement
    if statement and not settle(session=door.settings, properties=properties)[HISTORY_STATEMENTS]:
        statement = None
    return Author(
        user=_shorten(author.user, MAX_NAME_CHARACTERS),
        door=author.door,
        application=_shorten(author.application, MAX_NAME_CHARACTERS),
        application_name=_shorten(author.application_name, MAX_NAME_CHARACTERS),
        statement=_shorten(statement, MAX_STATEMENT_CHARACTERS),
    )


def user_name() -> str | None:
    """Return the user of this process, or None if the machine has no name for it, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def _this_process() -> Author:
    return Author(user_name(), "python", application_name=os.path.basename(sys.argv[0]) or None)


def _shorten(text: str | None, length: int) -> str | None:
    """Return the beginning of a text, or None for an empty one.

    >>> _shorten("  SELECT 1", 6), _shorten("", 6)
    ('SELECT', None)
    """
    return (text or "").strip()[:length] or None
