"""After the planner's process dies, the next statement starts another, and running statements that only read
are planned again.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tests.spark.doors.conftest import RunningServer
from tests.support.effort import examples
from tests.support.spark import connect_clients, doors

KILLS = examples(4, 2)
ANSWERS = 2
"""Answers between two deaths of planners: the planner in use has started, and statements wait for it."""
_SECONDS = 120
READ = """
spark.sql("CREATE TABLE t (x INT, d INT) PARTITIONED BY (d)")
spark.sql("INSERT INTO t SELECT id, id % 4 FROM range(40)")
answers, count, stop = [], Path(folder, "count"), Path(folder, "stop")
while not stop.exists():
    answers.append(rows(f"SELECT count(*), {len(answers)} FROM t WHERE d = {len(answers) % 4} AND x >= 0")[0][0])
    Path(folder, "counting").write_text(str(len(answers)))
    Path(folder, "counting").rename(count)
said["answers"] = sorted(set(answers))
"""


def wait_for_answers(folder: Path, more: int) -> None:
    """Wait until the client has more answers than now."""
    count, deadline = folder / "count", time.monotonic() + _SECONDS
    before = int(count.read_text()) if count.exists() else 0
    while not count.exists() or int(count.read_text()) < before + more:
        assert time.monotonic() < deadline, "no answers"
        time.sleep(0.01)


def test_reads_go_on_while_planners_are_killed(connect: RunningServer) -> None:
    """Queries return the same rows while planners are killed, and afterwards exactly one planner runs."""
    killed: list[int] = []
    failed: list[BaseException] = []

    def kill() -> None:
        try:
            for _ in range(KILLS):
                wait_for_answers(connect.folder, ANSWERS)
                (planner,) = doors.planners(connect.process)
                planner.kill()
                planner.wait(_SECONDS)
                killed.append(planner.pid)
            wait_for_answers(connect.folder, ANSWERS)
        except BaseException as error:  # noqa: BLE001 - the test tells it
            failed.append(error)
        finally:
            (connect.folder / "stop").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    said = connect_clients.answers(connect.port, connect.folder, {"deaths": READ})["deaths"]
    killer.join()
    assert failed == []
    assert said == {"answers": [10]}
    assert len(set(killed)) == KILLS
    assert len(doors.planners(connect.process)) == 1
