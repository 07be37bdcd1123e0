"""A program that reads and writes tables by Spark's Hive client, in a metastore that follows them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from parquetry.metastore import open_metastore
from tests.support.hive.metastore_clients import ATTACKS as ATTACKS, TABLES, Clients

RESULT = "RESULT"
"""The beginning of the line with the results."""
FOLLOWED = ("days", "overwritten", "whole", "renamed", "skewed")
"""Tables that other readers than Spark's read right, too."""
_REFUSED = ("swapped", "times")
_THEIRS = "spark_catalog.h"
_ATTACKED = ("overwritten", "whole")


def follow(clients: Clients, name: str, port: int) -> str:
    """Have the metastore follow a table, and return the error if it cannot."""
    call = (
        f"CALL lake.system.publish('h.{name}', publish => 'follow', metastore => 'thrift://127.0.0.1:{port}')"
    )
    return clients.error(lambda: clients.spark.sql(call))


def read(clients: Clients, catalog: str) -> dict[str, list[str]]:
    """Return the rows of the tables that are written to."""
    return {name: clients.rows(f"SELECT * FROM {catalog}.{name}") for name in _ATTACKED}


def attack(clients: Clients, port: int) -> dict[str, Any]:
    """Run each statement. Return its error, whether our rows stayed, and whether theirs are right then."""
    before = read(clients, "lake.h")
    load = Path(clients.spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")).parent / "load"
    clients.spark.range(3).toDF("id").write.parquet(str(load))
    said, ours = {}, {}
    for statement in ATTACKS:
        sql = statement.format(c=_THEIRS, folder=load)
        said[statement] = clients.error(lambda: clients.spark.sql(sql))  # noqa: B023 - at once
        ours[statement] = read(clients, "lake.h") == before
    again = [follow(clients, name, port) for name in _ATTACKED]
    for name in _ATTACKED:
        clients.spark.catalog.refreshTable(f"{_THEIRS}.{name}")
    theirs = read(clients, _THEIRS) == before
    return {"said": said, "ours": ours, "again": again, "theirs": theirs}


def main(work: Path, port: int) -> dict[str, Any]:
    """Make tables, have the metastore follow them, read and write by Spark's Hive client."""
    open_metastore(str(work / "lake"), create=True).close()
    clients = Clients(work, port)
    sql = clients.spark.sql
    sql("CREATE NAMESPACE lake.h")
    for statement in TABLES.split(";\n"):
        if any(f"lake.h.{name} " in statement for name in (*FOLLOWED, *_REFUSED)):
            sql(statement)
    refused = {name: error for name in (*FOLLOWED, *_REFUSED) if (error := follow(clients, name, port))}
    out: dict[str, Any] = {"refused": refused, "tables": {}}
    for name in FOLLOWED:
        out["tables"][name] = [clients.rows(f"SELECT * FROM {each}.{name}") for each in ("lake.h", _THEIRS)]
    sql("INSERT INTO lake.h.days VALUES (777, DATE '2027-01-01', 5)")
    out["live"] = clients.rows(f"SELECT id FROM {_THEIRS}.days WHERE day = DATE '2027-01-01'")
    out["attacks"] = attack(clients, port)
    return out


if __name__ == "__main__":
    print(RESULT, json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
