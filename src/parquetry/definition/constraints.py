"""Constraints of tables: add them, drop them, and keep the columns that they name.

Spark tests an enforced CHECK: on new rows when it writes them, and on existing rows when the constraint is
added. This module stores the constraint, and makes sure that no commit came between the test and the new
constraint (`metastore.commits.conflicts`). Keys are stored for readers of the metadata, and not enforced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from parquetry import errors
from parquetry.definition.changes import AddConstraint, DropConstraint
from parquetry.identifiers import join_name, part_text
from parquetry.metastore import Constraint, TableMetadata, TableSnapshot

_NAMES = re.compile(r"`((?:[^`]|``)+)`|(\w+)")


def with_constraints(metadata: TableMetadata, label: str, constraints: Sequence[Constraint]) -> TableMetadata:
    """Return the metadata with additional constraints.

    Raises:
        ConstraintExistsError: the table has a constraint of the same name.
        UnsupportedError: the table has a primary key already.
    """
    for new in constraints:
        for each in metadata.constraints:
            if each.name.lower() == new.name.lower():
                raise errors.ConstraintExistsError(
                    f"Constraint {part_text(each.name)} is already there in table {label}: choose another name, or say ALTER TABLE "
                    f"{label} DROP CONSTRAINT {part_text(each.name)} before."
                )
            if each.kind == new.kind == "primary_key":
                raise errors.UnsupportedError(
                    f"Table {label} has a primary key, {part_text(each.name)}: say ALTER TABLE {label} DROP CONSTRAINT "
                    f"{part_text(each.name)} before it gets {part_text(new.name)}."
                )
        metadata = msgspec.structs.replace(metadata, constraints=(*metadata.constraints, new))
    return metadata


def add_constraint(snapshot: TableSnapshot, metadata: TableMetadata, change: AddConstraint) -> TableMetadata:
    """Return the metadata with the constraint of ALTER TABLE … ADD CONSTRAINT.

    Raises:
        CommitConflictError: the rows were tested in another version than this one.
        ConstraintExistsError: the table has a constraint of the same name.
    """
    new, tested = change.constraint, change.version
    if new.kind == "check" and tested is not None and tested != str(snapshot.version):
        raise errors.CommitConflictError(
            f"Table {snapshot.label}: version {snapshot.version} was committed while the rows of version {tested} were tested by "
            f"constraint {part_text(new.name)}; it was not added: run it again."
        )
    return with_constraints(metadata, snapshot.label, [new])


def drop_constraint(metadata: TableMetadata, label: str, change: DropConstraint) -> TableMetadata:
    """Return the metadata without the constraint of ALTER TABLE … DROP CONSTRAINT.

    Raises:
        ConstraintNotFoundError: there is no such constraint, and the statement has no IF EXISTS.
    """
    name = change.name.lower()
    remaining = tuple(each for each in metadata.constraints if each.name.lower() != name)
    if len(remaining) == len(metadata.constraints) and not change.if_exists:
        there = ", ".join(part_text(each.name) for each in remaining) or "none"
        raise errors.ConstraintNotFoundError(
            f"Table {label} has no constraint {part_text(change.name)}; there are: {there}."
        )
    return msgspec.structs.replace(metadata, constraints=remaining)


def require_unconstrained(metadata: TableMetadata, label: str, path: Sequence[str], what: str) -> None:
    """Make sure that no constraint names a column, or a field in it, that is to be dropped or renamed.

    A CHECK counts as naming it if the condition contains its name as a word.

    Raises:
        ConstrainedColumnChangeError: a constraint names it.
    """
    for each in metadata.constraints:
        paths = [[part.lower() for part in names] for names in each.columns]
        lower = [part.lower() for part in path]
        named = any(names[: len(lower)] == lower for names in paths)
        if named or lower[-1] in _words(each.predicate or ""):
            raise errors.ConstrainedColumnChangeError(
                f"Column {join_name(path)} cannot be {what}, as constraint {part_text(each.name)} of table {label} names it: say "
                f"ALTER TABLE {label} DROP CONSTRAINT {part_text(each.name)} before."
            )


def _words(text: str) -> set[str]:
    return {(quoted.replace("``", "`") or plain).lower() for quoted, plain in _NAMES.findall(text)}
