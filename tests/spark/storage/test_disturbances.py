"""Statements run while S3 throttles, connections break, uploads stop early, and first attempts arrive after
the second.

No acknowledged row is lost, and no partial result is visible.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from parquetry.locations import use_file_systems
from parquetry.metastore import open_metastore
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.spark.hadoop_files import HadoopFileSystems
from tests.support.s3.launcher import S3Server
from tests.support.s3.proxy import Fate, S3Request
from tests.support.spark.storages import Storage

pytestmark = pytest.mark.s3

_LATER = "current_timestamp(), allow_recent => true"
_ONE_TRY = {
    "fs.s3a.attempts.maximum": "1",
    "fs.s3a.retry.limit": "1",
    "fs.s3a.retry.throttle.limit": "1",
    "fs.s3a.retry.interval": "10ms",
}
_SMALL_PARTS = {"fs.s3a.multipart.size": "5M"}
_LARGE_ROWS = 12_000
_TEXT = "concat_ws('', transform(sequence(1, 8), n -> sha2(concat(id, ' ', n), 512)))"
_LARGE = f"SELECT /*+ COALESCE(1) */ id, {_TEXT} v FROM range({_LARGE_ROWS})"
"""Rows of a kilobyte each that no codec makes smaller, 12 MB in one file."""
_DELETES = {"BULK DELETE": "true", "DELETE": "false"}
"""Requests that delete, and s3a's setting `multiobjectdelete.enable` for them."""


@pytest.fixture
def settings(s3: Storage) -> Iterator[Callable[[dict[str, str]], None]]:
    """Give settings to a new client of S3, for the time of a test."""
    names = {"fs.s3a.impl.disable.cache"}

    def set_all(values: dict[str, str]) -> None:
        for name, value in {**values, "fs.s3a.impl.disable.cache": "true"}.items():
            names.add(name)
            s3.spark.conf.set(name, value)

    yield set_all
    for name in names:
        s3.spark.conf.unset(name)


def _filled(s3: Storage) -> str:
    """Make a table of four partitions with a file each, and return its name."""
    table = f"{s3.database}.t"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) PARTITIONED BY (p)")
    s3.spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, concat('p', id % 4) FROM range(100)")
    return table


def _first_attempts(fate: Fate, kind: str) -> Callable[[S3Request], Fate]:
    """Return what gives a fate to the first request of a kind to each target, and delivers all others."""
    seen: set[str] = set()

    def decide(request: S3Request) -> Fate:
        if request.kind != kind or request.target in seen:
            return "delivered"
        seen.add(request.target)
        return fate

    return decide


def _each_fifth() -> Callable[[S3Request], Fate]:
    """Return what gives each fifth request one of the fates, in turns."""
    fates: Iterator[Fate] = itertools.cycle(("throttled", "request lost", "cut off", "reply lost"))
    numbers = itertools.count(1)
    return lambda _: next(fates) if next(numbers) % 5 == 0 else "delivered"


def test_each_fifth_request(s3: Storage, server: S3Server) -> None:
    """A sequence of statements returns the right rows at each step, though each fifth request is throttled,
    lost or cut off.
    """
    table, location = f"{s3.database}.life", f"{s3.warehouse}/db.db/life"
    numbers = [(n, f"d{n % 4}") for n in range(40)]
    view = "(SELECT id, concat('d', id % 4) AS p FROM range(40))"
    content = [(n, f"p{n % 3}") for n in range(100)]
    server.proxy.fate = _each_fifth()

    def step(statement: str, wanted: list[tuple[int, str]]) -> None:
        s3.spark.sql(statement).collect()
        by_partition: dict[str, list[int]] = {}
        for id, p in wanted:
            by_partition.setdefault(p, []).append(id)
        rows = s3.rows(
            f"SELECT p, count(*), sum(id), min(id) FROM {table} WHERE id >= 0 GROUP BY p ORDER BY p"
        )
        assert rows == [(p, len(ids), sum(ids), min(ids)) for p, ids in sorted(by_partition.items())]

    step(f"CREATE TABLE {table} (id BIGINT, p STRING) USING parquet PARTITIONED BY (p)", [])
    step(f"INSERT INTO {table} SELECT id, concat('p', id % 3) FROM range(100)", content)
    content += numbers
    step(f"INSERT INTO {table} SELECT * FROM {view}", content)
    content = [(id + 1000 if p == "p1" else id, p) for id, p in content]
    step(f"UPDATE {table} SET id = id + 1000 WHERE p = 'p1'", content)
    content = [(id, p) for id, p in content if id % 5]
    step(f"DELETE FROM {table} WHERE id % 5 = 0", content)
    content = sorted({*content} ^ {*numbers})  # what is in both is deleted
    step(
        f"MERGE INTO {table} t USING {view} n ON t.id = n.id AND t.p = n.p WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT *",
        content,
    )
    content = [*((id, p) for id, p in content if p != "p2"), *((id, "p2") for id in range(5))]
    step(f"INSERT OVERWRITE {table} PARTITION (p = 'p2') SELECT id FROM range(5)", content)
    step(f"CALL {s3.catalog}.system.compact(table => 'db.life')", content)
    step(f"CALL {s3.catalog}.system.vacuum(table => 'db.life', older_than => {_LATER})", content)
    step(f"MSCK REPAIR TABLE {table}", content)
    assert s3.rows(f"CALL {s3.catalog}.system.fsck(table => 'db.life')") == []
    assert s3.rows(f"SELECT count(*) FROM {table}.files") == [(len(s3.files(location)),)]
    s3.spark.sql(f"DROP TABLE {table}")
    server.proxy.undisturbed()
    assert s3.files(location) == []


def test_a_store_that_refuses_writes(
    s3: Storage, server: S3Server, settings: Callable[[dict[str, str]], None]
) -> None:
    """A write that S3 refuses to the end fails, shows nothing, and the next one succeeds."""
    table = _filled(s3)
    settings(_ONE_TRY)
    server.proxy.fate = lambda request: "throttled" if request.kind == "PUT" else "delivered"
    with pytest.raises(Exception, match=r"503|Slow Down|SlowDown"):
        s3.spark.sql(f"INSERT INTO {table} VALUES (7, 'p7')")
    server.proxy.undisturbed()
    assert s3.rows(f"SELECT count(*) FROM {table}") == [(100,)]
    s3.spark.sql(f"INSERT INTO {table} VALUES (7, 'p7')")
    assert s3.rows(f"SELECT id FROM {table} WHERE p = 'p7'") == [(7,)]


@pytest.mark.parametrize(
    ("fate", "kind"),
    [
        ("cut off", "POST UPLOAD"),
        pytest.param(
            "cut off", "PUT UPLOAD", marks=pytest.mark.exhaustive("the case `reply lost` disturbs parts")
        ),
        ("reply lost", "PUT UPLOAD"),
    ],
)
def test_an_upload_in_parts(
    s3: Storage, server: S3Server, settings: Callable[[dict[str, str]], None], fate: Fate, kind: str
) -> None:
    """A file is complete though the first attempt of each of its parts, or of its beginning and end, breaks
    off.
    """
    table = f"{s3.database}.t"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, v STRING)")
    settings(_SMALL_PARTS)
    server.proxy.fate = _first_attempts(fate, kind)
    with server.proxy.counted() as counts:
        s3.spark.sql(f"INSERT INTO {table} {_LARGE}")
    server.proxy.undisturbed()
    assert counts["PUT UPLOAD"] >= 3
    assert len(s3.files(f"{s3.warehouse}/db.db/t")) == 1
    expected = s3.rows(f"SELECT count(*), sum(id), sum(crc32(v)) FROM ({_LARGE})")
    assert s3.rows(f"SELECT count(*), sum(id), sum(crc32(v)) FROM {table} WHERE id >= 0") == expected


def test_a_lost_reply_to_the_end_of_an_upload(
    s3: Storage, server: S3Server, settings: Callable[[dict[str, str]], None]
) -> None:
    """A complete file whose writer does not know so, since the reply was lost, is either acknowledged or not
    visible.

    The second attempt decides. A server may answer that the upload does not exist, or that it is complete, as
    S3 does for a while.
    """
    table = f"{s3.database}.t"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, v STRING)")
    settings(_SMALL_PARTS)
    completions = _first_attempts("reply lost", "POST UPLOAD")
    server.proxy.fate = lambda request: completions(request) if "uploadId" in request.target else "delivered"
    files, rows = 1, _LARGE_ROWS
    with server.proxy.counted() as counts:
        try:
            s3.spark.sql(f"INSERT INTO {table} {_LARGE}")
        except (CapturedException, Py4JJavaError) as error:
            files = rows = 0
            failure = str(error)
        else:
            failure = ""
    assert counts["POST UPLOAD"] >= 3  # a begin, and two attempts to end
    assert "Completing multipart upload" in failure or not failure
    server.proxy.undisturbed()
    assert s3.rows(f"SELECT count(*) FROM {table} WHERE id >= 0") == [(rows,)]
    assert len(s3.files(f"{s3.warehouse}/db.db/t")) == files
    s3.spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    assert s3.rows(f"SELECT count(*) FROM {table} WHERE id >= 0") == [(rows + 1,)]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("PUT", marks=pytest.mark.exhaustive("test_a_store_that_refuses_writes refuses a PUT")),
        "PUT UPLOAD",
    ],
)
def test_an_upload_that_is_always_cut_off(
    s3: Storage, server: S3Server, settings: Callable[[dict[str, str]], None], kind: str
) -> None:
    """A write whose uploads never get through fails and shows nothing: no row, and no file in the folder."""
    table = f"{s3.database}.t"
    s3.spark.sql(f"CREATE TABLE {table} (id BIGINT, v STRING)")
    s3.spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    before = s3.files(f"{s3.warehouse}/db.db/t")
    settings({**_ONE_TRY, **(_SMALL_PARTS if kind == "PUT UPLOAD" else {})})
    server.proxy.fate = lambda request: "cut off" if request.kind == kind else "delivered"
    with pytest.raises(Exception, match="rite"):
        s3.spark.sql(f"INSERT INTO {table} {_LARGE}")
    server.proxy.undisturbed()
    assert s3.files(f"{s3.warehouse}/db.db/t") == before
    assert s3.rows(f"SELECT id, v FROM {table} WHERE id >= 0") == [(1, "1")]
    assert s3.rows(f"CALL {s3.catalog}.system.fsck(table => 'db.t')") == []


def test_late_writes(s3: Storage, server: S3Server) -> None:
    """A first attempt to write that arrives after the second changes nothing, nor does it after a vacuum."""
    server.proxy.fate = _first_attempts("late", "PUT")
    table, location = _filled(s3), f"{s3.warehouse}/db.db/t"
    rows = f"SELECT p, count(*), sum(id) FROM {table} WHERE id >= 0 GROUP BY p ORDER BY p"
    written, files = s3.rows(rows), s3.files(location)
    first = list(server.proxy.late)
    assert server.proxy.arrive_late() == [200] * 4
    assert (s3.rows(rows), s3.files(location)) == (written, files)
    s3.spark.sql(f"INSERT OVERWRITE {table} SELECT id, p FROM {table} WHERE id < 50")
    server.proxy.undisturbed()
    s3.spark.sql(f"CALL {s3.catalog}.system.vacuum(table => 'db.t', older_than => {_LATER})")
    now, live = s3.rows(rows), s3.files(location)
    assert set(live).isdisjoint(files)
    server.proxy.late = first
    assert server.proxy.arrive_late() == [200] * 4
    assert s3.files(location) == sorted([*live, *files])
    s3.spark.sql(f"MSCK REPAIR TABLE {table}")
    assert s3.rows(rows) == now
    with use_file_systems(HadoopFileSystems(s3.spark)), open_metastore(s3.warehouse, s3.store) as metastore:
        vacuum(metastore.table("db", "t"), grace=-60_000)
    assert (s3.files(location), s3.rows(rows)) == (live, now)


def test_a_failed_write_that_arrives_late(
    s3: Storage, server: S3Server, settings: Callable[[dict[str, str]], None]
) -> None:
    """A file of a failed write that arrives late is not visible, and no MSCK adopts it."""
    table = _filled(s3)
    settings(_ONE_TRY)
    server.proxy.fate = lambda request: "late" if request.kind == "PUT" else "delivered"
    with pytest.raises(Exception, match="rite"):
        s3.spark.sql(f"INSERT INTO {table} VALUES (7, 'p7')")
    server.proxy.undisturbed()
    assert set(server.proxy.arrive_late()) == {200}
    s3.spark.sql(f"MSCK REPAIR TABLE {table}")
    assert s3.rows(f"SELECT count(*), max(p) FROM {table}") == [(100, "p3")]


@pytest.mark.parametrize(
    "kind",
    [
        "BULK DELETE",
        pytest.param("DELETE", marks=pytest.mark.exhaustive("the case `BULK DELETE` is late, too")),
    ],
)
def test_late_deletes(
    s3: Storage, server: S3Server, settings: Callable[[dict[str, str]], None], kind: str
) -> None:
    """A first attempt to delete that arrives after a new table has files there deletes none of them: names
    are unique.
    """
    settings({"fs.s3a.multiobjectdelete.enable": _DELETES[kind]})
    table, location = _filled(s3), f"{s3.warehouse}/db.db/t"
    old = s3.files(location)
    server.proxy.fate = _first_attempts("late", kind)
    s3.spark.sql(f"DROP TABLE {table}")
    server.proxy.undisturbed()
    assert s3.files(location) == []
    assert _filled(s3) == table
    new = s3.files(location)
    assert {PurePosixPath(file).parent for file in new} == {PurePosixPath(file).parent for file in old}
    assert set(new).isdisjoint(old)
    late = server.proxy.arrive_late()
    assert late == ([200] if kind == "BULK DELETE" else [204] * 4)
    assert s3.files(location) == new
    assert s3.rows(f"SELECT count(*), sum(id) FROM {table} WHERE id >= 0") == [(100, 4950)]
