"""Run histories of transfers, and print where a reader has seen a wrong sum.

python -m tests.support.transfers --histories 10000 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.support.transfers.history import TransferHistory


def main() -> int:
    """Run the program; return the number of histories with faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong, begin = 0, time.monotonic()
    for seed in range(arguments.seed, arguments.seed + arguments.histories):
        history = TransferHistory(seed)
        history.run()
        counts.update(history.counts)
        wrong += bool(history.faults)
        for fault in history.faults:
            print(f"seed {seed}: {fault}", flush=True)
    print(f"{arguments.histories} histories in {time.monotonic() - begin:.0f} s, {wrong} with faults")
    for what, count in sorted(counts.items()):
        print(f"{count:8,} {what}")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main()))
