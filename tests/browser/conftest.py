"""A browser for all tests of the folder, and pages of a warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.metastore import Metastore
from parquetry.serving import OpenedMetastore
from parquetry.ui.answers import Answers
from parquetry.ui.application import PageApplication
from tests.support.page.browser import Browser, running_browser
from tests.support.page.lakes import make_lake
from tests.support.page.reports import save_reports
from tests.support.page.served import served


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    """The warehouse of `make_lake`, with 20 days of orders."""
    made = make_lake(tmp_path_factory.mktemp("page") / "lake", days=20)
    yield made
    made.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with saved reports."""
    return save_reports(tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="session")
def address(metastore: Metastore, reports: Path) -> Iterator[str]:
    """The page of the warehouse."""
    with served(PageApplication(Answers(OpenedMetastore(metastore), reports=reports))) as address:
        yield address


@pytest.fixture(scope="session")
def running() -> Iterator[Browser]:
    """The browser."""
    with running_browser() as browser:
        yield browser


@pytest.fixture
def browser(running: Browser) -> Browser:
    """The browser with a window of a usual size, and nothing to complain of."""
    running.resize(1280, 800)
    running.problems.clear()
    return running
