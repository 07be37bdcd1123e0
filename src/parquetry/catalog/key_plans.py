"""Plan the partitions of a condition, and count the partitions and keys that the plan finds."""

from __future__ import annotations

from parquetry import metastore as ms
from parquetry.catalog.shapes import Plan
from parquetry.catalog.views import plan_view
from parquetry.predicate import Filter


def plan_partitions(snapshot: ms.TableSnapshot, condition: Filter, *, run: bool = False) -> Plan:
    """Return how the partitions of a condition are found.

    Args:
        snapshot: the version of the table.
        condition: on partition columns.
        run: read the partitions, too, and count them and their keys.
    """
    examined = ms.Examined()
    plan = ms.cheapest_plan(snapshot, condition, examined)
    if not run:
        return plan_view(snapshot, plan)
    partitions = sum(1 for _ in snapshot.partitions(plan, examined=examined))
    exact = not (examined.tested and snapshot.store.leaves_out)
    keys = examined.keys if exact else None
    return plan_view(snapshot, plan, partitions, keys, examined.keys, examined.seeks)
