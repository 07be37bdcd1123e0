"""The store's password works in every way to start Spark, and neither Spark nor an error of Py4J shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.postgresql.launcher import DATABASE, PostgreSQLServer
from tests.support.spark import doors

PASSWORD = "p/SECRET?@# %':password=x"
ENCODED = quote(PASSWORD, safe="")

DRIVER = """
import json, subprocess, sys
import parquetry
from pyspark.sql import SparkSession

url, folder = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", folder).config("spark.eventLog.compress", "false")
spark = parquetry.configure(builder, "lake", folder + "/lake", store=url).getOrCreate()
said = {"processes": subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True).stdout}
spark.sql("CREATE TABLE lake.default.t AS SELECT 1 AS a")
said["rows"] = [spark.sql("SELECT a FROM lake.default.t").first()[0], spark.newSession().sql("SELECT a FROM lake.default.t").first()[0]]
names = ["spark.sql.catalog.lake.store", "spark.sql.catalog.lake.store.password"]
said["set"] = {row.key: row.value for query in ("SET", *(f"SET {name}" for name in names)) for row in spark.sql(query).collect()}

def error(statement):
    try:
        spark.sql(statement).collect()
    except Exception as failed:
        java = getattr(failed, "_origin", None)
        trace = spark._jvm.org.apache.spark.util.Utils.exceptionString(java) if java else ""
        return f"{failed} {failed!r} {failed.__cause__} {trace}"

gateway = spark.sparkContext._gateway
pool = gateway.gateway_property.pool
(name,) = [key for key, kept in list(pool.dict.items()) if type(kept).__name__ == "PlannerGateway"]
said["name"] = name
planner = pool[name]
del pool[name]
said["unknown"] = [error("SELECT a FROM lake.default.t"), error("DELETE FROM lake.default.t")]
pool.put(planner, force_id=name)
print("SAID " + json.dumps(said), flush=True)
spark.stop()
"""


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgreSQLServer]:
    """A PostgreSQL whose user `bob` has to give a password."""
    server = PostgreSQLServer.start_in_temporary_folder()
    server.create_user("bob", PASSWORD)
    yield server
    server.remove()


def url(server: PostgreSQLServer, table: str, credentials: str) -> str:
    """Return the URL of a store."""
    return f"postgresql://{credentials}@127.0.0.1:{server.port}/{DATABASE}?table={table}"


def assert_without_password(*texts: str) -> None:
    """No text has a part of the password, encoded or not."""
    for text in texts:
        assert "SECRET" not in text, text[max(0, text.index("SECRET") - 300) :][:600]


@pytest.fixture(scope="module")
def driver(guarded: PostgreSQLServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The output of a PySpark program that was configured with a URL with a password."""
    folder = tmp_path_factory.mktemp("driver")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER.replace("url, folder = sys.argv[1:]", "url, folder = json.loads(sys.stdin.read())")],
        input=json.dumps([url(guarded, "driver", f"bob:{ENCODED}"), str(folder)]),
        cwd=folder, env=doors.environment(), capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    line = next((line for line in done.stdout.splitlines() if line.startswith("SAID ")), None)
    assert line is not None, done.stderr[-4000:]
    events = "".join(path.read_text() for path in folder.rglob("events_*"))
    said: dict[str, Any] = json.loads(line.removeprefix("SAID "))
    return {**said, "stderr": done.stderr, "events": events}


def test_configure_hides_the_password_of_a_url(driver: dict[str, Any]) -> None:
    """The password of the URL works for all sessions; SET, the event log, the processes' arguments and
    Spark's log do not contain it.
    """
    assert driver["rows"] == [1, 1]
    assert driver["set"]["spark.sql.catalog.lake.store"].startswith("postgresql://bob@127.0.0.1")
    assert "redacted" in driver["set"]["spark.sql.catalog.lake.store.password"]
    assert "spark.sql.catalog.lake.warehouse" in driver["processes"]
    assert "spark.sql.catalog.lake.store.password" in driver["events"]
    assert_without_password(
        driver["processes"], driver["events"], driver["stderr"], json.dumps(driver["set"])
    )


def test_no_exception_of_py4j_leaves_the_bridge_of_a_driver(driver: dict[str, Any]) -> None:
    """If the driver's planner is not found, errors are ours, and contain neither the question nor the
    object's name.
    """
    assert len(driver["unknown"]) == 2
    for error in driver["unknown"]:
        assert "[PARQUETRY_INTERNAL]" in error
        assert "py4j.Py4JException:" not in error
        assert '"options"' not in error
        assert "parquetry-hidden" not in error
        assert driver["name"] not in error
        assert_without_password(error)
    assert driver["name"] not in driver["stderr"]
    assert '"options"' not in driver["stderr"]


@pytest.mark.parametrize("way", ["setting", "PGPASSWORD", "PARQUETRY_STORE_PASSWORD", "PGPASSFILE"])
def test_a_planner_in_a_process_gets_it(guarded: PostgreSQLServer, tmp_path: Path, way: str) -> None:
    """`spark-sql` reads the password from a settings file, or its planner from the environment; arguments and
    output do not contain it.
    """
    lines, variables = [f"spark.sql.catalog.lake.store {url(guarded, way.lower(), 'bob')}"], {}
    if way == "setting":
        lines.append(f"spark.sql.catalog.lake.store.password {PASSWORD}")
    elif way == "PGPASSFILE":
        file = tmp_path / "passwords"
        file.write_text("*:*:*:bob:" + PASSWORD.replace(":", "\\:") + "\n")
        file.chmod(0o600)
        variables[way] = str(file)
    else:
        variables[way] = PASSWORD
    settings = tmp_path / "lake.conf"
    settings.write_text("\n".join(lines) + "\n")
    query = "CREATE TABLE lake.default.t AS SELECT 41 + 1 AS a; SELECT a FROM lake.default.t; SET"
    done = doors.run(
        "spark-sql",
        [*doors.flags(tmp_path), "--properties-file", str(settings), "--master", "local[1]", "-e", query],
        tmp_path,
        **variables,
    )
    assert "\n42\n" in f"\n{done.stdout}", done.stderr[-3000:]
    assert_without_password(done.stdout, done.stderr)
