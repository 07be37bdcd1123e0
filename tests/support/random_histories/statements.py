"""The kinds of statements, and how often each comes."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.random_histories import altering, arranging, changing, writing
from tests.support.random_histories.conditions import Others
from tests.support.random_histories.tables.tables import Change, ModelledTable

Kind = Callable[[ModelledTable, Others], Change | None]
"""Makes a statement of one kind for a table, or None where it does not go."""

KINDS: dict[Kind, int] = {
    writing.insert: 5,
    writing.insert_some_columns: 2,
    writing.insert_self: 1,
    writing.overwrite: 1,
    writing.overwrite_dynamically: 2,
    writing.write_partition: 2,
    writing.replace_where: 1,
    changing.delete: 3,
    changing.update: 3,
    changing.merge: 4,
    altering.add_column: 2,
    altering.set_default: 1,
    altering.drop_column: 1,
    altering.rename_column: 1,
    altering.widen_column: 1,
    altering.move_column: 1,
    altering.rename_table: 1,
    altering.replace_table: 1,
    arranging.drop_partition: 1,
    arranging.truncate: 1,
    arranging.rename_partition: 1,
    arranging.change_skew: 1,
    arranging.change_buckets: 1,
    arranging.change_order: 1,
    arranging.change_files: 1,
    arranging.compact: 1,
    arranging.rebucket: 1,
    arranging.compact_metadata: 1,
    arranging.vacuum: 1,
    arranging.index: 1,
    arranging.rollback: 2,
}


def drawn(table: ModelledTable, others: Others) -> tuple[str, Change]:
    """Return a statement of any kind that goes, and the kind's name."""
    while True:
        kind = table.draw.choices(list(KINDS), list(KINDS.values()))[0]
        change = kind(table, others)
        if change is not None:
            return kind.__name__, change
