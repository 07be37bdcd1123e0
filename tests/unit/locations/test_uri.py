"""Parsing of paths and URIs: which are decoded, which are absolute, and which are below others."""

from pathlib import Path

import pytest

from parquetry.errors import WarehouseError
from parquetry.locations.filesystem import open_location
from parquetry.locations.uri import (
    StoragePath,
    absolute_location,
    base_name,
    is_absolute,
    is_below,
    join_location,
    join_relative,
    parent_folder,
    path_below,
    spelled_root,
    storage_path,
    take_apart,
    warehouse_location,
)


@pytest.mark.parametrize(
    ("location", "parts"),
    [
        ("/lake/t", ("", "", "/lake/t")),
        ("p=1/f", ("", "", "p=1/f")),
        ("", ("", "", "")),
        ("a:/f", ("", "", "a:/f")),
        ("1a:/f", ("", "", "1a:/f")),
        ("p=1:/f", ("", "", "p=1:/f")),
        ("file:/lake/x=1%2F2", ("file", "", "/lake/x=1%2F2")),
        ("FILE:///lake/a b?c#d", ("FILE", "//", "/lake/a b?c#d")),
        ("s3a://bucket/t", ("s3a", "//bucket", "/t")),
        ("s3a://bucket", ("s3a", "//bucket", "")),
        ("abfs://c@a.host:1/t\nu", ("abfs", "//c@a.host:1", "/t\nu")),
    ],
)
def test_a_location_is_taken_apart_and_nothing_in_it_decoded(location, parts):
    """Scheme and authority are cut off; `%`, `?` and `#` are characters like any other, as for Hadoop."""
    assert take_apart(location) == parts
    assert "".join((f"{parts[0]}:" if parts[0] else "", *parts[1:])) == location


def test_a_percent_sign_is_an_escape_in_the_uri_of_a_warehouse_only(tmp_path, monkeypatch):
    """A location, its file system and its storage path keep a percent sign; a warehouse's URI decodes it.

    A warehouse's path is never decoded.
    """
    text = "file:/lake/a%20b"
    assert absolute_location(text) == text
    assert open_location(text)[1] == "/lake/a%20b"
    assert storage_path(text) == StoragePath("", "/lake/a%20b")
    assert warehouse_location(text) == "/lake/a b"
    assert warehouse_location("/lake/a%20b") == "/lake/a%20b"
    assert warehouse_location(warehouse_location("file:/lake/a%2520b")) == "/lake/a%20b"
    assert warehouse_location((tmp_path / "ü b%20").as_uri()) == f"{tmp_path}/ü b%20"
    assert warehouse_location("s3a://bucket/a%20b/") == "s3a://bucket/a%20b"
    monkeypatch.chdir(tmp_path)
    assert warehouse_location("a%20b/../c") == f"{tmp_path}/c"
    assert warehouse_location("~/lake") == f"{Path.home()}/lake"


def test_a_warehouse_on_the_disk_of_another_machine_is_refused():
    """`file://` has a third slash; the own machine may be named."""
    assert warehouse_location("file://localhost/lake") == "/lake"
    with pytest.raises(WarehouseError, match=r"'file://lake/t' names a host: write .* file:///path"):
        warehouse_location("file://lake/t")


@pytest.mark.parametrize(
    ("location", "base", "absolute"),
    [
        ("/lake//a/./b/../t/", None, "file:/lake/a/t"),
        ("file:///lake/t", None, "file:/lake/t"),
        ("file://host/t", None, "file:/host/t"),
        ("file:", None, "file:/"),
        ("/", None, "file:/"),
        ("t", "/lake", "file:/lake/t"),
        ("../t", "s3://b/lake", "s3://b/t"),
        ("../../../t", "s3://b/lake", "s3://b/t"),
        ("/t", "s3://b/lake", "file:/t"),
        ("S3a://Bucket/", None, "S3a://Bucket"),
        ("hdfs:///t", None, "hdfs:///t"),
        ("a:b", "/lake", "file:/lake/a:b"),
    ],
)
def test_locations_are_made_absolute_as_hadoop_writes_them(location, base, absolute):
    """Dots are resolved by the text, never above the root; what has no scheme is local."""
    assert absolute_location(location, base) == absolute
    assert absolute_location(absolute) == absolute


def test_relative_locations_begin_in_the_working_directory(tmp_path, monkeypatch):
    """A relative location begins in the driver's working directory, and a path with NUL is an error."""
    monkeypatch.chdir(tmp_path)
    assert absolute_location("a b/t") == f"file:{tmp_path}/a b/t"
    with pytest.raises(WarehouseError, match="character NUL"):
        absolute_location("/t\0")


def test_paths_are_joined_unless_absolute():
    """A colon alone makes no URI: it may stand in a file's name."""
    assert join_location("/lake/t", "p=1/f") == "/lake/t/p=1/f"
    assert join_location("/lake/t/", "/other/f") == "/other/f"
    assert join_location("s3://b/t", "s3://c/f") == "s3://c/f"
    assert join_location("/lake/t", "hdfs:/f") == "hdfs:/f"
    assert join_location("/lake/t", "part:b") == "/lake/t/part:b"
    assert join_location("/lake/t", "") == "/lake/t"
    assert [is_absolute(path) for path in ("", "a:/f", "ab:f", "x/ab:/f", "ab:/f")] == [False] * 4 + [True]
    assert (join_relative("", "f"), join_relative("p=1", "x=2/f")) == ("f", "p=1/x=2/f")


def test_a_path_below_a_location_is_told_by_whole_names():
    """`/lake/t2` is not below `/lake/t`; a location is not below itself."""
    assert path_below("/lake/t/", "/lake/t/p=1/f") == "p=1/f"
    assert [path_below("/lake/t", path) for path in ("/lake/t", "/lake/t2/f", "p=1/f")] == [None] * 3
    assert (base_name("s3://b/t/f"), base_name("f"), base_name("t/")) == ("f", "f", "")


def test_places_are_the_same_however_they_are_written():
    """Slashes, `file:` and S3's three schemes make no difference; letter case and dots do."""
    assert storage_path("/") == storage_path("file:///") == StoragePath("", "/")
    assert (
        storage_path("/a//b/")
        == storage_path("file:///a/b")
        == storage_path("FILE:/a/b")
        == StoragePath("", "/a/b")
    )
    assert storage_path("s3n://b/a") == storage_path("s3://b/a/") == StoragePath("s3://b", "/a")
    assert storage_path("s3://b") == storage_path("s3://b/")
    assert storage_path("/A") != storage_path("/a")
    assert parent_folder(storage_path("/a")) == storage_path("/")
    assert parent_folder(storage_path("s3://b/a/f")) == storage_path("s3://b/a")


def test_the_root_is_above_all():
    """And not below itself; nor is anything below a place of another file system."""
    assert is_below(storage_path("/a"), storage_path("/"))
    assert is_below(storage_path("s3a://b/a"), storage_path("s3://b/"))
    assert not is_below(storage_path("/"), storage_path("/"))
    assert not is_below(storage_path("/a2"), storage_path("/a"))
    assert not is_below(storage_path("s3://b/a/f"), storage_path("/a"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3a://bucket/t", "s3://bucket/t/"),
        ("s3n://bucket/t", "s3a://bucket//t"),
        ("hdfs://names/t", "hdfs://names:8020/t"),
        ("HDFS://names/t", "hdfs://names/t"),
    ],
)
def test_spellings_of_one_place(one: str, other: str) -> None:
    """Schemes of one store and a usual port make no other place; each is opened as it was written."""
    places = storage_path(one), storage_path(other)
    assert places[0] == places[1]
    assert len(set(places)) == 1
    assert is_below(storage_path(f"{one}/p=1"), places[1])
    for location, place in zip((one, other), places, strict=True):
        assert location.startswith(f"{spelled_root(place)}/")
        assert spelled_root(parent_folder(place)) == spelled_root(place)


def test_other_places() -> None:
    """Another bucket, port or store is another place."""
    locations = ("s3://a/t", "s3://b/t", "hdfs://a/t", "hdfs://a:9000/t", "gs://a/t", "/t")
    assert len({storage_path(location) for location in locations}) == len(locations)


@pytest.mark.parametrize(
    "location",
    [
        "s3a://AKIA:topsecret@bucket/t",
        "hdfs://ann:topsecret@names/t",
        "https://bucket.s3.amazonaws.com/t?X-Amz-Algorithm=a&X-Amz-Signature=topsecret",
        "s3://bucket/t?AWSAccessKeyId=a&Signature=topsecret",
        "wasbs://container@account.blob.core.windows.net/t?sv=1&sig=topsecret",
    ],
)
def test_credentials_are_refused(location: str) -> None:
    """A location with a password, a key or a signature is refused, and the message does not show it."""
    for read in (absolute_location, warehouse_location):
        with pytest.raises(WarehouseError, match=r"password|signed URL") as caught:
            read(location)
        assert "topsecret" not in str(caught.value)


def test_users_and_containers_are_no_credentials() -> None:
    """A name before an @, and a question mark in the name of a local folder, are no secrets."""
    for location in ("abfss://container@account.dfs.core.windows.net/t", "hdfs://ann@names/t"):
        assert absolute_location(location) == location
    assert absolute_location("/lake/a?sig=1") == "file:/lake/a?sig=1"
