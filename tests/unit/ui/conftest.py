"""A warehouse to look at, and its answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.catalog import Catalog
from parquetry.metastore import Metastore
from parquetry.serving import OpenedMetastore
from parquetry.ui.answers import Answers
from tests.support.page.lakes import make_lake


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    """The warehouse of `make_lake`, with 20 days of orders."""
    made = make_lake(tmp_path_factory.mktemp("page") / "lake", days=20)
    yield made
    made.close()


@pytest.fixture
def catalog(metastore: Metastore) -> Catalog:
    """Its catalog."""
    return Catalog(metastore)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A folder for reports."""
    folder = tmp_path / "reports"
    folder.mkdir()
    return folder


@pytest.fixture
def answers(metastore: Metastore, reports: Path) -> Answers:
    """Its answers."""
    return Answers(OpenedMetastore(metastore), reports=reports)
