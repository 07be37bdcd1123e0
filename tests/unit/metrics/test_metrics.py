"""Metrics for Prometheus: of tables, from the metastore, and of this process, from its counters."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from parquetry.cli.main import main
from parquetry.counters import COUNTERS, HELP, Counters, count_failed_audit
from parquetry.errors import CommitConflictError, ConfigurationError
from parquetry.metastore import FileRecord, Transaction, commit, open_metastore
from parquetry.metrics import ProcessCollector, WarehouseCollector, serve_metrics, write_metrics
from tests.support.product_imports import ROOT
from tests.support.stores.metastores import metadata

LABELS = '{database="default",table="t"}'


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A warehouse with a table of three versions. The last one replaced a file of 10 bytes."""
    folder = tmp_path / "lake"
    with open_metastore(str(folder), create=True) as metastore:
        table = metastore.create_table("default", "t", metadata(location=f"{folder}/t"))
        for name, size in (("one", 10), ("two", 7)):
            change = Transaction(table.refresh(), "overwrite")
            change.replace((1, "a"), [FileRecord(name, size, 3)])
            commit(change)
    return folder


def test_a_file_for_node_exporter(warehouse: Path, tmp_path: Path) -> None:
    """The command writes the gauges of each table to a file, as a whole."""
    file = tmp_path / "lake.prom"
    with pytest.raises(SystemExit) as ended:
        main(["write-metrics", str(file), "-w", str(warehouse)])
    assert not ended.value.code
    lines = file.read_text().splitlines()
    assert f"parquetry_table_version{LABELS} 2.0" in lines
    assert f"parquetry_table_bytes{LABELS} 7.0" in lines
    assert f"parquetry_table_rows{LABELS} 3.0" in lines
    assert f"parquetry_table_old_versions{LABELS} 2.0" in lines
    assert f"parquetry_table_old_version_bytes{LABELS} 10.0" in lines
    assert f"parquetry_table_expired_bytes{LABELS} 0.0" in lines
    assert "parquetry_unreadable_tables 0.0" in lines
    assert not any(line.startswith("parquetry_table_vacuumed_seconds{") for line in lines)
    with pytest.raises(SystemExit) as ended:
        main(["vacuum", "t", "-w", str(warehouse)])
    before = time.time()
    collector = WarehouseCollector(lambda: open_metastore(str(warehouse)))
    write_metrics(str(file), collector)
    (vacuumed,) = [
        line for line in file.read_text().splitlines() if line.startswith("parquetry_table_vacuumed_seconds{")
    ]
    assert before - 60 < float(vacuumed.split()[-1]) <= before + 1
    with pytest.raises(ConfigurationError, match="cannot be written to"):
        write_metrics(str(tmp_path / "no" / "folder.prom"), collector)


def test_a_server(warehouse: Path) -> None:
    """Each request reads the metastore anew, and a port in use is an error with a remedy."""
    server, thread = serve_metrics("127.0.0.1", 0, WarehouseCollector(lambda: open_metastore(str(warehouse))))
    try:
        port = server.server_port

        def version() -> str:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                lines = answer.read().decode().splitlines()
            return next(line for line in lines if line.startswith(f"parquetry_table_version{LABELS}"))

        assert version().endswith(" 2.0")
        with open_metastore(str(warehouse)) as metastore:
            change = Transaction(metastore.table("default", "t"), "append")
            change.append((2, "b"), [FileRecord("three", 1, 1)])
            commit(change)
        assert version().endswith(" 3.0")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_commits_and_conflicts_are_counted(warehouse: Path) -> None:
    """A commit and a conflict count once each; what changes nothing does not count."""
    with open_metastore(str(warehouse)) as metastore:
        base = metastore.table("default", "t")
        late, empty = Transaction(base, "overwrite"), Transaction(base, "append")
        late.replace((1, "a"), [FileRecord("late", 1, 1)])
        early = Transaction(base, "overwrite")
        early.replace((1, "a"), [FileRecord("early", 1, 1)])
        before = COUNTERS.values()
        commit(early)
        commit(empty)
        with pytest.raises(CommitConflictError):
            commit(late)
    after = COUNTERS.values()
    assert {name: after[name] - before[name] for name in HELP if after[name] != before[name]} == {
        "commits": 1,
        "commit_conflicts": 1,
    }


def test_counters(tmp_path: Path) -> None:
    """A scan counts files and bytes left out of how many; an audit that failed is a counter of its own."""
    counters = Counters()
    counters.add_scan(10, 7, 1000, 650)
    counters.add_scan(5, -1, 50, 0)
    values = counters.values()
    assert [values[name] for name in ("scans", "scan_files", "scan_files_left_out")] == [2, 15, 7]
    assert [values[name] for name in ("scan_bytes", "scan_bytes_left_out")] == [1050, 650]
    with pytest.raises(KeyError):
        counters.add("nothing")
    before = COUNTERS.values()["audits_failed"]
    count_failed_audit()
    write_metrics(str(tmp_path / "own.prom"), ProcessCollector())
    text = (tmp_path / "own.prom").read_text()
    assert f"parquetry_audits_failed_total {before + 1}.0" in text


def test_a_session_writes_its_counters(tmp_path: Path) -> None:
    """The variable names a file: it is written at the beginning and at the end of the process."""
    program = (
        "import os, time; from parquetry.metrics import write_in_background as run; from parquetry.counters import *;"
        "assert run(os.environ); assert run(os.environ); assert not run({}); count_failed_audit()"
    )
    file = tmp_path / "session-%p.prom"
    environment = {**os.environ, "PARQUETRY_METRICS_FILE": str(file)}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT.parent), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    (written,) = tmp_path.glob("session-*.prom")
    assert "parquetry_audits_failed_total 1.0" in written.read_text()
