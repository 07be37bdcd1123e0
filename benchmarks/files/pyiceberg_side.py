"""Plan with PyIceberg, in the environment that `iceberg` makes; print the seconds of each round."""

from __future__ import annotations

import json
import sys
import time

from pyiceberg.table import StaticTable


def main() -> None:
    """Plan as often as asked, after once to warm up."""
    asked = json.loads(sys.argv[1])
    table = StaticTable.from_metadata(asked["metadata"])
    seconds = []
    for _ in range(asked["rounds"] + 1):
        started = time.perf_counter()
        found = sum(1 for _ in table.scan(row_filter=asked["filter"]).plan_files())
        seconds.append(time.perf_counter() - started)
        if found != asked["expected"]:
            sys.exit(f"PyIceberg finds {found} files instead of {asked['expected']}")
    print(json.dumps(seconds[1:]))


if __name__ == "__main__":
    main()
