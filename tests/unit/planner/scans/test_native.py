"""Scans that a native engine may read as Spark's own scan of files, and why others keep their form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.data_files import EXISTS_DEFAULT, PHYSICAL_NAME, Trust
from parquetry.joins import LIMITS
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec
from parquetry.planner.scans import native
from parquetry.prune.report.report import Report

COMET = {"name": "Comet"}
DAY = ColumnStatistics(8, 0, 18_000, 18_009)
Ask = Callable[..., Any]
COLUMNS = (
    TableColumn("k", "long"),
    TableColumn("day", "date"),
    TableColumn("new", "long", metadata={PHYSICAL_NAME: "old"}),
    TableColumn("filled", "long", metadata={EXISTS_DEFAULT: "7L"}),
    TableColumn("name", "char(3)"),
    TableColumn("list", {"type": "array", "elementType": "long", "containsNull": True}),
    TableColumn("p", "long"),
)


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Return a function that plans a scan of a table `t`, of 4 files of its own in partitions `p`.

    Its argument `file` names and describes one more file.
    """
    metastore = open_metastore(str(tmp_path), create=True)
    metastore.create_database("db")
    planner = Planner(NoEngine("UTC"))

    def asked(op: str, **question: Any) -> Any:
        head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(tmp_path)}}
        return json.loads(planner.ask(json.dumps({**head, "op": op, **question})))["ok"]

    def scan(*columns: str, more: FileRecord | None = None, format: str = "parquet", **question: Any) -> Any:
        metadata = TableMetadata(COLUMNS, ("p",), format, f"{tmp_path}/t")  # type: ignore[arg-type]
        table = metastore.create_table("db", "t", metadata)
        transaction = Transaction(table, "append")
        for p in range(4):
            name = f"pq-{table.id.hex()}-{p}.parquet"
            transaction.append((p,), [FileRecord(name, 100, 3, 7, {"day": DAY})])
        if more is not None:
            own = more.path.replace("OWN", f"pq-{table.id.hex()}-9")
            transaction.append((9,), [msgspec.structs.replace(more, path=own)])
        commit(transaction)
        loaded = asked("load_table", namespace=["db"], name="t")["table"]
        about = {"table": loaded, "predicates": [], "columns": list(columns or ("k", "p")), "runtime": []}
        return asked("plan_scan", **about, **question)

    return scan


def test_an_engine_reads_a_plain_scan(ask: Ask) -> None:
    """With a native engine, a plain scan takes Spark's form, and the report names the engine."""
    planned = ask("k", "day", "p", engine=COMET)
    assert planned["native"] == {"reason": None}
    assert planned["report"]["native"] == {"engine": "Comet"}
    text = str(Report.from_dict({"scans": [planned["report"]]}))
    assert text.splitlines()[1] == "  native: Comet reads it"


@pytest.mark.parametrize(
    ("setting", "engine", "wanted"),
    [
        ("auto", None, False),
        ("auto", "Comet", True),
        ("on", None, True),
        ("off", "Comet", False),
    ],
)
def test_the_setting(ask: Ask, setting: str, engine: str | None, wanted: bool) -> None:
    """`native-scans` is on where there is an engine, always, or never."""
    planned = ask(engine={"name": engine}, settings={"parquetry.native-scans": setting})
    assert (planned["native"] is not None) == ("native" in planned["report"]) == wanted


@pytest.mark.parametrize(
    ("columns", "question", "reason"),
    [
        (("new",), {}, "files know column new by another name"),
        (("k", "filled"), {}, "older files lack column filled, which has a default"),
        (("name",), {}, "column name is of type char(3)"),
        (("list",), {}, "column list is of type array<bigint>"),
        (("k",), {"format": "orc"}, "its files are orc"),
        (("k",), {"opens_all": True}, "it reads columns of files themselves, or skips files that are missing or damaged"),
        (("k",), {"files": []}, "a statement rewrites its files"),
        (("k",), {"read_options": {"mergeSchema": "true"}}, "the read has the option 'mergeSchema'"),
        (
            ("k",),
            {"engine": {"name": "Comet", "matching": ["spark.sql.caseSensitive"]}},
            "the session sets spark.sql.caseSensitive",
        ),
        (("k",), {"more": FileRecord("part-0.parquet", 100, 3)}, "another writer wrote part-0.parquet"),
    ],
)  # fmt: skip
def test_scans_that_keep_their_form(
    ask: Ask, columns: tuple[str, ...], question: dict[str, Any], reason: str
) -> None:
    """A scan whose rows could differ in Spark's form keeps its own, and the report says why."""
    planned = ask(*columns, **{"engine": COMET, **question})
    assert planned["native"] == {"reason": reason}
    assert planned["report"]["native"] == {"engine": "Comet", "reason": reason}
    assert f"  not native: {reason}" in str(Report.from_dict({"scans": [planned["report"]]})).splitlines()


def test_options_of_ours_do_not_matter(ask: Ask) -> None:
    """An option of the read that is one of our settings keeps no scan from an engine."""
    planned = ask("k", engine=COMET, read_options={"Runtime-Pruning": "false"})
    assert planned["native"] == {"reason": None}


@pytest.mark.parametrize(
    ("statistics", "engine", "reason"),
    [
        ({}, "Comet", "statistics do not say in which calendar column day is"),
        ({"day": ColumnStatistics(8)}, "Comet", "statistics do not say in which calendar column day is"),
        ({"day": ColumnStatistics(8, 3, trust=Trust.EXACT)}, "Comet", None),
        ({"day": DAY}, "Comet", None),
        ({"day": ColumnStatistics(8)}, None, None),
    ],
)
def test_calendars(
    ask: Ask, statistics: dict[str, ColumnStatistics], engine: str | None, reason: str
) -> None:
    """An engine reads dates only where bounds show that no file has them in the calendar before 1582.

    A file without bounds may be in that calendar, unless all of its rows are NULL. Spark's own readers look
    at each file.
    """
    more = FileRecord("OWN.parquet", 100, 3, 7, statistics)
    planned = ask("day", more=more, engine={"name": engine}, settings={"parquetry.native-scans": "on"})
    assert planned["native"] == {"reason": reason}


def test_many_files_keep_their_form(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan of more files than an engine's scan lists well keeps its form."""
    monkeypatch.setattr(native, "LIMITS", msgspec.structs.replace(LIMITS, native_files=3))
    assert ask(engine=COMET)["native"] == {"reason": "it reads more than 3 files"}
