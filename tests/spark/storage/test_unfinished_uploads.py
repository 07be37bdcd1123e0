"""Vacuum and DROP end multipart uploads that were begun and never finished: only the uploads of the table."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from tests.support.s3.launcher import S3Server
from tests.support.spark.storages import BUCKET, Storage

pytestmark = pytest.mark.s3

DAY = 24 * 60 * 60


class Uploads:
    """Begins multipart uploads as a writer does that is killed, and lists the existing ones."""

    def __init__(self, s3: Storage, server: S3Server) -> None:
        self._s3 = s3
        self._server = server
        jvm: Any = s3.spark._jvm
        self._jvm = jvm
        self._hadoop = jvm.org.apache.hadoop.fs.Path(s3.base).getFileSystem(
            s3.spark._jsparkSession.sessionState().newHadoopConf()
        )

    def begin(self, location: str, age: float = 0) -> str:
        """Begin an upload, and return its location; `age` is in seconds."""
        before = set(self._server.proxy.uploads)
        path = self._jvm.org.apache.hadoop.fs.Path(location)
        uploader = self._hadoop.createMultipartUploader(path).build()
        uploader.startUpload(path).get()
        (new,) = set(self._server.proxy.uploads) - before
        self._server.proxy.uploads[new] = time.time() - age
        return location

    def there(self) -> set[str]:
        """Return the locations of the uploads of the test."""
        found, entries = set(), self._hadoop.listUploads(self._s3.base.removeprefix(f"s3a://{BUCKET}/"))
        while entries.hasNext():
            found.add(f"s3a://{BUCKET}/{entries.next().key()}")
        return found


@pytest.fixture
def uploads(s3: Storage, server: S3Server) -> Uploads:
    """Uploads of the test."""
    return Uploads(s3, server)


def _table(s3: Storage, name: str) -> tuple[str, str]:
    """Make a table of a partition with a file; return its location, and the beginning of its files' names."""
    s3.spark.sql(f"CREATE TABLE {s3.database}.{name} (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    s3.spark.sql(f"INSERT INTO {s3.database}.{name} VALUES (1, 1)")
    location = f"{s3.warehouse}/db.db/{name}"
    (file,) = s3.files(location)
    prefix, table, _ = file.removeprefix("p=1/").split("-", 2)
    return location, f"{prefix}-{table}"


def _vacuumed(s3: Storage, dry_run: bool = False) -> list[tuple[Any, ...]]:
    """Vacuum the table `t`, and return what became of uploads."""
    arguments = f"table => 'db.t', dry_run => {str(dry_run).lower()}"
    rows = s3.rows(f"CALL {s3.catalog}.system.vacuum({arguments})")
    return [row for row in rows if row[0] == "abandoned upload"]


def test_vacuum_ends_old_uploads_of_the_table(s3: Storage, uploads: Uploads) -> None:
    """Vacuum ends the table's uploads that are a day old, also two of one file, and counts them.

    Younger uploads, foreign ones and uploads elsewhere stay.
    """
    location, own = _table(s3, "t")
    other_location, other = _table(s3, "u")
    twice = uploads.begin(f"{location}/p=1/{own}-aa.parquet", 2 * DAY)
    uploads.begin(twice, 3 * DAY)
    bucket = uploads.begin(f"{location}/p=1/000003_0_{own}-bb.parquet", 2 * DAY)
    kept = {
        uploads.begin(f"{location}/p=1/{own}-young.parquet", DAY / 2),
        uploads.begin(f"{location}/p=1/{other}-aa.parquet", 2 * DAY),
        uploads.begin(f"{location}/p=1/part-0.parquet", 2 * DAY),
        uploads.begin(f"{location}2/{own}-aa.parquet", 2 * DAY),
        uploads.begin(f"{other_location}/p=1/{other}-aa.parquet", 2 * DAY),
    }
    expected = [("abandoned upload", path, count, None, None) for path, count in ((bucket, 1), (twice, 2))]
    assert _vacuumed(s3, dry_run=True) == expected
    assert uploads.there() == {twice, bucket, *kept}
    assert _vacuumed(s3) == expected
    assert uploads.there() == kept
    assert _vacuumed(s3) == []


def test_vacuum_ends_uploads_to_partitions_elsewhere(s3: Storage, uploads: Uploads) -> None:
    """In a partition's folder outside of the table's, vacuum ends the table's uploads alone.

    This includes one that was too young when the partition was dropped.
    """
    _, own = _table(s3, "t")
    elsewhere = f"{s3.base}/elsewhere"
    s3.spark.sql(f"ALTER TABLE {s3.database}.t ADD PARTITION (p = 2) LOCATION '{elsewhere}'")
    ended = uploads.begin(f"{elsewhere}/{own}-aa.parquet", 2 * DAY)
    kept = uploads.begin(f"{elsewhere}/part-0.parquet", 2 * DAY)
    assert [row[1] for row in _vacuumed(s3)] == [ended]
    young = uploads.begin(f"{elsewhere}/{own}-bb.parquet")
    s3.spark.sql(f"ALTER TABLE {s3.database}.t DROP PARTITION (p = 2)")
    later = "older_than => current_timestamp(), allow_recent => true"
    s3.rows(f"CALL {s3.catalog}.system.vacuum(table => 'db.t', {later})")
    assert uploads.there() == {kept, young}
    server_uploads = uploads._server.proxy.uploads
    server_uploads[max(server_uploads, key=lambda id_: server_uploads[id_])] -= 2 * DAY
    assert [row[1] for row in _vacuumed(s3)] == [young]
    assert uploads.there() == {kept}


def test_drop_ends_uploads(s3: Storage, uploads: Uploads) -> None:
    """DROP TABLE ends the table's uploads of any age, since no write can finish any more."""
    location, own = _table(s3, "t")
    uploads.begin(f"{location}/p=1/{own}-aa.parquet")
    kept = uploads.begin(f"{location}/p=1/part-0.parquet", 2 * DAY)
    s3.spark.sql(f"DROP TABLE {s3.database}.t")
    assert uploads.there() == {kept}


@pytest.mark.parametrize("refused", ["LIST UPLOADS", "DELETE UPLOAD"])
def test_a_store_that_refuses(
    s3: Storage, server: S3Server, uploads: Uploads, refused: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A user without the rights to list or end uploads vacuums all the same; the log names the right."""
    location, own = _table(s3, "t")
    s3.spark.sql(f"INSERT OVERWRITE {s3.database}.t VALUES (2, 1)")
    old = uploads.begin(f"{location}/p=1/{own}-aa.parquet", 2 * DAY)
    server.proxy.fate = lambda request: "refused" if request.kind == refused else "delivered"
    later = "older_than => current_timestamp(), allow_recent => true"
    with caplog.at_level(logging.WARNING, "parquetry"):
        removed = s3.rows(f"CALL {s3.catalog}.system.vacuum(table => 'db.t', {later})")
    right = {
        "LIST UPLOADS": "s3:ListBucketMultipartUploads",
        "DELETE UPLOAD": "s3:AbortMultipartUpload",
    }[refused]
    assert right in caplog.text
    assert "data file" in {row[0] for row in removed}
    assert "abandoned upload" not in {row[0] for row in removed}
    server.proxy.undisturbed()
    assert uploads.there() == {old}
