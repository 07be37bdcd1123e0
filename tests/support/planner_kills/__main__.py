"""Kill planners as often as requested, and print the answers that clients got.

python -m tests.support.planner_kills --kills 200 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.support.planner_kills.run import run


def main() -> int:
    """Run, and return 1 if a row is lost or doubled, a password shown, or an error in other words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(Path(folder), given.kills, given.seed)
    print(f"{outcome.kills} kills; {dict(outcome.words)}")
    for problem in outcome.problems:
        print(f"PROBLEM {problem}")
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
