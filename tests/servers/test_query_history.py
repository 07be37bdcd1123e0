"""The history of queries in a store on a server: written, read by table, bounded, and freed of values."""

from __future__ import annotations

from parquetry import metastore as ms
from parquetry.data_files import TableColumn
from parquetry.store import Store
from parquetry.workload import (
    HistorySettings,
    QueryCondition,
    QueryRecord,
    StoredQuery,
    TableRead,
    forget_values,
    now,
    read_queries,
)
from parquetry.workload.history import trim, write_queries

SETTINGS = HistorySettings("values", 24 * 60 * 60 * 1000, 1_000)


def test_queries_are_kept_on_servers(store: Store) -> None:
    """The newest come first and by table; old ones, and too many, go; values are taken out."""
    metastore = ms.Metastore(store, "/lake")
    metastore.create_database("shop")
    ids = {}
    for name in ("t", "u"):
        metadata = ms.TableMetadata((TableColumn("id", "long"),), (), "parquet", f"/lake/{name}")
        ids[name] = metastore.create_table("shop", name, metadata).id
    present = now()
    queries = [
        StoredQuery(
            QueryRecord(
                (TableRead(f"shop.{name}", conditions=(QueryCondition(f"id = {number}", ("id",)),)),),
                present - number,
            ),
            (ids[name],),
        )
        for number in range(5)
        for name in ("t", "u")
    ]
    old = StoredQuery(QueryRecord((TableRead("shop.t"),), present - 2 * SETTINGS.keep), (ids["t"],))
    write_queries(metastore, [*queries, old], SETTINGS)

    def conditions(name: str) -> list[str]:
        return [read_conditions(record) for record in read_queries(metastore, ids[name])]

    assert conditions("t") == [f"id = {number}" for number in range(5)]
    assert forget_values(metastore, ids["t"]) == 5
    assert conditions("t") == ["id = ?"] * 5
    assert conditions("u") == [f"id = {number}" for number in range(5)]
    assert trim(metastore, 4) == 6
    assert conditions("u") == ["id = 0", "id = 1"]


def read_conditions(record: QueryRecord) -> str:
    """Return the one condition of a query."""
    ((condition,),) = (read.conditions for read in record.reads)
    return condition.text
