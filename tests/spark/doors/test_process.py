"""After the planner's process dies, the next statement starts another, and running statements that only read
are planned again.
"""

from __future__ import annotations

import threading
import time

from tests.spark.doors.conftest import RunningServer
from tests.spark.doors.test_connect import client
from tests.support.spark import doors

STARTED_SECONDS = 8
"""Seconds after which a planner has started, and statements wait for its answers; the test does not kill a
planner that starts.
"""
FILL = """
spark.sql("CREATE TABLE t (x INT, d INT) PARTITIONED BY (d)")
spark.sql("INSERT INTO t SELECT id, id % 4 FROM range(40)")
said["rows"] = rows("SELECT count(*) FROM t WHERE d = 1")
"""
READ = """
answers = []
for number in range(60):
    answers.append(rows(f"SELECT count(*), {number} FROM lake.deaths.t WHERE d = {number % 4} AND x >= 0")[0][0])
said["answers"] = sorted(set(answers))
"""


def test_reads_go_on_while_planners_are_killed(connect: RunningServer) -> None:
    """Queries return the same rows while the planner is killed three times, and afterwards exactly one
    planner runs.
    """
    assert client(connect, FILL, "deaths")["rows"] == [[10]]
    (first,) = doors.planners(connect.process)
    over = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while len(killed) < 3 and not over.wait(1):
            for planner in doors.planners(connect.process):
                if time.time() - planner.create_time() > STARTED_SECONDS:
                    planner.kill()
                    killed.append(planner.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert client(connect, READ, "deaths_read")["answers"] == [10]
    finally:
        over.set()
        killer.join()
    assert killed[0] == first.pid
    assert client(connect, READ, "deaths_again")["answers"] == [10]
    time.sleep(0.5)
    assert len(doors.planners(connect.process)) == 1
