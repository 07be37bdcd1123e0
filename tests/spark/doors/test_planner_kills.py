"""Three sessions at once, and the planner's process killed again and again: `python -m tests.support.planner_kills` does it 200 times."""

from __future__ import annotations

from pathlib import Path

from tests.support.planner_kills.run import ENDED, run

KILLS = 6


def test_kills_beside_three_sessions(tmp_path: Path) -> None:
    """Statements succeed or end with PARQUETRY_PLANNER_ENDED; no row is lost or doubled; no error and no log has the store's password."""
    outcome = run(tmp_path, KILLS, seed=7)
    assert outcome.problems == []
    assert outcome.kills == KILLS
    assert outcome.words.keys() <= {"success", ENDED}
    assert outcome.words["success"] > 0
