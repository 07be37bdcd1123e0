"""Three sessions run while the planner's process is killed repeatedly; `python -m
tests.support.planner_kills` kills it 200 times.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.planner_kills.run import ENDED, run

KILLS = 6


@pytest.mark.exhaustive(
    "test_connect.py kills planners under queries, test_planner_ended.py under commits, and test_passwords.py reads logs"
)
def test_kills_beside_three_sessions(tmp_path: Path) -> None:
    """Statements succeed or end with PARQUETRY_PLANNER_ENDED, and no row is lost or doubled.

    No error and no log contains the store's password.
    """
    outcome = run(tmp_path, KILLS, seed=7)
    assert outcome.problems == []
    assert outcome.kills == KILLS
    assert outcome.words.keys() <= {"success", ENDED}
    assert outcome.words["success"] > 0
