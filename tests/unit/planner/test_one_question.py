"""A scan is one question, and a table that has not changed is not described again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec

Ask = Callable[..., Any]
COLUMNS = ["id", "v", "p"]


@pytest.fixture
def metastore(tmp_path: Path) -> Metastore:
    """A metastore of its own beside the planner's, as of another session, with the table `db.t`."""
    metastore = open_metastore(str(tmp_path), create=True)
    metastore.create_database("db")
    columns = (TableColumn("id", "long"), TableColumn("v", "double"), TableColumn("p", "integer"))
    metastore.create_table("db", "t", TableMetadata(columns, ("p",), "parquet", f"{tmp_path}/t"))
    append(metastore, range(4))
    return metastore


def append(metastore: Metastore, partitions: range) -> None:
    """Add a file to each partition, with ids of its own."""
    transaction = Transaction(metastore.table("db", "t"), "append")
    for p in partitions:
        statistics = {
            "id": ColumnStatistics(40, 0, 10 * p, 10 * p + 9),
            "v": ColumnStatistics(60, 0, 0.5, 9.5),
        }
        transaction.append((p,), [FileRecord("x", 100, 10, 7, statistics)])
    commit(transaction)


@pytest.fixture
def ask(tmp_path: Path, metastore: Metastore) -> Ask:
    """Ask the planner of a session about `db.t`."""
    planners = [Planner(NoEngine("UTC"))]

    def ask(op: str, *, restart: bool = False, **question: Any) -> Any:
        if restart:
            planners.append(Planner(NoEngine("UTC")))
        head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(tmp_path)}}
        answer = json.loads(planners[-1].ask(json.dumps({**head, "op": op, **question})))
        return answer["ok"] if "ok" in answer else answer["error"]["code"]

    return ask


def load(ask: Ask, known: dict[str, Any] | None = None, name: str = "t", **more: Any) -> Any:
    """Load a table by its name."""
    return ask("load_relation", namespace=["db"], name=name, known=known, **more)


def test_an_unchanged_table_is_not_described_again(ask: Ask) -> None:
    """A session that knows the newest version learns that it still is, and no more."""
    known = load(ask)["table"]["table"]
    assert load(ask, known) == {"table": None, "view": None, "unchanged": True, "past": False}


def test_a_change_of_another_session_is_described(ask: Ask, metastore: Metastore) -> None:
    """A version that another session has committed is described, and so is the next one."""
    known = load(ask)["table"]["table"]
    for _ in range(2):
        append(metastore, range(1))
        changed = load(ask, known)
        assert changed["table"]["table"]["version"] == known["version"] + 1
        assert not changed["unchanged"]
        known = changed["table"]["table"]
    assert load(ask, known)["unchanged"]


def test_another_table_of_the_name_is_described(ask: Ask, metastore: Metastore) -> None:
    """The planner describes another table under a known name, and a known table under another name."""
    known = load(ask)["table"]["table"]
    metastore.rename_table("db", "t", "db", "other")
    assert load(ask, known) == "TABLE_NOT_FOUND"
    moved = load(ask, known, name="other")
    assert (moved["table"]["table"]["id"], moved["table"]["name"]) == (known["id"], "lake.db.other")
    metastore.create_table("db", "t", metastore.table("db", "other").metadata)
    append(metastore, range(4))
    made = load(ask, known)["table"]["table"]
    assert made["version"] == known["version"]
    assert made["id"] != known["id"]


def test_several_names_are_one_question(ask: Ask, metastore: Metastore) -> None:
    """The tables of a statement are loaded together; a name that cannot be loaded has no answer."""
    metastore.create_table("db", "other", metastore.table("db", "t").metadata)
    known = load(ask)["table"]["table"]
    names = [{"namespace": ["db"], "name": name, "known": known} for name in ("t", "absent", "other")]
    unchanged, absent, other = ask("load_relations", relations=names)["relations"]
    assert (unchanged, absent) == ({"table": None, "view": None, "unchanged": True, "past": False}, None)
    assert other["table"]["name"] == "lake.db.other"
    append(metastore, range(1))
    changed = ask("load_relations", relations=names)["relations"][0]
    assert changed["table"]["table"]["version"] == known["version"] + 1


def test_a_new_planner_describes_all(ask: Ask) -> None:
    """A planner that has described nothing does not rely on what an earlier process has described."""
    known = load(ask)["table"]["table"]
    assert load(ask, known, restart=True)["table"]["table"] == known
    assert load(ask, known)["unchanged"]


def test_a_view_has_no_known_version(ask: Ask) -> None:
    """A view is described each time."""
    view = {"schema": {"type": "struct", "fields": []}, "text": "SELECT 1 AS n"}
    ask("put_view", namespace=["db"], name="w", view=view, mode="create")
    known = load(ask)["table"]["table"]
    assert load(ask, known, name="w")["view"]["text"] == "SELECT 1 AS n"


def condition(function: str, column: str, *values: str, type: str = "bigint") -> dict[str, Any]:
    """Return a condition as the bridge sends it."""
    return {"fn": function, "args": [{"col": [column]}, *({"lit": each, "type": type} for each in values)]}


OF_ID, OF_V = condition("=", "id", "12"), condition(">", "v", "1.5", type="double")
OF_P = condition("=", "p", "1", type="int")
NOT_NULL = condition("IS_NOT_NULL", "v")


@pytest.mark.parametrize(
    ("predicates", "output", "columns"),
    [
        ([OF_P], ["id"], ["id"]),
        ([OF_P], ["id", "p"], ["id", "p"]),
        ([OF_P, OF_ID], ["v"], ["id", "v"]),
        ([OF_P, OF_V, NOT_NULL], ["id"], ["id", "v"]),
        ([OF_ID], [], ["id"]),
        ([OF_P], [], []),
        ([condition("IN", "p", "1", "2", type="int"), OF_ID], ["p", "id"], ["id", "p"]),
    ],
)
@pytest.mark.parametrize("opens_all", [False, True])
def test_conditions_and_scan_are_one_question(
    ask: Ask, predicates: list[dict[str, Any]], output: list[str], columns: list[str], opens_all: bool
) -> None:
    """The plan that comes with the conditions equals the answer to a question of its own.

    It does not read columns of conditions that the planner decides.
    """
    table = load(ask)["table"]["table"]
    scan = {"columns": COLUMNS, "output": output, "opens_all": opens_all}
    apart = ask("push_predicates", table=table, predicates=predicates)
    pushed = ask("push_predicates", table=table, predicates=predicates, scan=scan)
    assert {name: pushed[name] for name in ("exact", "again", "row_groups")} == {
        name: apart[name] for name in ("exact", "again", "row_groups")
    }
    assert apart["scan"] is None
    assert pushed["columns"] == columns
    about = {"table": table, "predicates": predicates, "columns": columns, "opens_all": opens_all}
    assert pushed["scan"] == ask("plan_scan", **about, runtime=[], late=True)


def test_a_condition_on_a_field_reads_its_struct(ask: Ask, metastore: Metastore) -> None:
    """The plan that comes with the condition has the column of the field, and one file."""
    kind = {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]}
    metadata = TableMetadata((TableColumn("id", "long"), TableColumn("s", kind)), (), "parquet", "file:/t")
    transaction = Transaction(metastore.create_table("db", "n", metadata), "append")
    for number in range(3):
        field = ColumnStatistics(None, 0, 10 * number, 10 * number + 9, trust=2)
        known = {"id": ColumnStatistics(40, 0, 1, 9, trust=2), "s": ColumnStatistics(60), "s\x7fa": field}
        transaction.append((), [FileRecord(f"f{number}", 100, 10, 7, known)])
    commit(transaction)
    table = load(ask, name="n")["table"]["table"]
    of_field = {"fn": "=", "args": [{"col": ["S", "A"]}, {"lit": "12", "type": "bigint"}]}
    scan = {"columns": ["id", "s"], "output": ["id"], "opens_all": False}
    pushed = ask("push_predicates", table=table, predicates=[of_field], scan=scan)
    assert pushed["columns"] == ["id", "s"]
    assert pushed["scan"]["files"]["names"] == "f1"


def test_a_condition_that_comes_again_defers_the_plan(ask: Ask) -> None:
    """If Spark is to evaluate a condition over partitions, the scan has more conditions than these."""
    table = load(ask)["table"]["table"]
    unknown = {"fn": "MYSTERY", "args": [{"col": ["p"]}], "sql": "mystery(p)"}
    scan = {"columns": COLUMNS, "output": ["id"], "opens_all": False}
    pushed = ask("push_predicates", table=table, predicates=[unknown], scan=scan)
    assert pushed["again"] == [True]
    assert pushed["scan"] is None


def runtime_candidate(table: dict[str, Any], column: str, **more: Any) -> dict[str, Any]:
    """Return a candidate for a filter of `db.t` by the values of a small table, as the bridge sends it."""
    steps = [{"name": "files", "kept": 4, "of": 4, "by": [], "not_by": []}]
    facts = {
        "scan": 0, "report": {"table": "lake.db.t", "steps": steps}, "bytes": 400 << 20, "column": column, "form": "column",
        "filterable": True, "join": 1, "type": "INNER", "side": "left", "steps": [], "equality": True, "null_aware": False,
        "build": {"name": "lake.db.d", "key": "k", "size": 100, "cost": 100, "files": 1}, "source": 1, "narrowed": False,
        "shared": True,
    }  # fmt: skip
    return {"table": table, "columns": [column], "facts": facts | more}


def test_known_values_come_first(ask: Ask) -> None:
    """Plan-time values that narrow a scan are the whole answer, as the bridge asks again about the narrowed
    plan; without them all candidates are judged at once.
    """
    table = load(ask)["table"]["table"]
    known = {"count": 1, "complete": False, "useful": True}
    of_partition = runtime_candidate(table, "p", known=known)
    of_id = runtime_candidate(table, "id", join=2, source=2)

    def verdicts(*candidates: dict[str, Any], known_first: bool) -> list[str]:
        found = ask("plan_joins", candidates=list(candidates), known_first=known_first)["verdicts"]
        return [verdict["how"] for verdict in found]

    at_once = verdicts(of_partition, of_id, known_first=False)
    assert at_once[0] == "known"
    assert at_once[1] in ("shared", "collected")
    assert verdicts(of_partition, of_id, known_first=True) == ["known", "refused"]
    useless = runtime_candidate(table, "p", known=known | {"useful": False})
    for candidates in ([useless, of_id], [of_id]):
        both = [verdicts(*candidates, known_first=first) for first in (True, False)]
        assert both[0] == both[1]
        assert both[0][-1] == at_once[1]
