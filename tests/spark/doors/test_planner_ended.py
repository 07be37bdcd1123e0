"""If the planner's process dies while a statement commits, the error says that the outcome is unknown, and
the table is consistent.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

import parquetry
from tests.support.effort import examples
from tests.support.spark import doors

_SECONDS = 180


class Shell(NamedTuple):
    """`spark-sql` that reads statements from a pipe.

    Attributes:
        process: it.
        folder: of its warehouse.
        log: what it prints.
    """

    process: subprocess.Popen[str]
    folder: Path
    log: Path

    def begin(self, statement: str) -> None:
        """Give it a statement."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{statement};\n")
        self.process.stdin.flush()

    def printed(self, text: str) -> str:
        """Wait until it has printed a text, and return all that it has printed."""
        wait_until(lambda: text in self.log.read_text(), f"{text!r} in {self.log.read_text()[-2000:]}")
        return self.log.read_text()


def wait_until(holds: Callable[[], object], what: str, pause: float = 0.05) -> None:
    """Wait until a condition holds, and look each `pause` seconds."""
    deadline = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(pause)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell with a table of one row, and the planner that its JVM has started."""
    folder = tmp_path_factory.mktemp("shell")
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(doors.SPARK / "bin" / "spark-sql"), *doors.flags(folder), "--master", "local[1]"],
            cwd=folder, env=doors.environment(), stdin=subprocess.PIPE, stdout=output, stderr=output, text=True,
        )  # fmt: skip
    running = Shell(process, folder, log)
    try:
        yield running
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
        process.communicate()


_NUMBERS = itertools.count()


def finish(shell: Shell) -> str:
    """Wait until the shell is through with what it was given, and return what it has printed since."""
    before = len(shell.log.read_text())
    number = next(_NUMBERS)
    shell.begin(f"SELECT concat('DONE', '-{number}-')")
    return shell.printed(f"DONE-{number}-")[before:]


def planner(shell: Shell) -> psutil.Process:
    """Wait for the shell's planner, and return it."""
    process = psutil.Process(shell.process.pid)
    wait_until(lambda: doors.planners(process), "a planner")
    (found,) = doors.planners(process)
    return found


def state(shell: Shell, name: str) -> tuple[int, list[int], int]:
    """Return a table's version, its numbers of rows by file, and how many of its files no version lists."""
    with parquetry.open(shell.folder / "lake") as catalog:
        files = list(catalog.files(name))
        table = catalog.table(name)
        assert catalog.fsck(name) == []
    folder = Path(table.location.removeprefix("file:"))
    return (
        table.version,
        sorted(file.rows or 0 for file in files),
        len(list(folder.rglob("pq-*"))) - len(files),
    )


@contextlib.contextmanager
def locked(shell: Shell) -> Iterator[None]:
    """Hold the metastore's lock as another process that writes does: a commit waits."""
    path = shell.folder / "lake" / "_parquetry" / "metastore.sqlite"
    with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


STATEMENTS = {
    "write": ("INSERT INTO {t} SELECT id FROM range(5)", [1, 5]),
    "rewrite_rows": ("UPDATE {t} SET x = -1 WHERE x = 7", [1]),
}


@pytest.mark.parametrize(
    "op",
    [
        pytest.param("write", marks=pytest.mark.exhaustive("rewrite_rows shows it")),
        "rewrite_rows",
    ],
)
def test_before_the_commit(shell: Shell, op: str) -> None:
    """If the planner is killed while its commit waits for the metastore, the error names the statement that
    shows the history.

    The table has not changed, and the same statement then works.
    """
    table = f"lake.default.{op}"
    statement, after = STATEMENTS[op]
    statement = statement.format(t=table)
    shell.begin(f"CREATE TABLE {table} (x BIGINT)")
    shell.begin(f"INSERT INTO {table} VALUES (7)")
    finish(shell)
    assert state(shell, f"default.{op}") == (1, [1], 0)
    first = planner(shell)
    with locked(shell):
        before = len(shell.log.read_text())
        shell.begin(statement)
        wait_until(lambda: state(shell, f"default.{op}")[2], "a file that the commit is to name")
        first.kill()
        printed = shell.printed("PARQUETRY_PLANNER_ENDED")
    printed = printed[before:] + finish(shell)
    assert f"CALL lake.system.history('default.{op}')" in printed
    assert state(shell, f"default.{op}")[:2] == (1, [1])
    shell.begin(statement)
    assert "PARQUETRY" not in finish(shell)
    assert state(shell, f"default.{op}")[:2] == (2, after)
    assert planner(shell).pid != first.pid


def test_after_the_commit(shell: Shell) -> None:
    """If the planner is killed as soon as its commit is visible, the statement's rows are in the table once,
    even if it fails.
    """
    shell.begin("CREATE TABLE lake.default.seen (x BIGINT)")
    finish(shell)
    for number in range(1, 1 + examples(3, 1)):
        shell.begin(f"INSERT INTO lake.default.seen SELECT id FROM range({number})")
        with parquetry.open(shell.folder / "lake") as catalog:
            wait_until(lambda: catalog.table("default.seen").version == number, "the commit", 0.001)  # noqa: B023
        planner(shell).kill()
        finish(shell)
        assert state(shell, "default.seen") == (number, list(range(1, number + 1)), 0)


def test_the_shell_is_killed(shell: Shell) -> None:
    """A shell killed in the middle of a commit leaves no process, and the table as it was."""
    shell.begin("CREATE TABLE lake.default.left (x BIGINT)")
    finish(shell)
    with locked(shell):
        shell.begin("INSERT INTO lake.default.left VALUES (1)")
        wait_until(lambda: state(shell, "default.left")[2], "a file that the commit is to name")
        processes = [*psutil.Process(shell.process.pid).children(recursive=True), planner(shell)]
        shell.process.kill()
        assert doors.wait_until_gone(processes)
    assert state(shell, "default.left")[:2] == (0, [])
