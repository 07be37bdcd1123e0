"""File systems outside of an engine take options by the names of pandas and Polars.

Their errors say what to do.
"""

from __future__ import annotations

import contextlib
import socket

import pyarrow.fs as pafs
import pytest

from parquetry.errors import ConfigurationError, WarehouseError
from parquetry.locations import ArrowFileSystems, current_file_systems, open_location, use_file_systems
from parquetry.locations.arrow_file_systems import s3_arguments

WANTED = {
    "access_key": "k",
    "secret_key": "s",
    "region": "eu-central-1",
    "scheme": "http",
    "endpoint_override": "localhost:9000",
}


@pytest.mark.parametrize(
    "options",
    [
        {
            "key": "k",
            "secret": "s",
            "client_kwargs": {"endpoint_url": "http://localhost:9000", "region_name": "eu-central-1"},
        },
        {
            "aws_access_key_id": "k",
            "aws_secret_access_key": "s",
            "aws_region": "eu-central-1",
            "aws_endpoint_url": "http://localhost:9000",
            "aws_allow_http": "true",
        },
    ],
    ids=["pandas", "polars"],
)
def test_options_of_s3(options: dict[str, object]) -> None:
    """pandas and Polars name S3's options differently; both mean the same."""
    assert s3_arguments(options) == WANTED


def test_unknown_options() -> None:
    """An option that is unknown is named, and its value is not shown."""
    with pytest.raises(ConfigurationError, match="'aws_acess_key' is unknown") as caught:
        s3_arguments({"aws_acess_key": "hidden"})
    assert "hidden" not in str(caught.value)


def test_s3_with_options() -> None:
    """A bucket is opened with the options, whichever of Hadoop's schemes names it."""
    systems = ArrowFileSystems({"anon": True, "region": "us-east-1"})
    for scheme in ("s3", "s3a", "s3n"):
        filesystem, path = systems.open(f"{scheme}://bucket/a/b")
        assert isinstance(filesystem, pafs.S3FileSystem)
        assert path == "bucket/a/b"


def test_file_systems_in_use() -> None:
    """Within a block, locations are opened by its file systems; local ones by the local disk in any case."""
    opened: list[str] = []

    class Recorded:
        """Records what is opened."""

        def open(self, location: str, /) -> tuple[pafs.FileSystem, str]:
            """Return any file system."""
            opened.append(location)
            return pafs.LocalFileSystem(), location

        def for_threads(self) -> Recorded:
            """Return this."""
            return self

    recorded = Recorded()
    with use_file_systems(recorded):
        assert current_file_systems() is recorded
        open_location("hdfs://names/t")
        assert open_location("/t") == (pafs.LocalFileSystem(), "/t")
    assert opened == ["hdfs://names/t"]
    assert current_file_systems() is not recorded


def test_hdfs_outside_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """If HDFS cannot be reached, the error names the package to install, and stays short."""
    monkeypatch.setattr("parquetry.locations.arrow_file_systems.is_native_hdfs", lambda _: False)
    with pytest.raises(WarehouseError, match="pip install hdfs-native fsspec") as caught:
        open_location("hdfs://names:8020/t")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("authority", ["no-such-host.invalid:8020", "no-such-host.invalid", "127.0.0.1:1"])
def test_a_name_node_that_does_not_answer(authority: str) -> None:
    """A host that does not exist, or does not answer, is named at once, and not after minutes of attempts."""
    pytest.importorskip("hdfs_native")
    host = authority.partition(":")[0]
    with pytest.raises(WarehouseError, match=rf"HDFS at {host}:\d+ does not answer .* Check the host"):
        ArrowFileSystems().open(f"hdfs://{authority}/lake")


def test_a_silent_name_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that accepts no connection costs the seconds of one attempt."""
    pytest.importorskip("hdfs_native")
    monkeypatch.setattr("parquetry.locations.arrow_file_systems.CONNECT_SECONDS", 0.2)
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.socket())
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        address = silent.getsockname()
        for _ in range(8):  # they fill the queue of those who wait to be accepted
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        with pytest.raises(WarehouseError, match=r"does not answer \(timed out\)"):
            ArrowFileSystems().open(f"hdfs://127.0.0.1:{address[1]}/lake")
