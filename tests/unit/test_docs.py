"""The pages that are generated from the code say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parquetry.config import SPARK_SERIES
from parquetry.config.reference import reference
from parquetry.metastore import ColumnStatistics, FileRecord, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from tests.support.stores.metastores import metadata

ROOT = Path(__file__).parents[2]


def test_configuration_reference_is_current() -> None:
    """docs/configuration.md is what the registry of settings writes."""
    assert (ROOT / "docs" / "configuration.md").read_text() == reference(), "run `make docs`"


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/concepts.md",
        "docs/configuration.md",
        "docs/sql.md",
        "docs/hbase.md",
        "docs/postgresql.md",
        "docs/list-bucketing.md",
        "docs/buckets.md",
        "docs/runtime-pruning.md",
        "docs/streaming.md",
        "docs/benchmarks.md",
        "docs/coming-from.md",
        "docs/operating.md",
        "docs/sql-clients.md",
        "docs/versions.md",
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    """A link to a file of the project leads to one."""
    path = ROOT / page
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_versions_and_what_they_lack_are_listed() -> None:
    """docs/versions.md has a column for each series of Spark, and says what each lacks and why."""
    page = (ROOT / "docs" / "versions.md").read_text()
    assert f"| feature | {' | '.join(SPARK_SERIES)} |" in page
    for missing in SPARK_SERIES.values():
        for each in missing:
            assert f"no: {each.reason}" in page


def test_who_can_read_a_metastore_is_said_to_see_minimum_and_maximum(tmp_path: Path) -> None:
    """A metastore alone gives the values of a file that nobody can read, and its rights are the folder's: both are in the docs."""
    warehouse = tmp_path / "lake"
    warehouse.mkdir()
    warehouse.chmod(0o750)
    with open_metastore(str(warehouse), create=True) as metastore:
        transaction = Transaction(
            metastore.create_table("default", "t", metadata(location=f"{warehouse}/t")), "append"
        )
        statistics = {"id": ColumnStatistics(10, 0, 17, 4711)}
        transaction.append((1, "a"), [FileRecord("not-there.parquet", 10, 2, 1, statistics)])
        commit(transaction)
    with open_metastore(str(warehouse)) as metastore:
        ((file,),) = (part.files for part in metastore.table("default", "t").partitions())
        assert file.columns is not None
        assert (file.columns["id"].min, file.columns["id"].max) == (17, 4711)
    modes = [path.stat().st_mode & 0o777 for path in warehouse.rglob("*") if path.is_file()]
    assert modes
    assert all(mode | 0o640 == 0o640 for mode in modes)
    page = (ROOT / "docs" / "configuration.md").read_text().replace("\n", " ")
    (sentence,) = re.findall(r"Anyone who can read a metastore [^.]*\.[^.]*\.", page)
    assert "minimum and maximum values of files" in sentence
    assert "including files that he may not read" in sentence
    assert "the rights of the warehouse's folder" in sentence
    anchor = "who-may-read-and-who-may-ask"
    assert f"concepts.md#{anchor}" in page
    headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / "concepts.md").read_text(), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
