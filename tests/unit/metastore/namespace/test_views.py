"""Views in the metastore: names of the same kind as tables', which neither takes from the other."""

from __future__ import annotations

import pytest

from parquetry.catalog import Catalog
from parquetry.errors import NamespaceNotEmptyError, OtherKindError, TableExistsError, TableNotFoundError
from parquetry.metastore import Metastore, Replacement
from parquetry.metastore.deletion.claims import claims
from parquetry.metastore.deletion.file_access import FileAccess, RealPaths
from parquetry.metastore.namespace.staging import create_staged
from parquetry.metastore.storage.owner import Owner
from parquetry.metastore.vacuuming.vacuum import remove_orphans
from parquetry.store import MemoryStore
from tests.support.stores.metastores import metadata
from tests.support.tables.arrangements import full_view


@pytest.fixture
def both() -> Metastore:
    """A table `t` and a view `v`."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_table("default", "t", metadata())
    metastore.create_table("default", "v", full_view())
    return metastore


def test_each_is_found_as_what_it_is(both: Metastore) -> None:
    """By its kind, or by either; by the other kind there is none, and the error says which it is."""
    assert (both.tables("default"), both.views("default")) == (["t"], ["v"])
    assert both.table("default", "V", kind="view").metadata == full_view()
    assert {both.table("default", name, kind=None).metadata.kind for name in "tv"} == {"table", "view"}
    with pytest.raises(OtherKindError, match=r"default\.v is a view, not a table"):
        both.table("default", "v")
    with pytest.raises(OtherKindError, match=r"default\.t is a table, not a view"):
        both.table("default", "t", kind="view")
    with pytest.raises(TableNotFoundError, match=r"View default\.w does not exist; SHOW VIEWS IN default"):
        both.table("default", "w", kind="view")
    with pytest.raises(OtherKindError):
        both.drop_table("default", "v")
    with pytest.raises(OtherKindError):
        both.drop_table("default", "t", kind="view")
    with pytest.raises(OtherKindError):
        both.rename_table("default", "v", "default", "w")
    assert (both.tables("default"), both.views("default")) == (["t"], ["v"])


def test_neither_takes_the_others_name(both: Metastore) -> None:
    """Not by being made, replaced or renamed; what was tried leaves nothing."""
    with pytest.raises(TableExistsError, match=r"View default\.v exists already"):
        both.create_table("default", "v", metadata())
    with pytest.raises(TableExistsError, match=r"Table default\.t exists already"):
        both.create_table("default", "t", full_view())
    with pytest.raises(TableExistsError, match=r"View default\.v exists"):
        both.rename_table("default", "t", "default", "v")
    with pytest.raises(TableExistsError, match=r"Table default\.t exists"):
        both.rename_table("default", "v", "default", "t", kind="view")
    with pytest.raises(OtherKindError, match=r"default\.v is a view, not a table"):
        Replacement(both.table("default", "v"), metadata())
    assert both.table("default", "v", kind="view").metadata == full_view()
    assert both.table("default", "t").metadata == metadata()


def test_a_database_with_a_view_is_not_empty(both: Metastore) -> None:
    """It is dropped with CASCADE only, and its views go with it."""
    both.create_database("db")
    both.create_table("db", "only", full_view())
    with pytest.raises(NamespaceNotEmptyError, match="has tables or views: only"):
        both.drop_database("db")
    both.drop_database("db", cascade=True)
    both.create_database("db")
    assert both.views("db") == []


def test_a_view_lies_nowhere(both: Metastore) -> None:
    """No place is taken by one, and where the making of one was cut short no file is looked for."""
    assert [claim.label for claim in claims(both.store, RealPaths())] == ["table default.t"]
    create_staged(both.store, full_view(), Owner(b"nonce", 0, "elsewhere", 1, ""))
    removed = remove_orphans(both.store, FileAccess())
    assert (removed.tables, removed.files) == (1, ())
    assert both.views("default") == ["v"]


def test_without_spark_a_view_is_told_from_what_is_missing(both: Metastore) -> None:
    """An error about a view's partitions says that it is a view."""
    with pytest.raises(TableNotFoundError, match=r"default\.v is a view"):
        Catalog(both).table("v")
    assert Catalog(both).tables() == ["default.t"]
