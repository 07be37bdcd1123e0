"""Run random joins over mixed tables, and print those whose rows differ from plain Spark's.

python -m tests.support.random_joins --seeds 0 10 --queries 100
python -m tests.support.random_joins --seeds 3 4 --query 17
python -m tests.support.random_joins --expressions --seeds 0 10
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from tests.support.random_histories.__main__ import session
from tests.support.random_joins.beside import Joined, MixedTables, databases

SHOWN_NODES = (
    "InBuckets",
    "ZipBuckets",
    "StayInBuckets",
    "HideBuckets",
    "Union",
    "Exchange",
    "IncrementalSort",
    "hot bucket",
)


def main() -> int:
    """Run the queries of some seeds, and return 1 if any had other rows."""
    parser = argparse.ArgumentParser(description="Random joins over mixed tables, beside plain Spark.")
    parser.add_argument(
        "--seeds", type=int, nargs=2, default=(0, 10), help="the first, and the one after the last"
    )
    parser.add_argument("--queries", type=int, default=100, help="of each seed (100)")
    parser.add_argument("--query", type=int, default=None, help="the number of one query to run alone")
    parser.add_argument(
        "--expressions",
        action="store_true",
        help="join by expressions, of tables with values at the edges of calendars",
    )
    asked = parser.parse_args()
    numbers = range(asked.queries) if asked.query is None else [asked.query]
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="joins-") as folder:
        spark = session(Path(folder))
        with databases(spark):
            for seed in range(*asked.seeds):
                mixed = MixedTables(spark, seed, expressions=asked.expressions)
                if asked.query is not None:
                    print(mixed.statements())
                for number in numbers:
                    progress.add(seed, number, mixed.join(number))
                print(f"seed {seed}: {progress}", flush=True)
        spark.stop()
    return 1 if progress.wrong else 0


class Progress:
    """Counts of queries and of nodes of their plans.

    Attributes:
        wrong: how many queries had other rows than plain Spark, or failed.
    """

    def __init__(self) -> None:
        self.wrong = 0
        self._queries = 0
        self._nodes: Counter[str] = Counter()
        self._first: dict[str, tuple[int, int]] = {}

    def add(self, seed: int, number: int, joined: Joined) -> None:
        """Count a query, and print it if it was wrong."""
        self._queries += 1
        for name in filter(joined.nodes.get, SHOWN_NODES):
            self._nodes[name] += 1
            self._first.setdefault(name, (seed, number))
        if joined.problem:
            self.wrong += 1
            print(f"seed {seed} query {number}:", *joined, sep="\n  ", flush=True)

    def __str__(self) -> str:
        return f"{self._queries} queries, {self.wrong} wrong, {dict(self._nodes)}, first {self._first}"


if __name__ == "__main__":
    raise SystemExit(main())
