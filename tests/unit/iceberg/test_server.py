"""The served catalog answers as Iceberg's REST specification says."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parquetry.errors import ConfigurationError
from parquetry.iceberg import IcebergCatalog, ServedWarehouse, serve
from parquetry.metastore import Transaction, commit
from tests.support.clients.iceberg import ask, served
from tests.support.clients.iceberg_specification import check
from tests.support.readers.python_tables import PythonLake

JAVA = {"X-Client-Version": "Apache Iceberg 1.12.0"}
TABLE = "namespaces/default/tables/t"


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "date", "a": "long", "s": "string"}, ["p"], comment="About it.")
    for day in (1, 2, 3):
        made.write("t", f"p=2026-11-0{day}/f.parquet", [{"a": day, "s": "x"}])
    made.write("t", "p=2026-11-03/g.parquet", [{"a": 9, "s": "y"}])
    return made


@pytest.fixture
def address(lake: PythonLake) -> Iterator[str]:
    with served(IcebergCatalog(lake.metastore, files_per_page=2)) as at:
        yield at


def test_names(address: str, lake: PythonLake) -> None:
    """Databases and tables are listed, and what is not there is an error of Iceberg's kind."""
    status, config = ask(address, "config")
    check("CatalogConfig", config)
    assert (status, config["overrides"]) == (200, {"scan-planning-mode": "server"})
    _, namespaces = ask(address, "namespaces")
    check("ListNamespacesResponse", namespaces)
    assert namespaces == {"namespaces": [["default"]], "next-page-token": None}
    assert ask(address, "namespaces?parent=default")[1]["namespaces"] == []
    check("GetNamespaceResponse", ask(address, "namespaces/default")[1])
    _, tables = ask(address, "namespaces/default/tables")
    check("ListTablesResponse", tables)
    assert tables["identifiers"] == [{"namespace": ["default"], "name": "t"}]
    for path, kind in (
        ("namespaces/none", "NoSuchNamespaceException"),
        ("namespaces/a%1Fb/tables", "NoSuchNamespaceException"),
        ("namespaces/none/tables/t", "NoSuchNamespaceException"),
        ("namespaces/default/tables/none", "NoSuchTableException"),
    ):
        status, error = ask(address, path, headers=JAVA)
        check("IcebergErrorResponse", error)
        assert (status, error["error"]["type"]) == (404, kind)


def test_a_table_is_loaded_with_all_versions(address: str, lake: PythonLake) -> None:
    """Each readable version is a snapshot with its schema; names of dropped columns stay in the mapping."""
    before = lake.table("t").version
    columns = lake.table("t").metadata.columns
    lake.alter("t", columns=columns[:2], dropped=(("s",),))
    status, result = ask(address, TABLE, headers=JAVA)
    check("LoadTableResult", result)
    metadata = result["metadata"]
    assert (status, result["config"]) == (200, {"scan-planning-mode": "server"})
    assert metadata["properties"]["comment"] == "About it."
    for written in ("write.data.path", "write.metadata.path"):
        assert metadata["properties"][written] == f"{metadata['location']}/_iceberg/refused"
    assert metadata["properties"]["schema.name-mapping.default"].count('"names":["s"]') == 1
    assert metadata["current-snapshot-id"] == before + 1 == lake.table("t").version
    assert [each["snapshot-id"] for each in metadata["snapshots"]] == list(range(1, before + 2))
    assert [each["schema-id"] for each in metadata["snapshots"]] == [0] * before + [1]
    assert [[field["id"] for field in schema["fields"]] for schema in metadata["schemas"]] == [
        [3, 1, 2],
        [3, 1],
    ]
    assert all(each["manifest-list"] for each in metadata["snapshots"])
    assert not (lake.folder / "default.db" / "t" / "_iceberg").exists()


def test_a_table_without_files_has_no_snapshot(lake: PythonLake) -> None:
    """Iceberg's readers take it for an empty table."""
    lake.create("empty", {"a": "long"})
    with served(IcebergCatalog(lake.metastore)) as address:
        _, result = ask(address, "namespaces/default/tables/empty")
    check("LoadTableResult", result)
    assert (result["metadata"]["current-snapshot-id"], result["metadata"]["snapshots"]) == (-1, [])


def test_a_plan_comes_in_pages(address: str, lake: PythonLake) -> None:
    """Pages go on within a partition, of the version that the plan was of; each task has the whole filter."""
    condition = {"type": "gt-eq", "term": "p", "value": "2026-11-02"}
    _, plan = ask(address, f"{TABLE}/plan", {"filter": condition}, JAVA)
    check("CompletedPlanningWithIDResult", plan)
    lake.write("t", "p=2026-11-04/f.parquet", [{"a": 7, "s": "z"}])
    paths = [task["data-file"]["file-path"] for task in plan["file-scan-tasks"]]
    (following,) = plan["plan-tasks"]
    _, page = ask(address, f"{TABLE}/tasks", {"plan-task": following}, JAVA)
    check("ScanTasks", page)
    assert "plan-tasks" not in page
    paths += [task["data-file"]["file-path"] for task in page["file-scan-tasks"]]
    folder = (lake.folder / "default.db" / "t").as_uri()
    assert paths == [f"{folder}/p=2026-11-0{name}.parquet" for name in ("2/f", "3/f", "3/g")]
    (task,) = page["file-scan-tasks"]
    assert task["residual-filter"] == condition
    assert task["data-file"]["partition"] == ["2026-11-03"]
    assert (task["data-file"]["record-count"], task["data-file"]["spec-id"]) == (1, 0)


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_pages_have_each_file_once(lake: PythonLake, limit: int) -> None:
    """A plan's pages together have all files of its version."""
    with served(IcebergCatalog(lake.metastore, files_per_page=limit)) as address:
        for version in range(1, 5):
            _, page = ask(address, f"{TABLE}/plan", {"snapshot-id": version}, JAVA)
            paths, pages = [task["data-file"]["file-path"] for task in page["file-scan-tasks"]], 1
            while "plan-tasks" in page:
                _, page = ask(address, f"{TABLE}/tasks", {"plan-task": page["plan-tasks"][0]}, JAVA)
                paths += [task["data-file"]["file-path"] for task in page["file-scan-tasks"]]
                pages += 1
            assert len(set(paths)) == len(paths) == version
            assert pages == max(1, -(-version // limit))


def test_statistics_of_files_prune(address: str) -> None:
    """A condition on a data column leaves files out by their minimum and maximum."""
    _, plan = ask(address, f"{TABLE}/plan", {"filter": {"type": "eq", "term": "a", "value": 2}}, JAVA)
    assert [task["data-file"]["partition"] for task in plan["file-scan-tasks"]] == [["2026-11-02"]]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        (f"{TABLE}/plan", {"snapshot-id": 99}, 404, "no version 99"),
        (f"{TABLE}/plan", {"start-snapshot-id": 1, "end-snapshot-id": 2}, 406, "scan one snapshot"),
        (f"{TABLE}/tasks", {"plan-task": "no!"}, 400, "is not a plan task"),
        (f"{TABLE}/tasks", {"plan-task": "é"}, 400, "is not a plan task"),
        (f"{TABLE}/tasks", {}, 400, "required field `plan-task`"),
        (f"{TABLE}/plan", [], 400, "Expected `object`"),
        ("namespaces/default/tables/none/plan", {}, 404, "none"),
    ],
)
def test_bad_requests(address: str, path: str, body: Any, status: int, message: str) -> None:
    """The answer says what is wrong, in Iceberg's form."""
    code, error = ask(address, path, body, JAVA)
    check("IcebergErrorResponse", error)
    assert code == status
    assert message in error["error"]["message"]


def test_nothing_is_written(address: str) -> None:
    """No request creates, changes or drops anything; reports of clients are taken and forgotten."""
    status, error = ask(address, "namespaces", {"namespace": ["new"]})
    check("IcebergErrorResponse", error)
    assert (status, error["error"]["type"]) == (405, "UnsupportedOperationException")
    assert ask(address, "no/such/path")[0] == 404
    assert ask(address, f"{TABLE}", {"requirements": [], "updates": []})[0] == 405
    assert ask(address, f"{TABLE}/metrics", {"report-type": "scan-report"}) == (204, None)


def test_a_token_is_required_of_every_request(lake: PythonLake) -> None:
    """Requests without the token get no answer, not even the configuration."""
    with served(IcebergCatalog(lake.metastore), token="secret") as address:
        for path in ("config", "namespaces", TABLE):
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
                status, error = ask(address, path, headers=headers)
                assert (status, error["error"]["type"]) == (401, "NotAuthorizedException")
            assert ask(address, path, headers={"Authorization": "Bearer secret", **JAVA})[0] == 200
        assert ask(address, f"{TABLE}/plan", {})[0] == 401


def test_no_credentials_are_handed_out(address: str) -> None:
    """The configuration of a table has the mode of planning alone."""
    _, result = ask(address, TABLE, headers=JAVA)
    assert result.keys() == {"metadata", "config"}


def test_other_machines_need_a_token(lake: PythonLake) -> None:
    """A server that others reach is refused without one."""
    with pytest.raises(ConfigurationError, match="give --token"):
        serve(ServedWarehouse(str(lake.folder)), "0.0.0.0", 0)


def test_versions_of_before_a_replacement_are_no_snapshots(address: str, lake: PythonLake) -> None:
    """Field ids begin anew there, so that an earlier version's would mean other columns."""
    table = lake.table("t")
    transaction = Transaction(table, "replace")
    transaction.come_back(table, table.metadata.__replace__(replacement="00ff"))
    commit(transaction)
    _, result = ask(address, TABLE, headers=JAVA)
    assert [each["snapshot-id"] for each in result["metadata"]["snapshots"]] == [5]
    status, error = ask(address, f"{TABLE}/plan", {"snapshot-id": 4}, JAVA)
    assert (status, "before the table was replaced" in error["error"]["message"]) == (404, True)


def head(address: str, path: str) -> int:
    """Return the status of a HEAD request, whose response has no body."""
    request = urllib.request.Request(f"{address}/v1/{path}", method="HEAD")
    try:
        with urllib.request.urlopen(request) as response:
            assert response.read() == b""
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_names_that_exist(address: str) -> None:
    """A client that wants to know whether something exists gets a status alone; paths may be escaped."""
    assert [head(address, path) for path in ("namespaces/de%66ault", TABLE)] == [204, 204]
    missing = ("namespaces/none", "namespaces/default/tables/none", "namespaces/default/views/none")
    assert [head(address, path) for path in missing] == [404, 404, 404]
    assert head(address, f"{TABLE}/more") == 405
