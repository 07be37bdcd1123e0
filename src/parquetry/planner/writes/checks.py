"""Refuse writes that the table's other properties do not allow, before any row is written."""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.definition import Occasion, refuse_values, require_rules
from parquetry.identifiers import join_name
from parquetry.metastore import Successor, TableSnapshot, require_own_folder
from parquetry.planner.lake import Lake
from parquetry.predicate import Compare, Filter


def require_writable_so(lake: Lake, snapshot: TableSnapshot, mode: str, where: Sequence[Filter]) -> None:
    """Make sure that the table allows writes in some mode.

    Args:
        lake: the catalog.
        snapshot: the table.
        mode: of the write, as in `questions.Write`.
        where: the conditions of an overwrite.

    Raises:
        ListBucketingError: the table has directories for heavy values, and a rule forbids the write.
        ForeignWarehouseError: the table's folder belongs to the warehouse that this one is a copy of.
    """
    require_own_folder(snapshot, snapshot.metadata.location)
    staged = lake.staged.get(snapshot.id.hex())
    label = join_name((lake.name, staged.database, staged.name)) if staged else lake.full_name(snapshot)
    is_made = staged is not None or isinstance(snapshot, Successor)
    occasion: Occasion = "create as" if is_made else "append" if mode == "append" else "overwrite"
    require_rules(label, snapshot.metadata, occasion)
    for predicate in where:
        if isinstance(predicate.node, Compare) and predicate.node.op in ("=", "<=>"):
            refuse_values(snapshot, [predicate.node.value])
