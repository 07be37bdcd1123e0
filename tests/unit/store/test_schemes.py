"""Stores of other packages: an entry point's scheme opens them, wherever a store's URL is taken."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import parquetry
from parquetry.errors import ConfigurationError
from parquetry.metastore import open_metastore
from parquetry.store import SQLiteStore, open_store

PACKAGE = """
from parquetry.store import SQLiteStore

def open_store(url, *, create):
    return SQLiteStore(url.removeprefix("drawer:"), create=create)
"""
POINTS = """
[parquetry.stores]
drawer = {drawer}
sqlite = drawers:no_such_thing
broken = drawers:no_such_thing
"""


@pytest.fixture
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package that adds two schemes, one of them broken, and that tries to replace one of ours."""
    site = tmp_path / "site"
    (site / "drawers-1.0.dist-info").mkdir(parents=True)
    (site / "drawers.py").write_text(PACKAGE)
    (site / "drawers-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: drawers\nVersion: 1.0\n"
    )
    (site / "drawers-1.0.dist-info" / "entry_points.txt").write_text(
        POINTS.format(drawer="drawers:open_store")
    )
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("drawers", None)


@pytest.mark.usefixtures("_package")
def test_an_installed_package_adds_a_store(tmp_path: Path) -> None:
    """Its URL makes a metastore, which is opened again by it."""
    url = f"drawer:{tmp_path / 'rows.sqlite'}"
    with open_metastore(str(tmp_path / "lake"), store=url, create=True) as metastore:
        metastore.create_database("shop")
    assert isinstance(open_store(url, str(tmp_path)), SQLiteStore)
    assert parquetry.open(tmp_path / "lake", store=url).databases() == ["default", "shop"]


@pytest.mark.usefixtures("_package")
def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    """The error names the URL, what is missing and the package."""
    with pytest.raises(
        ConfigurationError, match=r"'broken:\*\*\*' needs drawers:no_such_thing of the package drawers"
    ):
        open_store("broken:x", str(tmp_path))


@pytest.mark.usefixtures("_package")
def test_no_package_takes_a_scheme_of_ours(tmp_path: Path) -> None:
    """A store in SQLite stays one."""
    open_store(f"sqlite://{tmp_path / 'a.sqlite'}", str(tmp_path), create=True).close()
    assert (tmp_path / "a.sqlite").exists()


@pytest.mark.usefixtures("_package")
def test_an_unknown_scheme_names_those_of_packages(tmp_path: Path) -> None:
    """The error lists what can be opened here."""
    with pytest.raises(ConfigurationError, match=r"'memory', 'broken:…' and 'drawer:…'"):
        open_store("nothing://x", str(tmp_path))
    with pytest.raises(ConfigurationError, match="'drawer' is not known"):
        open_store("drawer", str(tmp_path))
