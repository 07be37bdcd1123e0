"""The expected content of a table: a list of versions, each a dict of partitions.

The model knows nothing of tickets, rows or stores. It says what a commit makes of the newest version, or why
it cannot be made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from parquetry.metastore import Transaction

Key = tuple[int | None, str | None]
KEYS: list[Key] = [(None, "a"), (-1, "a"), (1, None), (1, "a"), (1, "b"), (2, "\x00"), (2, "é")]

THEIRS = "theirs-"
"""The beginning of the names of foreign files."""

Refusal = Literal["not so in its base", "conflict", "nothing to do"]


@dataclass(frozen=True)
class State:
    """A partition: its files, and the number of the version that changed it last."""

    files: tuple[str, ...]
    changed: int


@dataclass(frozen=True)
class ModelVersion:
    """A version of the table.

    Attributes:
        partitions: by their values.
        comment: stands for all metadata.
        altered: the number of the version that changed the metadata last.
        operation: that made it; different for each.
        taken_out: others' files that a version took out on purpose.
    """

    partitions: dict[Key, State]
    comment: str
    altered: int
    operation: str
    taken_out: frozenset[str] = frozenset()


@dataclass
class Pending:
    """A transaction, and what it is expected to do.

    Attributes:
        transaction: of the metastore.
        base: number of the version that it is based on.
        operation: its name.
        changes: the kind of change of each partition, and the files it is about.
        scopes: the days that are replaced as a whole, or None for all.
        comment: to be set, or None.
        target: the version to go back to, or None.
    """

    transaction: Transaction
    base: int
    operation: str
    changes: dict[Key, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    scopes: list[int | None] = field(default_factory=list)
    comment: str | None = None
    target: int | None = None

    def can_change(self, key: Key) -> bool:
        """Return whether a partition is not renamed in the same transaction."""
        kind, files = self.changes.get(key, ("append", ()))
        return kind != "move" and (kind, files) != ("drop", ("moved",))


class Model:
    """All versions that were ever made, and which is the oldest that can be read."""

    def __init__(self) -> None:
        self.versions = [ModelVersion({}, "", 0, "create")]
        self.oldest = 0

    @property
    def newest(self) -> ModelVersion:
        """Return the newest version."""
        return self.versions[-1]

    @property
    def number(self) -> int:
        """Return the number of the newest version."""
        return len(self.versions) - 1

    def predict(self, pending: Pending) -> ModelVersion | Refusal:
        """Return the version that a commit makes now, or why it makes none."""
        base, now = self.versions[pending.base], self.newest
        changes, scopes = self._all_changes(pending)
        for key, (kind, _) in changes.items():
            if kind == "drop" and key not in base.partitions:
                return "not so in its base"
            if kind in ("add", "move") and key in base.partitions:
                return "not so in its base"
        alters = pending.comment is not None and pending.comment != base.comment
        back = None if pending.target is None else self.versions[pending.target].taken_out
        if not changes and not alters and back in (None, base.taken_out):
            return "nothing to do"
        strict = {key for key, (kind, _) in changes.items() if kind != "append"}.union(*scopes)
        if any(base.partitions.get(key) != now.partitions.get(key) for key in strict):
            return "conflict"
        if alters and base.altered != now.altered:
            return "conflict"
        number = len(self.versions)
        after = dict(now.partitions)
        for key, (kind, files) in changes.items():
            if kind == "drop":
                del after[key]
            else:
                before = after[key].files if kind == "append" and key in after else ()
                after[key] = State(before + files, number)
        if back is not None:
            out = now.taken_out - (base.taken_out - back) | (back - base.taken_out)
        else:
            out = now.taken_out | self._taken_out(base, changes)
        if alters:
            assert pending.comment is not None
            return ModelVersion(after, pending.comment, number, pending.operation, out)
        return ModelVersion(after, now.comment, now.altered, pending.operation, out)

    def came_and_went(self, pending: Pending) -> bool:
        """Return whether others made and dropped a partition that a commit adds since the commit's base.

        It is another one then, which is a conflict; but not if a vacuum has removed the records of it.
        """
        since = self.versions[pending.base + 1 :]
        added = {key for key, (kind, _) in pending.changes.items() if kind == "add"}
        return any(added & version.partitions.keys() for version in since)

    def _taken_out(self, base: ModelVersion, changes: dict[Key, tuple[str, tuple[str, ...]]]) -> set[str]:
        """Return the files of others that changes take out; no file is ever listed again."""
        return {
            name
            for key, (kind, files) in changes.items()
            if kind in ("replace", "drop") and files != ("moved",) and key in base.partitions
            for name in base.partitions[key].files
            if name.startswith(THEIRS)
        }

    def _all_changes(self, pending: Pending) -> tuple[dict[Key, tuple[str, tuple[str, ...]]], list[set[Key]]]:
        base = self.versions[pending.base]
        changes = dict(pending.changes)
        scopes = [{key for key in KEYS if day is None or key[0] == day} for day in pending.scopes]
        for scope in scopes:
            for key in scope & base.partitions.keys():
                kind, files = changes.setdefault(key, ("drop", ()))
                if kind == "append":
                    changes[key] = ("replace", files)
        return changes, scopes

    def going_back(self, base: int, target: int) -> dict[Key, tuple[str, tuple[str, ...]]]:
        """Return what a rollback changes."""
        old, now = self.versions[target].partitions, self.versions[base].partitions
        restored = {key: ("replace", s.files) for key, s in old.items() if now.get(key) != s}
        return {**restored, **{key: ("drop", ()) for key in now if key not in old}}
