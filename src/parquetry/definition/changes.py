"""The changes that ALTER TABLE may consist of, each with its fields.

Spark's `TableChange`s arrive as these structs, tagged by `change`. In `column` is the path of names to a
column, or to a field in it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from parquetry.metastore import Constraint


class Change(msgspec.Struct, frozen=True, tag_field="change", forbid_unknown_fields=True):
    """Base of all changes."""


class SetProperty(Change, tag="set_property", frozen=True):
    """A property gets a value."""

    key: str
    value: str


class RemoveProperty(Change, tag="remove_property", frozen=True):
    """A property gets its default."""

    key: str


class AddColumn(Change, tag="add_column", frozen=True):
    """A new column or field.

    Attributes:
        column: its path.
        type: Spark's JSON of its type.
        metadata: of Spark's field, with its collations and its default value.
        nullable: whether it may be NULL.
        comment: its comment, or None.
        position: the column that it follows, an empty text to come first, or None to come last.
    """

    column: list[str]
    type: Any
    metadata: dict[str, Any]
    nullable: bool
    comment: str | None
    position: str | None


class RenameColumn(Change, tag="rename_column", frozen=True):
    """A column or field gets another name."""

    column: list[str]
    to: str


class UpdateColumnType(Change, tag="update_type", frozen=True):
    """A column or field gets another type. For `type` and `metadata` see `AddColumn`."""

    column: list[str]
    type: Any
    metadata: dict[str, Any]


class UpdateColumnNullability(Change, tag="update_nullability", frozen=True):
    """A column or field may be NULL, or may not be."""

    column: list[str]
    nullable: bool


class UpdateColumnComment(Change, tag="update_comment", frozen=True):
    """A column or field gets another comment, or None."""

    column: list[str]
    comment: str | None


class UpdateColumnDefault(Change, tag="update_default", frozen=True):
    """A column gets another default value, as SQL, or None."""

    column: list[str]
    default: str | None


class UpdateColumnPosition(Change, tag="update_position", frozen=True):
    """A column or field moves. For `position` see `AddColumn`."""

    column: list[str]
    position: str | None


class DropColumn(Change, tag="drop_column", frozen=True):
    """A column or field goes. If there is none, that is an error unless the statement has IF EXISTS."""

    column: list[str]
    if_exists: bool = False


class OrderColumns(Change, tag="order", frozen=True):
    """The columns get an order. Only `split_into_elementary_changes` makes it, for REPLACE COLUMNS."""

    names: list[str]


class ClusterBy(Change, tag="cluster_by", frozen=True):
    """CLUSTER BY names columns and fields by their paths, or none."""

    columns: list[list[str]]


class AddConstraint(Change, tag="add_constraint", frozen=True):
    """A new constraint.

    Attributes:
        constraint: the constraint.
        version: the table's version whose rows Spark tested by it, or None if it tested none.
    """

    constraint: Constraint
    version: str | None


class DropConstraint(Change, tag="drop_constraint", frozen=True):
    """A constraint goes. If there is none, that is an error unless the statement has IF EXISTS."""

    name: str
    if_exists: bool


class UnsupportedChange(Change, tag="other", frozen=True):
    """A change that Parquetry does not know, by Spark's name for it."""

    text: str


ColumnChange: TypeAlias = (
    AddColumn
    | RenameColumn
    | UpdateColumnType
    | UpdateColumnNullability
    | UpdateColumnComment
    | UpdateColumnDefault
    | UpdateColumnPosition
    | DropColumn
)
"""A change of one column or field."""
PropertyChange: TypeAlias = SetProperty | RemoveProperty
TableChange: TypeAlias = (
    PropertyChange | ColumnChange | ClusterBy | AddConstraint | DropConstraint | UnsupportedChange
)
"""A change that Spark sends."""
