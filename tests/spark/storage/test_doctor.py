"""The doctor of a warehouse on S3, in a session and on the command line: reach, rights, clocks, settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from parquetry.cli.main import main
from parquetry.spark.hadoop_files import storage_checks
from tests.support.hbase.launcher import free_ports
from tests.support.s3.launcher import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from tests.support.spark.storages import Storage

pytestmark = pytest.mark.s3

Verdicts = dict[str, tuple[bool | None, str, str | None]]
"""By the name of a check: whether it is as needed, what was found, and the remedy."""
REFUSED = {
    "list": {"LIST"},
    "write": {"PUT", "POST UPLOAD", "PUT UPLOAD"},
    "read": {"GET", "HEAD"},
    "delete": {"DELETE", "BULK DELETE"},
}
"""The kinds of requests that S3 refuses without a right."""


@pytest.fixture
def in_session(s3: Storage) -> Callable[[bool], Verdicts]:
    """Ask the doctor by CALL."""

    def ask(write: bool) -> Verdicts:
        rows = s3.rows(f"CALL {s3.catalog}.system.doctor(write => {str(write).lower()})")
        return {name: (ok, found, remedy) for name, ok, found, remedy in rows}

    return ask


@pytest.fixture
def on_command_line(
    s3: Storage, server: S3Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, Verdicts]]:
    """Ask the doctor as a command; S3Proxy is a store without the new checksums."""
    monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "WHEN_REQUIRED")

    def ask(*arguments: str, endpoint: str = server.endpoint) -> tuple[int, Verdicts]:
        options = {"key": ACCESS_KEY, "secret": SECRET_KEY, "region": REGION, "endpoint": endpoint}
        given = [text for name, value in options.items() for text in ("--storage-option", f"{name}={value}")]
        place = ("-w", s3.warehouse, "--store", s3.store)
        with pytest.raises(SystemExit) as caught:
            main(["doctor", "--json", *arguments, *place, *given])
        shown = capsys.readouterr().out
        assert SECRET_KEY not in shown
        checks: list[dict[str, Any]] = [each for each in json.loads(shown) if "check" in each]
        found = {each["check"]: (each["ok"], each["found"], each["remedy"]) for each in checks}
        return int(caught.value.code or 0), found

    return ask


def _filled(s3: Storage) -> None:
    s3.spark.sql(f"CREATE TABLE {s3.database}.t (id BIGINT) USING parquet")
    s3.spark.sql(f"INSERT INTO {s3.database}.t VALUES (1)")


def test_a_good_store(
    s3: Storage,
    server: S3Server,
    in_session: Callable[[bool], Verdicts],
    on_command_line: Callable[..., tuple[int, Verdicts]],
) -> None:
    """All rights are found to be there; only with `write` a file is written, which is gone afterwards."""
    _filled(s3)
    files = s3.files(s3.warehouse, hidden=True)
    with server.proxy.counted() as counts:
        found = in_session(False)
        code, outside = on_command_line()
    assert counts.keys() <= {"LIST", "HEAD", "GET"}, counts
    assert code == 0
    for each in (found, outside):
        assert (each["list"][0], each["read"][0], each["write"][0]) == (True, True, None)
        assert each["read"][1].endswith(s3.files(s3.warehouse)[0])
    written = in_session(True)
    code, outside = on_command_line("--write")
    assert code == 0
    for each in (written, outside):
        assert [each[name][0] for name in (*REFUSED, "clock of the files")] == [True] * 5
    assert s3.files(s3.warehouse, hidden=True) == files


@pytest.mark.parametrize("right", REFUSED)
def test_each_right_is_told_apart(
    s3: Storage,
    server: S3Server,
    in_session: Callable[[bool], Verdicts],
    on_command_line: Callable[..., tuple[int, Verdicts]],
    right: str,
) -> None:
    """If S3 refuses one right, this check alone is a problem, and its remedy names the right.

    Arrow reads a file's metadata before it deletes the file.
    """
    _filled(s3)
    server.proxy.fate = lambda request: "refused" if request.kind in REFUSED[right] else "delivered"
    in_spark = in_session(True)
    code, outside = on_command_line("--write")
    assert code == 1
    for found, needed in ((in_spark, set()), (outside, {"delete"} if right == "read" else set())):
        problems = {name for name, (ok, _, _) in found.items() if ok is False}
        assert problems == {right} | needed, found
        assert f"give this user the right to {right}" in str(found[right][2])


def test_an_unreachable_store(s3: Storage, on_command_line: Callable[..., tuple[int, Verdicts]]) -> None:
    """A store that does not answer is a problem, and the remedy says where to look."""
    code, found = on_command_line(endpoint=f"http://127.0.0.1:{free_ports(1)[0]}")
    assert code == 1
    assert found["list"][0] is False
    assert found["list"][2] == "check the address, the bucket, the credentials and the network"


def test_settings_of_a_session(s3: Storage, in_session: Callable[[bool], Verdicts]) -> None:
    """The doctor reports s3a's settings, also the settings of one bucket."""
    found = in_session(False)
    assert found["committer"][0] is True
    assert found["fs.s3a.create.performance"][0] is None
    assert "fs.s3a.multipart.purge" not in found
    conf = s3.spark.conf
    conf.set("fs.s3a.bucket.lake.create.performance", "true")
    conf.set("fs.s3a.multipart.purge", "true")
    found = in_session(False)
    assert found["fs.s3a.create.performance"][0] is True
    assert found["fs.s3a.multipart.purge"][0] is None
    assert "older than 86400 s" in found["fs.s3a.multipart.purge"][1]
    conf.set("fs.s3a.multipart.purge.age", "1h")
    assert in_session(False)["fs.s3a.multipart.purge"][0] is False
    for name in ("bucket.lake.create.performance", "multipart.purge", "multipart.purge.age"):
        conf.unset(f"fs.s3a.{name}")


@pytest.mark.parametrize(
    ("location", "remedy"),
    [
        ("s3a://lake/x", "org.apache.hadoop:hadoop-aws:3."),
        ("s3n://lake/x", "name the warehouse s3a://"),
        ("gs://lake/x", "put its jar into spark.jars"),
    ],
)
def test_a_missing_file_system(s3: Storage, location: str, remedy: str) -> None:
    """Where a class of a file system or its jar is missing, the remedy names what to add."""
    s3.spark.conf.set("fs.s3a.impl", "org.apache.hadoop.fs.s3a.NotThere")
    (check,) = storage_checks(s3.spark, location)
    s3.spark.conf.unset("fs.s3a.impl")
    assert check.ok is False
    assert remedy in str(check.remedy)


def test_a_store_without_new_checksums(
    s3: Storage, on_command_line: Callable[..., tuple[int, Verdicts]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a store refuses the checksums of Amazon's library, the remedy names the setting that
    disables them.
    """
    monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "WHEN_SUPPORTED")
    _, found = on_command_line("--write")
    assert found["write"][0] is False
    assert "AWS_REQUEST_CHECKSUM_CALCULATION=WHEN_REQUIRED" in str(found["write"][2])
