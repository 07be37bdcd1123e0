"""A client of a Spark Connect server that works until a file stops it, and writes down its answers.

python client.py URL FOLDER NUMBER KIND
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def statements(kind: str, client: str, number: int) -> str:
    """Return the next statement of a client: a writer's INSERT or UPDATE, or a query."""
    if kind == "reader":
        return "SELECT count(*), count(DISTINCT id) FROM lake.kills.rows_0 WHERE id >= 0"
    if number % 2:
        return f"UPDATE lake.kills.counter_{client} SET n = n + 1"
    return f"INSERT INTO lake.kills.rows_{client} VALUES ({number})"


def main(url: str, folder: Path, client: str, kind: str) -> None:
    """Run statements until a file `stop` exists, and write a line for each: the statement and its outcome."""
    spark = SparkSession.Builder().remote(url).create()
    number = 0
    with (folder / f"client-{client}.jsonl").open("w") as log:
        while not (folder / "stop").exists():
            statement = statements(kind, client, number)
            outcome: dict[str, object] = {"statement": statement, "number": number}
            try:
                outcome["rows"] = [list(row) for row in spark.sql(statement).collect()]
            except PySparkException as error:
                outcome["error"] = f"{error}\n{error.__cause__}\n{error!r}"
            log.write(json.dumps(outcome, default=str) + "\n")
            log.flush()
            number += 1


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])
