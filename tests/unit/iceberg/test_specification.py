"""The server holds to Iceberg's OpenAPI: its endpoints, paging, errors, and what it takes for a request."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from parquetry.iceberg import Application, IcebergCatalog, application
from parquetry.metastore import TableMetadata, ViewDefinition
from tests.support.clients.iceberg import ask, served
from tests.support.clients.iceberg_specification import check, specification
from tests.support.readers.python_tables import PythonLake

TABLE = "/v1/namespaces/default/tables/t"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
ANSWERS = {
    "/v1/config": "CatalogConfig",
    "/v1/namespaces": "ListNamespacesResponse",
    "/v1/namespaces/default": "GetNamespaceResponse",
    "/v1/namespaces/default/tables": "ListTablesResponse",
    TABLE: "LoadTableResult",
    f"{TABLE}/plan": "CompletedPlanningWithIDResult",
    f"{TABLE}/tasks": "ScanTasks",
    "/v1/namespaces/default/views": "ListTablesResponse",
    "/v1/namespaces/default/views/v": "LoadViewResult",
}
"""The schemas of successful answers."""
DEEP = 20_000


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    """A lake with three tables and a view; one table has two files."""
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long", "s": "string"}, ["p"])
    made.write("t", "p=1/1.parquet", [{"a": 1, "s": "x"}])
    made.write("t", "p=2/2.parquet", [{"a": 2, "s": "y"}])
    for name in ("u", "w"):
        made.create(name, {"a": "long"})
    view = ViewDefinition("SELECT a FROM lake.default.u", "lake", ("default",))
    columns = made.table("u").metadata.columns
    made.metastore.create_table("default", "v", TableMetadata(columns, (), "parquet", "", view=view))
    return made


@pytest.fixture
def server(lake: PythonLake) -> Application:
    return Application(IcebergCatalog(lake.metastore, files_per_page=1, name="lake"))


def request(
    server: Application, method: str, path: str, body: bytes = b"", agent: str = ""
) -> tuple[int, Any]:
    """Return the status and the decoded body of a response."""
    path, _, query = path.partition("?")
    headers = [(b"user-agent", agent.encode())]
    scope = {"method": method, "raw_path": path.encode(), "query_string": query.encode(), "headers": headers}
    status, content = server.respond(scope, body)
    return status, json.loads(content) if content else None


def advertised(server: Application) -> Iterator[tuple[str, str]]:
    """Yield the methods and paths of the specification that the configuration names."""
    yield "GET", "/v1/config"
    for endpoint in request(server, "GET", "/v1/config")[1]["endpoints"]:
        method, _, path = endpoint.partition(" ")
        yield method, path


def filled(path: str) -> str:
    """Return a path of the specification with names of this lake."""
    names = {"prefix": "", "namespace": "default", "table": "t", "view": "v", "plan-id": "1"}
    return re.sub(r"\{([^}]+)\}", lambda found: names.get(found[1], "x"), path).replace("//", "/")


def body_of(server: Application, path: str) -> bytes:
    """Return a body that a path takes."""
    if not path.endswith("/tasks"):
        return b"{}"
    plan = request(server, "POST", f"{TABLE}/plan", b"{}")[1]
    return json.dumps({"plan-task": plan["plan-tasks"][0]}).encode()


def test_every_advertised_endpoint_answers_as_specified(server: Application) -> None:
    """It is in the specification, succeeds with one of its statuses, and has its schema."""
    paths = specification()["paths"]
    for method, path in advertised(server):
        responses = {str(status) for status in paths[path][method.lower()]["responses"]}
        status, answer = request(server, method, filled(path), body_of(server, path))
        assert status in (200, 204), path
        assert str(status) in responses, path
        if status == 200:
            check(ANSWERS[filled(path)], answer)


def test_what_is_not_advertised_is_an_error(server: Application) -> None:
    """All other endpoints of the specification, and other methods, get 404 or 405 in its form."""
    known = set(advertised(server))
    for path in specification()["paths"]:
        for method in METHODS:
            if (method, path) in known or (method, path) == ("HEAD", "/v1/config"):
                continue
            status, error = request(server, method, filled(path), b"{}")
            assert status in (404, 405), (method, path)
            check("IcebergErrorResponse", error)
            assert error["error"]["code"] == status


@pytest.mark.parametrize(
    ("path", "field", "expected"),
    [
        ("/v1/namespaces", "namespaces", [["default"], ["one"], ["two"]]),
        ("/v1/namespaces/default/tables", "identifiers", ["t", "u", "w"]),
        ("/v1/namespaces/default/views", "identifiers", ["v"]),
    ],
)
def test_lists_come_in_pages(
    server: Application, lake: PythonLake, path: str, field: str, expected: list[Any]
) -> None:
    """A token asks for pages of any size, and without one all names come."""
    for name in ("one", "two"):
        lake.metastore.create_database(name)
    for size in (1, 2, 3):
        given, token = [], ""
        while token is not None:
            status, answer = request(server, "GET", f"{path}?pageToken={token}&pageSize={size}")
            assert (status, len(answer[field]) <= size) == (200, True)
            given += answer[field]
            token = answer["next-page-token"]
        assert [each if isinstance(each, list) else each["name"] for each in given] == expected
    assert request(server, "GET", f"{path}?pageToken=zz")[1][field] == []
    whole = request(server, "GET", f"{path}?pageSize=1")[1]
    assert (whole[field], whole["next-page-token"]) == (given, None)
    for wrong in ("pageToken=&pageSize=-1", "pageToken=&pageSize=0", "pageToken=&pageSize=x"):
        status, error = request(server, "GET", f"{path}?{wrong}")
        assert (status, error["error"]["type"]) == (400, "BadRequestException")


@pytest.mark.parametrize(
    "name", ["a%2Fb", "%00", "x" * 20_000, "", "a%1Fb", "%ED%A0%80", "..%2Fetc", " t", ".."]
)
def test_names_that_cannot_exist_are_not_found(server: Application, name: str) -> None:
    """A client that asks whether there is such a table, namespace or view gets no."""
    for path, kind in (
        (f"/v1/namespaces/{name}", "NoSuchNamespaceException"),
        (f"/v1/namespaces/{name}/tables", "NoSuchNamespaceException"),
        (f"/v1/namespaces/{name}/tables/t", "NoSuchNamespaceException"),
        (f"/v1/namespaces/default/tables/{name}", "NoSuchTableException"),
        (f"/v1/namespaces/default/views/{name}", "NoSuchViewException"),
        (f"{TABLE[:-1]}{name}x%2F/metrics", "NoSuchTableException"),
    ):
        method = "POST" if path.endswith("metrics") else "GET"
        status, error = request(server, method, path)
        assert (status, error["error"]["type"]) == (404, kind), path
    if name:
        assert request(server, "GET", f"/v1/namespaces?parent={name}")[0] == 404


def nested(start: str, end: str, depth: int = DEEP) -> str:
    return start * depth + "true" + end * depth


BAD = [
    "zz", "", "[]", "null", "5", "[" * DEEP, '{"filter":"\ud800"}', '{"snapshot-id":"abc"}', '{"snapshot-id":1.5}',
    '{"snapshot-id":[1]}', '{"snapshot-id":true}', '{"select":5}', '{"select":[1]}', '{"filter":5}', '{"filter":"x"}',
    '{"filter":[]}', '{"filter":{}}', '{"filter":{"type":["and"]}}', '{"filter":{"type":"and"}}', '{"filter":{"type":"not"}}',
    '{"filter":{"type":"not","child":5}}', '{"filter":{"type":"or","left":true}}', '{"filter":{"type":"in","term":"a"}}',
    '{"filter":{"type":"in","term":"a","values":5}}', '{"filter":{"type":"eq","term":"a"}}',
    '{"filter":{"type":"eq","value":1}}', '{"filter":{"type":"is-null"}}', '{"case-sensitive":"no"}', '{"stats-fields":5}',
    '{"filter":{"type":"eq","term":"a","value":NaN}}', f'{{"filter":{nested("[", "]")}}}',
    f'{{"filter":{nested(chr(123) + chr(34) + "type" + chr(34) + ":" + chr(34) + "not" + chr(34) + "," + chr(34) + "child" + chr(34) + ":", "}")}}}',
]  # fmt: skip
ODD = [
    '{"filter":{"type":"eq","term":"nope","value":1}}', '{"filter":{"type":"eq","term":{"a":1},"value":1}}',
    '{"filter":{"type":"eq","term":"a","value":{}}}', '{"filter":{"type":"eq","term":"a","value":[1]}}',
    '{"filter":{"type":"in","term":"a","values":{"type":"literal"}}}', '{"filter":{"type":"in","term":"a","values":[{}, null]}}',
    '{"filter":{"type":"in","term":[],"values":[1]}}', '{"filter":{"type":"is-null","child":{"type":"reference"}}}',
    '{"filter":{"type":"unknown"}}', '{"filter":{"type":"gt","term":"a","value":"1E999999999"}}',
    '{"filter":{"type":"eq","term":"s","value":"\\ud800"}}', '{"filter":{"type":"starts-with","term":"s","value":5}}',
    '{"filter":{"type":"eq","term":"p","value":' + "9" * 100_000 + "}}", '{"snapshot-id":99999999999999999999}', '{"snapshot-id":-1}',
    '{"select":["nope"]}', '{"select":[]}', '{"unknown":1}', '{"min-rows-requested":1}',
]  # fmt: skip


@pytest.mark.parametrize("agent", ["", "PyIceberg/0.12.0", "Apache Iceberg 1.12.0"])
def test_odd_bodies_are_errors_in_the_form_of_the_specification(server: Application, agent: str) -> None:
    """A body that is no request is 400; an odd request gets rows or an error."""
    for text in [*BAD, *ODD]:
        body = text.encode(errors="surrogatepass")
        for path in (f"{TABLE}/plan", f"{TABLE}/tasks", f"{TABLE}/metrics"):
            status, answer = request(server, "POST", path, body, agent)
            assert status < 500, text[:100]
            if status >= 400:
                check("IcebergErrorResponse", answer)
            if text in BAD and path.endswith("/plan"):
                assert status == 400, text[:100]
    for task in ("zzz", "é", "", "AAAA", "lJPAw6A="):
        body = json.dumps({"plan-task": task}).encode()
        assert request(server, "POST", f"{TABLE}/tasks", body, agent)[0] == 400


@pytest.mark.parametrize("depth", [150, 250, 500, 900, 1500, 5000])
def test_filters_of_any_depth_are_answered_or_refused(server: Application, depth: int) -> None:
    """No depth is a fault of the server, in whichever part of it the nesting counts."""
    for node in ({"type": "not", "child": None}, {"type": "and", "left": True, "right": None}):
        start, end = json.dumps(node).split("null")
        body = f'{{"filter":{nested(start, end, depth)}}}'.encode()
        status, answer = request(server, "POST", f"{TABLE}/plan", body, "Apache Iceberg 1.12.0")
        assert status in (200, 400)
        if status == 400:
            check("IcebergErrorResponse", answer)


def test_a_fault_of_the_server_is_an_error_in_the_form_of_the_specification(
    server: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client gets the kind of the fault, and the log has the rest."""
    monkeypatch.setattr(IcebergCatalog, "config", lambda _: {}["a"])
    status, error = request(server, "GET", "/v1/config")
    check("IcebergErrorResponse", error)
    assert (status, error["error"]["type"]) == (500, "InternalServerError")


def status_with(address: str, headers: list[tuple[str, str]]) -> int:
    """Return the status of a request with exactly these headers."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    connection.putrequest("GET", "/v1/config", skip_host=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    with connection.getresponse() as response:
        status = response.status
        response.read()
    connection.close()
    return status


def test_another_host_is_refused(lake: PythonLake) -> None:
    """Without a token, a page whose name leads to this machine reads nothing; with one, any name will do."""
    here = ("localhost", "localhost:8181", "LocalHost:1", "127.0.0.1", "127.0.0.2:80", "[::1]:8181")
    elsewhere = (
        "evil.example",
        "evil.example:8181",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::2]",
        "localhost.evil.example",
    )
    with served(IcebergCatalog(lake.metastore)) as address:
        assert {status_with(address, [("Host", host)]) for host in here} == {200}
        assert {status_with(address, [("Host", host)]) for host in elsewhere} == {403}
    with served(IcebergCatalog(lake.metastore), token="secret") as address:
        for scheme in ("Bearer", "bearer", "BEARER"):
            headers = [("Host", "lake.example"), ("Authorization", f"{scheme} secret")]
            assert status_with(address, headers) == 200
        assert status_with(address, [("Host", "localhost"), ("Authorization", "Basic secret")]) == 401


def test_long_requests_have_a_bounded_length_together(
    lake: PythonLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that does not fit gets 503, and none is kept for somebody without the token."""
    monkeypatch.setattr(application, "_MAX_HELD_BYTES", 1000)
    body = {"filter": {"type": "in", "term": "p", "values": list(range(1000))}}
    with served(IcebergCatalog(lake.metastore), token="secret") as address:
        assert ask(address, "namespaces/default/tables/t/plan", body)[0] == 401
        token = {"Authorization": "Bearer secret"}
        assert ask(address, "namespaces/default/tables/t/plan", body, token)[0] == 503
        assert ask(address, "namespaces/default/tables/t/plan", {}, token)[0] == 200
