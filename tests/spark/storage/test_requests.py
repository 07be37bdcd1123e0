"""Requests to S3, counted by a proxy, and the settings that decide which store is asked."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import parquetry
from parquetry.cli.main import main
from parquetry.data_files import FileRecord
from parquetry.locations import use_file_systems
from parquetry.locations.file_names import new_prefix
from parquetry.metastore import open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.ownership import owner
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.spark.hadoop_files import HadoopFileSystems
from tests.support.s3.launcher import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from tests.support.s3.proxy import Fate, S3Request
from tests.support.spark.storages import BUCKET, Storage

pytestmark = pytest.mark.s3
MARK = {"HEAD": 1, "GET": 1}
"""Requests that read the warehouse's mark, before files are deleted."""


@pytest.fixture(autouse=True)
def mark_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other writes read the mark again after a time: here, never."""
    monkeypatch.setattr(owner, "SECONDS_BETWEEN_READS", 3600.0)


def _filled(s3: Storage) -> str:
    """Make a table of four partitions with a file each, and return its name."""
    table = f"{s3.database}.t"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) PARTITIONED BY (p)")
    s3.spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, concat('p', id % 4) FROM range(100)")
    return table


def _put(server: S3Server, location: str, names: list[str]) -> int:
    """Write files of one row below a location, and return the bytes of each."""
    file = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), file)
    data = file.getvalue().to_pybytes()
    folder = location.removeprefix(f"s3a://{BUCKET}/")
    server.put_all(BUCKET, [f"{folder}/{name}" for name in names], data)
    return len(data)


@pytest.mark.unaudited("the audit reads files, too")
def test_planning_asks_nothing(s3: Storage, server: S3Server) -> None:
    """A plan, a count and a look at an older version ask S3 nothing; DELETE of a partition neither."""
    table = _filled(s3)
    with server.proxy.counted() as counts:
        s3.spark.sql(f"EXPLAIN SELECT * FROM {table} WHERE p = 'p1' AND id > 3").collect()
        s3.rows(f"SELECT count(*) FROM {table}")
        s3.rows(f"SELECT count(*) FROM {table} VERSION AS OF 0")
        s3.spark.sql(f"DELETE FROM {table} WHERE p = 'p2'")
    assert counts == {}


@pytest.mark.unaudited("the audit reads files, too")
def test_requests_of_statements(s3: Storage, server: S3Server) -> None:
    """One request lists all directories, and one deletes all files; a table needs no folder marker."""
    table = f"{s3.database}.t"
    with server.proxy.counted() as creation:
        s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) PARTITIONED BY (p)")
    assert creation == {"HEAD": 1, "LIST": 1}
    with server.proxy.counted() as write:
        s3.spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, concat('p', id % 4) FROM range(100)")
    assert write == {"PUT": 4, "HEAD": 4}
    with server.proxy.counted() as sync:
        s3.rows(f"CALL {s3.catalog}.system.sync(table => 'db.t')")
    assert sync == {"LIST": 1}
    s3.spark.sql(f"INSERT OVERWRITE {table} SELECT /*+ COALESCE(1) */ id, concat('p', id % 4) FROM range(10)")
    with server.proxy.counted() as vacuum:
        later = "current_timestamp(), allow_recent => true"
        s3.spark.sql(f"CALL {s3.catalog}.system.vacuum(table => 'db.t', older_than => {later})")
    assert vacuum == {**MARK, "LIST": 1, "LIST UPLOADS": 1, "BULK DELETE": 1}
    with server.proxy.counted() as drop:
        s3.spark.sql(f"DROP TABLE {table}")
    assert drop == {**MARK, "LIST": 1, "LIST UPLOADS": 1, "BULK DELETE": 1}


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


def _jobs(s3: Storage) -> int:
    """Return the number of jobs that Spark has run."""
    context = s3.spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().jobsList(None).size())


@pytest.mark.parametrize(("partitions", "jobs"), [(120, 0), (260, 1)])
def test_requests_of_adopting_many(s3: Storage, server: S3Server, partitions: int, jobs: int) -> None:
    """MSCK of many partitions lists twice: first to find the files, and before the commit to check that they
    still exist.

    Executors read the footers if more than 256 are to be read, over all partitions.
    """
    table, location = f"{s3.database}.m", f"{s3.warehouse}/db.db/m"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, day STRING) USING parquet PARTITIONED BY (day)")
    _put(server, location, [f"day=d{number}/part-0.parquet" for number in range(partitions)])
    before = _jobs(s3)
    with server.proxy.counted() as counts:
        s3.spark.sql(f"MSCK REPAIR TABLE {table}")
    assert _jobs(s3) - before == jobs
    assert counts == {"LIST": 2, "HEAD": partitions, "GET": partitions}
    assert s3.rows(f"SELECT count(*), count(DISTINCT day) FROM {table}") == [(partitions, partitions)]


@pytest.mark.exhaustive("test_requests_of_adopting_many has executors read footers of Parquet")
def test_footers_of_many_orc_files(s3: Storage, server: S3Server) -> None:
    """Executors read the footers of ORC files, too, and a broken file among them is named."""
    table, location = f"{s3.database}.m", f"{s3.warehouse}/db.db/m"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, day STRING) USING orc PARTITIONED BY (day)")
    file = pa.BufferOutputStream()
    orc.write_table(pa.table({"id": pa.array([1], pa.int64())}), file)
    folder = location.removeprefix(f"s3a://{BUCKET}/")
    names = [f"{folder}/day=d{number}/part-0.orc" for number in range(260)]
    server.put_all(BUCKET, names, file.getvalue().to_pybytes())
    server.put_all(BUCKET, [f"{folder}/day=d7/part-1.orc"], b"not ORC at all")
    before = _jobs(s3)
    found = s3.rows(f"CALL {s3.catalog}.system.sync(table => 'db.m')")
    assert _jobs(s3) - before == 1
    assert [row[1] for row in found if row[0] == "broken"] == ["day=d7"]
    assert s3.rows(f"SELECT count(*), sum(id) FROM {table} WHERE id = 1") == [(260, 260)]


def test_a_file_that_goes_while_many_are_adopted(s3: Storage, server: S3Server) -> None:
    """If one of many files is deleted while MSCK reads them, none is adopted, and the error
    names the file.
    """
    table, location = f"{s3.database}.m", f"{s3.warehouse}/db.db/m"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, day STRING) USING parquet PARTITIONED BY (day)")
    _put(server, location, [f"day=d{number:03}/part-0.parquet" for number in range(150)])

    def delete_at_the_last(request: S3Request) -> Fate:
        if request.kind == "GET" and "day%3Dd149" in request.target:
            server.proxy.undisturbed()
            s3.delete(f"{location}/day=d007/part-0.parquet")
        return "delivered"

    server.proxy.fate = delete_at_the_last
    with pytest.raises(Exception, match=r"1 of the files .* were deleted meanwhile.*day=d007/part-0.parquet"):
        s3.spark.sql(f"MSCK REPAIR TABLE {table}")
    assert s3.rows(f"SELECT count(*) FROM {table}") == [(0,)]


def test_requests_of_looking_many_up(s3: Storage, server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing finds many files, and single requests look for the files that it misses; a long listing stops
    early.
    """
    folder = f"{s3.base}/many"
    _put(server, folder, [f"{number:03}.parquet" for number in range(200)])
    wanted, missing = (
        [f"{folder}/{number:03}.parquet" for number in range(50, 200)],
        f"{folder}/p=1/no.parquet",
    )
    with use_file_systems(HadoopFileSystems(s3.spark)):
        with server.proxy.counted() as listed:
            assert FileAccess().missing([*wanted, missing], folder) == [missing]
        with server.proxy.counted() as few:
            assert FileAccess().missing(wanted[:99], folder) == []
        monkeypatch.setattr("parquetry.metastore.deletion.file_access._ENTRIES_PER_FILE", 1)
        with server.proxy.counted() as given_up:
            assert FileAccess().missing(wanted, folder) == []
    assert listed == {"LIST": 2, "HEAD": 1}
    assert few == {"HEAD": 99}
    assert given_up == {"LIST": 1, "HEAD": 50}


def test_requests_of_nothing_to_adopt(s3: Storage, server: S3Server) -> None:
    """MSCK of a managed table without files is one listing, and what s3a asks where a listing is empty."""
    s3.spark.sql(f"CREATE TABLE {s3.database}.m (id BIGINT, day STRING) PARTITIONED BY (day)")
    with server.proxy.counted() as counts:
        s3.spark.sql(f"MSCK REPAIR TABLE {s3.database}.m")
    assert counts == {"LIST": 2, "HEAD": 1}


def test_requests_of_a_store_without_bulk_deletes(s3: Storage, server: S3Server) -> None:
    """If a store has no bulk deletes, each file takes one request, and no folder marker remains."""
    s3.spark.conf.set("fs.s3a.multiobjectdelete.enable", "false")
    s3.spark.conf.set("fs.s3a.impl.disable.cache", "true")
    table = _filled(s3)
    with server.proxy.counted() as counts:
        s3.spark.sql(f"DROP TABLE {table}")
    s3.spark.conf.unset("fs.s3a.multiobjectdelete.enable")
    s3.spark.conf.unset("fs.s3a.impl.disable.cache")
    assert counts == {**MARK, "LIST": 1, "LIST UPLOADS": 1, "DELETE": 4}


@pytest.mark.parametrize(
    ("own", "page", "deletions"), [(True, None, 5), (False, None, 5), (True, 1000, 2), (False, 1000, 2)]
)
def test_requests_of_cleaning_many(
    s3: Storage, server: S3Server, own: bool, page: int | None, deletions: int
) -> None:
    """Vacuum lists 1,000 files with a request, and deletes 250, or as many as s3a's setting says."""
    if page is not None:
        s3.spark.conf.set("fs.s3a.bulk.delete.page.size", page)
        s3.spark.conf.set("fs.s3a.impl.disable.cache", "true")  # s3a reads the setting as it starts
    table, location = f"{s3.database}.v", f"{s3.warehouse}/db.db/v"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) USING parquet PARTITIONED BY (p)")
    with use_file_systems(HadoopFileSystems(s3.spark)), open_metastore(s3.warehouse, s3.store) as metastore:
        snapshot = metastore.table("db", "v")
        prefix = new_prefix(snapshot.id) if own else "part"
        files = [f"{prefix}-{number}.parquet" for number in range(1100)]
        size = _put(server, location, [f"p=a/{name}" for name in files])
        transaction = Transaction(snapshot, "append")
        transaction.append(("a",), [FileRecord(name, size, 1) for name in files])
        commit(transaction)
    s3.spark.sql(f"DELETE FROM {table}")
    with server.proxy.counted() as counts:
        later = "current_timestamp(), allow_recent => true"
        s3.spark.sql(f"CALL {s3.catalog}.system.vacuum(table => 'db.v', older_than => {later})")
    s3.spark.conf.unset("fs.s3a.bulk.delete.page.size")
    s3.spark.conf.unset("fs.s3a.impl.disable.cache")
    assert counts == {**MARK, "LIST": 2, "LIST UPLOADS": 1, "BULK DELETE": deletions}
    assert s3.files(location) == []


def test_spark_alone_is_configured(s3: Storage, server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's settings name the store. The store that the environment names is not asked."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    table = _filled(s3)
    assert s3.rows(f"CALL {s3.catalog}.system.fsck(table => 'db.t')") == []
    assert s3.rows(f"SELECT count(*) FROM {table} WHERE id >= 0") == [(100,)]


def test_outside_of_spark(s3: Storage, server: S3Server) -> None:
    """`parquetry.open` accepts the store's address and keys as storage_options, with the names of pandas or
    of Polars.
    """
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
            scan = catalog.scan("db.t", "id >= 95")
            assert scan.to_arrow().num_rows == scan.count() == 5
            assert all(path.startswith("s3://") for path in scan.files())


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
