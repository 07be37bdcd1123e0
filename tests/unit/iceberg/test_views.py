"""Views are served as Iceberg views where their text names tables of the served catalog alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.iceberg import IcebergCatalog
from parquetry.metastore import TableMetadata, ViewDefinition
from tests.support.clients.iceberg import ask, served
from tests.support.readers.cases import column
from tests.support.readers.python_tables import PythonLake
from tests.unit.iceberg.test_server import check

VIEWS = "namespaces/default/views"
Create = Callable[..., None]


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"id": "long"})
    return made


@pytest.fixture
def create(lake: PythonLake) -> Create:
    """Create a view `v` of one column, by its text and current catalog."""

    def make(text: str, catalog: str | None = "lake", kind: str = "long", **more: object) -> None:
        view = ViewDefinition(text, catalog, ("default",), **more)
        metadata = TableMetadata((column("n", kind),), (), "parquet", "", comment="few", view=view)
        lake.metastore.create_table("default", "v", metadata)

    return make


def test_a_view_is_loaded(lake: PythonLake, create: Create) -> None:
    """The answer has Iceberg's form, with Spark's text and the namespace of bare names."""
    create("SELECT id FROM t", query_columns=("id",))
    with served(IcebergCatalog(lake.metastore, name="lake")) as address:
        _, config = ask(address, "config")
        assert [each for each in config["endpoints"] if each.endswith("/views/{view}")] != []
        _, names = ask(address, VIEWS)
        check("ListTablesResponse", names)
        assert names["identifiers"] == [{"namespace": ["default"], "name": "v"}]
        status, result = ask(address, f"{VIEWS}/v")
        check("LoadViewResult", result)
        assert ask(address, f"{VIEWS}/none")[1]["error"]["type"] == "NoSuchViewException"
        assert ask(address, f"{VIEWS}/t")[1]["error"]["type"] == "NoSuchViewException"
    metadata = result["metadata"]
    (version,) = metadata["versions"]
    assert status == 200
    assert version["representations"] == [{"type": "sql", "sql": "SELECT id FROM t", "dialect": "spark"}]
    assert version["default-namespace"] == ["default"]
    assert "default-catalog" not in version
    assert metadata["properties"] == {"comment": "few", "spark.query-column-names": "id"}
    assert [field["name"] for field in metadata["schemas"][0]["fields"]] == ["n"]


@pytest.mark.parametrize(
    ("text", "catalog", "expected"),
    [
        ("SELECT id FROM lake.default.t", "spark_catalog", "SELECT id FROM default.t"),
        ("SELECT id FROM `LAKE` . `default`.t x JOIN lake.d.u USING (id)", None, "SELECT id FROM `default`.t x JOIN d.u USING (id)"),
        ("WITH c AS (SELECT 1 AS id) SELECT id FROM c", "spark_catalog", "WITH c AS (SELECT 1 AS id) SELECT id FROM c"),
        ("SELECT id FROM range(5)", "spark_catalog", "SELECT id FROM range(5)"),
        ("SELECT 'é lake.default.t' AS s, id FROM lake.default.t -- lake.x.y", "pond", "SELECT 'é lake.default.t' AS s, id FROM default.t -- lake.x.y"),
        ("SELECT id FROM default.t WHERE id IN (SELECT id FROM lake.default.t)", "Lake", "SELECT id FROM default.t WHERE id IN (SELECT id FROM default.t)"),
        ("SELECT id FROM t", "spark_catalog", None),
        ("SELECT id FROM default.t", "spark_catalog", None),
        ("SELECT id FROM pond.default.t", "lake", None),
        ("SELECT id FROM lake.a.b.t", "lake", None),
        ("SELECT FROM FROM", "lake", None),
    ],
)  # fmt: skip
def test_names_of_tables(
    lake: PythonLake, create: Create, text: str, catalog: str | None, expected: str | None
) -> None:
    """Tables lose the catalog's name, and a view that reads another catalog is refused."""
    create(text, catalog)
    with served(IcebergCatalog(lake.metastore, name="lake")) as address:
        status, result = ask(address, f"{VIEWS}/v")
    if expected is None:
        check("IcebergErrorResponse", result)
        assert (status, "cannot be read by Iceberg's readers" in result["error"]["message"]) == (406, True)
    else:
        (version,) = result["metadata"]["versions"]
        assert version["representations"][0]["sql"] == expected


def test_columns_that_iceberg_has_not(lake: PythonLake, create: Create) -> None:
    """A view of such a column is refused, as a table is."""
    create("SELECT 'x' AS n", kind="char(3)")
    with served(IcebergCatalog(lake.metastore, name="lake")) as address:
        assert ask(address, f"{VIEWS}/v")[0] == 406


def test_without_a_name_no_view_is_served(lake: PythonLake, create: Create) -> None:
    """A server that does not know the catalog's name in Spark lists no view, and says how to serve them."""
    create("SELECT id FROM t")
    with served(IcebergCatalog(lake.metastore)) as address:
        assert ask(address, VIEWS)[1]["identifiers"] == []
        status, error = ask(address, f"{VIEWS}/v")
        assert (status, "--catalog" in error["error"]["message"]) == (404, True)
        assert [each for each in ask(address, "config")[1]["endpoints"] if "/views" in each] == []
