"""The commands on the pages about ways to start work unchanged on a machine with Spark and Parquetry."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyhive import hive
from pyspark.sql import SparkSession

from tests.support.hdfs import launcher as hdfs
from tests.support.pages.blocks import Block, blocks_of, is_printed
from tests.support.pages.readme import MAKES_THE_TABLE, typed
from tests.support.postgresql import launcher as postgresql
from tests.support.processes import ROOT
from tests.support.spark import doors, series

SCRIPT = doors.SPARK / "sbin" / "start-connect-server.sh"
BY_DAY = "2026-03-30\t1000\n2026-03-31\t1000\n"


class Machine:
    """A machine with Spark at SPARK_HOME, its programs and `parquetry` on the PATH, and the README's table.

    Names on the pages that no machine here has are replaced: `/data/lake`, hosts and ports.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.home = folder / "spark"
        self.replaced = {"/data/lake": str(folder / "lake")}
        (self.home / "conf").mkdir(parents=True)
        for part in doors.SPARK.iterdir():
            (self.home / part.name).symlink_to(part)

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        daemons = {"SPARK_LOG_DIR": str(self.folder / "logs"), "SPARK_PID_DIR": str(self.folder)}
        return doors.environment(SPARK_HOME=str(self.home), PATH=path, USER="ann", **daemons)

    def text(self, text: str) -> str:
        """Return a page's text as it is typed here."""
        for name, here in self.replaced.items():
            text = text.replace(name, here)
        return text

    def _commands(self, text: str) -> list[str]:
        return ["bash", "-euo", "pipefail", "-c", self.text(text)]

    def run(self, text: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run commands in a new folder."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        done = subprocess.run(
            self._commands(text), cwd=folder, env=self._environment(), input=given, text=True, capture_output=True,
            timeout=400, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def python(self, text: str) -> str:
        """Run a program in Python, and return what it printed."""
        return self.run(f'"{sys.executable}" -', self.text(text)).stdout

    @contextmanager
    def serving(self, text: str, port: int, given: str = "") -> Iterator[None]:
        """Run commands that serve until the block ends."""
        folder = self.folder / f"server-{port}"
        folder.mkdir()
        with (folder / "log").open("w") as log, subprocess.Popen(
            self._commands(text), cwd=folder, env=self._environment(), stdin=subprocess.PIPE, stdout=log,
            stderr=subprocess.STDOUT, start_new_session=True, text=True,
        ) as process:  # fmt: skip
            try:
                assert process.stdin
                process.stdin.write(given)
                process.stdin.flush()
                doors.wait_until_it_listens(port)
                yield
            finally:
                os.killpg(process.pid, 9)


@pytest.fixture(scope="module")
def machine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with the table of the README's quick start."""
    made = Machine(tmp_path_factory.mktemp("machine"))
    typed(MAKES_THE_TABLE, "machine", made.folder / "lake")
    return made


def blocks(page: str, language: str) -> list[Block]:
    """The blocks of a page in a language."""
    return [block for block in blocks_of((ROOT / "docs" / page).read_text()) if block.language == language]


@pytest.fixture(scope="module")
def configured(machine: Machine) -> tuple[Machine, subprocess.CompletedProcess[str]]:
    """A machine on which the first block of the page for SQL clients was typed, and what came of it."""
    return machine, machine.run(blocks("sql-clients.md", "sh")[0].text)


def test_spark_sql(configured: tuple[Machine, subprocess.CompletedProcess[str]]) -> None:
    """Two lines configure Spark and query; the log says which process plans."""
    machine, done = configured
    written, _, rows = done.stdout.partition("\n")
    assert re.search(r"spark-defaults\.conf: \d+ settings written", written)
    assert rows == BY_DAY
    python = re.search(
        r"spark.parquetry.python (.*)", (machine.home / "conf" / "spark-defaults.conf").read_text()
    )
    assert python
    notice = re.escape(blocks("sql-clients.md", "text")[0].text)
    notice = notice.replace("15956", r"\d+").replace("/opt/venv/bin/python", re.escape(python[1]))
    assert len(re.findall(notice, done.stderr)) == 1


@pytest.fixture(scope="module")
def served(configured: tuple[Machine, subprocess.CompletedProcess[str]]) -> Iterator[tuple[Machine, int]]:
    """The page's Thrift server with the lines for BI tools, and its port."""
    machine, _ = configured
    port = doors.free_port()
    machine.replaced["10000"] = str(port)
    lines = next(block.text for block in blocks("install.md", "text") if "defaultCatalog" in block.text)
    jar = re.search(r"^spark\.jars +(.*)$", (machine.home / "conf" / "spark-defaults.conf").read_text(), re.M)
    assert jar
    settings = [line.split() for line in re.sub(r"\S+\.jar", jar[1], lines).splitlines()]
    flags = " ".join(f"--conf {name}={value}" for name, value in settings)
    server = blocks("sql-clients.md", "sh")[2].text.replace(" spark-internal", f" {flags} spark-internal")
    with machine.serving(server, port):
        yield machine, port


def test_a_bi_tool(served: tuple[Machine, int]) -> None:
    """With the lines for BI tools, a connection of JDBC needs no name of a catalog, and lists its
    databases.
    """
    machine, port = served
    said = machine.run(
        f"beeline -u jdbc:hive2://127.0.0.1:{port}/ -e 'SHOW SCHEMAS; SELECT count(*) FROM shop.sales'"
    )
    assert re.search(r"^\| shop +\|$", said.stdout, re.M)
    assert "| 90000 " in said.stdout


def test_reports_for_sql_clients(served: tuple[Machine, int]) -> None:
    """The statements that give reports give the columns that the page lists."""
    _, port = served
    (statements,) = blocks("sql-clients.md", "sql")
    headers, rows = [], []
    with hive.connect("127.0.0.1", port, username="ann") as connection, connection.cursor() as cursor:
        for statement in statements.statements:
            cursor.execute(statement)
            headers.append([column[0] for column in cursor.description])
            rows += cursor.fetchall()
    page = (ROOT / "docs" / "sql-clients.md").read_text()
    named = [
        name for row in re.findall(r"^\| (`[^|]*`) \|", page, re.M) for name in re.findall(r"`(\w+)`", row)
    ]
    columns = named[: named.index("why") + 1]
    assert headers[1:] == [columns, columns[columns.index("part") :]]
    assert ("lake.shop.sales", "partitions", 1, 90) in [tuple(row[-5:-1]) for row in rows]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(0, marks=pytest.mark.exhaustive("test_a_bi_tool starts the class")),
        pytest.param(
            1, marks=pytest.mark.exhaustive("tests/spark/session/test_sql_clients.py types the page's lines")
        ),
    ],
    ids=["a class of Spark's", "a Python session"],
)
def test_a_thrift_server(configured: tuple[Machine, subprocess.CompletedProcess[str]], number: int) -> None:
    """A server that is started in one of the page's ways answers the page's `beeline`, and clients
    after it.
    """
    machine, _ = configured
    port = doors.free_port()
    machine.replaced["10000"] = str(port)
    scripts = blocks("sql-clients.md", "sh")
    (beeline,) = (line for line in scripts[1].text.splitlines() if line.startswith("beeline"))
    (session,) = blocks("sql-clients.md", "python")
    starts = [(scripts[2].text, ""), (f'"{sys.executable}" -i', machine.text(session.text) + "\n")]
    with machine.serving(starts[number][0], port, starts[number][1]):
        assert "| 90000 " in machine.run(beeline).stdout
        # each statement has a connection of its own, and needs classes that the ones before did not load
        for statement in ("SHOW NAMESPACES IN lake", f"CREATE TABLE lake.shop.of_{number} AS SELECT 1 AS x"):
            with hive.connect("127.0.0.1", port, username="ann") as connection, connection.cursor() as cursor:
                cursor.execute(statement)


@pytest.mark.exhaustive("tests/spark/doors/test_connect.py starts the same server")
@pytest.mark.skipif(not SCRIPT.exists(), reason="PySpark before 4.3 brings no script for Spark Connect")
def test_a_connect_server_by_its_script(machine: Machine) -> None:
    """The script starts a server, and the page's program prints what the page says."""
    port = doors.free_port()
    by_script, _ = blocks("spark-connect.md", "sh")
    where = (
        f"--conf spark.connect.grpc.binding.port={port} --conf spark.connect.grpc.binding.address=127.0.0.1"
    )
    machine.run(f"{by_script.text} {where}")
    try:
        doors.wait_until_it_listens(port)
        _client_prints_what_the_page_says(machine, port)
    finally:
        machine.run('"$SPARK_HOME/sbin/stop-connect-server.sh"')


@pytest.mark.exhaustive("tests/spark/doors/test_connect.py starts the class")
def test_a_connect_server_by_its_class(machine: Machine) -> None:
    """The class is the same server."""
    port = doors.free_port()
    _, by_class = blocks("spark-connect.md", "sh")
    where = f" --conf spark.connect.grpc.binding.port={port} spark-internal"
    with machine.serving(by_class.text.replace(" spark-internal", where), port):
        _client_prints_what_the_page_says(machine, port)


def _client_prints_what_the_page_says(machine: Machine, port: int) -> None:
    machine.replaced["spark.example.org:15002"] = f"127.0.0.1:{port}"
    (program,), (printed,) = (blocks("spark-connect.md", language) for language in ("python", "text"))
    said = machine.python(program.text)
    if series.is_before("4.1"):  # its files are a little larger
        said = said.replace("8.8 kB", "8.7 kB")
    assert is_printed(printed.text, said)


@pytest.mark.exhaustive("tests/spark/doors/test_jvm.py::test_spark_shell types others")
def test_spark_shell(machine: Machine) -> None:
    """With the page's flags, a shell runs the page's lines: they read, write and report, on HDFS and
    PostgreSQL.
    """
    (start,), (lines,) = (blocks("jvm-applications.md", language) for language in ("sh", "scala"))
    warehouse, store = f"{hdfs.shared_server().url}/pages", postgresql.shared_server().url("pages")
    typed(MAKES_THE_TABLE, "on_servers", warehouse, store)
    machine.replaced |= {"hdfs:///lake": warehouse, "postgresql://ann@db.example.org/lake": f"'{store}'"}
    said = machine.run(start.text, f"{lines.text}\n").stdout
    assert len(re.findall(r"^\|2026-03-3[01]\| *1000\|$", said, re.M)) == 2
    assert re.search(r"\|lake\.shop\.sales *\|partitions *\|2 *\|90 *\|.*day >= DATE '2026-03-30' *\|", said)
