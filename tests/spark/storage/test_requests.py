"""Requests to S3, counted by a proxy; statements while S3 throttles and connections break."""

from __future__ import annotations

import itertools

import pytest

import parquetry
from parquetry.cli.main import main
from tests.support.s3.launcher import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from tests.support.s3.proxy import Fate, S3Request
from tests.support.spark.storages import Storage

pytestmark = pytest.mark.s3


def _filled(s3: Storage) -> str:
    """Make a table of four partitions with a file each, and return its name."""
    table = f"{s3.database}.t"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) PARTITIONED BY (p)")
    s3.spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, concat('p', id % 4) FROM range(100)")
    return table


def test_planning_asks_nothing(s3: Storage, server: S3Server) -> None:
    """A plan, a count and a look at an older version ask S3 nothing; DELETE of a partition neither."""
    table = _filled(s3)
    with server.proxy.counted() as counts:
        s3.spark.sql(f"EXPLAIN SELECT * FROM {table} WHERE p = 'p1' AND id > 3").collect()
        s3.rows(f"SELECT count(*) FROM {table}")
        s3.rows(f"SELECT count(*) FROM {table} VERSION AS OF 0")
        s3.spark.sql(f"DELETE FROM {table} WHERE p = 'p2'")
    assert counts == {}


def test_requests_of_statements(s3: Storage, server: S3Server) -> None:
    """Listing is one request for all directories, deletion one for all files; a table needs no marker of a folder."""
    table = f"{s3.database}.t"
    with server.proxy.counted() as creation:
        s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) PARTITIONED BY (p)")
    assert creation == {"HEAD": 1, "LIST": 1}
    with server.proxy.counted() as write:
        s3.spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, concat('p', id % 4) FROM range(100)")
    assert write == {"HEAD": 12, "LIST": 4, "PUT": 4, "GET": 4}
    with server.proxy.counted() as sync:
        s3.rows(f"CALL {s3.catalog}.system.sync(table => 'db.t')")
    assert sync == {"LIST": 1}
    s3.spark.sql(f"INSERT OVERWRITE {table} SELECT /*+ COALESCE(1) */ id, concat('p', id % 4) FROM range(10)")
    with server.proxy.counted() as vacuum:
        later = "current_timestamp() + INTERVAL 1 DAY"
        s3.spark.sql(f"CALL {s3.catalog}.system.vacuum(table => 'db.t', older_than => {later})")
    assert vacuum == {"LIST": 1, "LIST UPLOADS": 1, "BULK DELETE": 1}
    with server.proxy.counted() as drop:
        s3.spark.sql(f"DROP TABLE {table}")
    assert drop == {"LIST": 1, "LIST UPLOADS": 1, "BULK DELETE": 1}


def test_requests_of_adoption(s3: Storage, server: S3Server) -> None:
    """MSCK lists all directories with one request, and reads the footer of each file with one."""
    location = f"{s3.base}/plain"
    rows = s3.spark.range(40).selectExpr("id", "concat('d', id % 4) day")
    rows.coalesce(1).write.partitionBy("day").parquet(location)
    table = f"{s3.database}.e"
    columns = "(id BIGINT, day STRING)"
    s3.spark.sql(f"CREATE TABLE {table} {columns} USING parquet PARTITIONED BY (day) LOCATION '{location}'")
    with server.proxy.counted() as counts:
        s3.spark.sql(f"MSCK REPAIR TABLE {table}")
    assert counts == {"LIST": 1, "HEAD": 8, "GET": 4}


@pytest.mark.parametrize("fate", ["throttled", "request lost", "reply lost"])
def test_disturbed_requests(s3: Storage, server: S3Server, fate: Fate) -> None:
    """Statements succeed although each fifth request is throttled or lost. No row is lost or doubled."""
    numbers = itertools.count()

    def each_fifth(_: S3Request) -> Fate:
        return fate if next(numbers) % 5 == 4 else "delivered"

    server.proxy.fate = each_fifth
    table = _filled(s3)
    s3.spark.sql(f"UPDATE {table} SET id = id + 1000 WHERE p = 'p1'")
    s3.spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 'p2') SELECT id FROM range(5)")
    assert s3.rows(f"SELECT p, count(*), min(id) FROM {table} GROUP BY p ORDER BY p") == [
        ("p0", 25, 0),
        ("p1", 25, 1001),
        ("p2", 5, 0),
        ("p3", 25, 3),
    ]
    s3.spark.sql(f"DROP TABLE {table}")
    server.proxy.undisturbed()
    assert s3.files(f"{s3.warehouse}/db.db/t") == []


def test_a_store_that_refuses_writes(s3: Storage, server: S3Server) -> None:
    """A write that S3 refuses to the end fails, shows nothing, and the next one succeeds."""
    table = _filled(s3)
    retries = {"fs.s3a.attempts.maximum": "1", "fs.s3a.retry.limit": "1", "fs.s3a.retry.throttle.limit": "1"}
    retries |= {"fs.s3a.impl.disable.cache": "true", "fs.s3a.retry.interval": "10ms"}
    for key, value in retries.items():
        s3.spark.conf.set(key, value)
    server.proxy.fate = lambda request: "throttled" if request.kind == "PUT" else "delivered"
    with pytest.raises(Exception, match=r"503|Slow Down|SlowDown"):
        s3.spark.sql(f"INSERT INTO {table} VALUES (7, 'p7')")
    server.proxy.undisturbed()
    for key in retries:
        s3.spark.conf.unset(key)
    assert s3.rows(f"SELECT count(*) FROM {table}") == [(100,)]
    s3.spark.sql(f"INSERT INTO {table} VALUES (7, 'p7')")
    assert s3.rows(f"SELECT id FROM {table} WHERE p = 'p7'") == [(7,)]


def test_spark_alone_is_configured(s3: Storage, server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's settings name the store. The store that the environment names is not asked."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    table = _filled(s3)
    assert s3.rows(f"CALL {s3.catalog}.system.fsck(table => 'db.t')") == []
    assert s3.rows(f"SELECT count(*) FROM {table} WHERE id >= 0") == [(100,)]


def test_outside_of_spark(s3: Storage, server: S3Server) -> None:
    """`parquetry.open` takes the store's address and keys as storage_options, by the names of pandas or of Polars."""
    _filled(s3)
    pandas = {
        "key": ACCESS_KEY,
        "secret": SECRET_KEY,
        "client_kwargs": {"endpoint_url": server.endpoint, "region_name": REGION},
    }
    polars = {
        "aws_access_key_id": ACCESS_KEY,
        "aws_secret_access_key": SECRET_KEY,
        "aws_endpoint_url": server.endpoint,
        "aws_region": REGION,
    }
    for options in (pandas, polars):
        with parquetry.open(s3.warehouse, s3.store, options) as catalog:
            assert catalog.fsck("db.t") == []
            assert catalog.sync("db.t") == []


def test_the_command_line(s3: Storage, server: S3Server, capsys: pytest.CaptureFixture[str]) -> None:
    """The command takes the store's address and keys as --storage-option. An error shows no secret."""
    _filled(s3)
    options = {
        "aws_access_key_id": ACCESS_KEY,
        "aws_secret_access_key": SECRET_KEY,
        "aws_endpoint_url": server.endpoint,
        "aws_region": REGION,
    }

    def run(options: dict[str, str]) -> tuple[object, str]:
        given = [text for name, value in options.items() for text in ("--storage-option", f"{name}={value}")]
        with pytest.raises(SystemExit) as caught:
            main(["fsck", "db.t", "-w", s3.warehouse, "--store", s3.store, *given])
        return caught.value.code or 0, "".join(capsys.readouterr())

    assert run(options) == (0, "All is as it should be.\n")
    code, wrong = run({**options, "aws_secret_access_key": "another-secret"})
    assert (code, "another-secret" in wrong) == (1, False), wrong
