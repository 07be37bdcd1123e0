"""Check a session's settings for the file system of a warehouse, for `CALL system.doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from parquetry.locations import take_apart
from parquetry.metastore import Check
from parquetry.spark.active import java_error

_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_DAY_S = 24 * 60 * 60


def storage_checks(spark: SparkSession, location: str) -> Iterator[Check]:
    """Check the class of a location's file system, and the settings of `s3a`. This reads no file.

    Args:
        spark: the session.
        location: absolute path, or URI.
    """
    parts = take_apart(location)
    if parts.is_local:
        return
    scheme = parts.scheme.lower()
    jvm: Any = spark._jvm
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    try:
        class_name: str = jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, conf).getName()
    except (Py4JJavaError, CapturedException) as error:
        yield _missing_class(scheme, jvm.org.apache.hadoop.util.VersionInfo.getVersion(), error)
        return
    yield Check("file system", True, f"{scheme}: {class_name}")
    if class_name == _S3A:
        bucket = parts.authority.lstrip("/").rpartition("@")[2]
        of_bucket = jvm.org.apache.hadoop.fs.s3a.S3AUtils.propagateBucketOptions(conf, bucket)
        yield from _s3a(of_bucket, jvm.java.util.concurrent.TimeUnit.SECONDS)


def _missing_class(scheme: str, version: str, error: Py4JJavaError | CapturedException) -> Check:
    java = java_error(error)
    reason = str(java.getMessage()).split("\n", 1)[0]
    jar = "put its jar into spark.jars, and its settings into spark.hadoop.fs.…"
    if scheme == "s3a":
        jar = f"add org.apache.hadoop:hadoop-aws:{version} to spark.jars.packages before the session starts"
    elif scheme in ("s3", "s3n"):
        jar = f"name the warehouse s3a://…, or set spark.hadoop.fs.{scheme}.impl = {_S3A}; it is in hadoop-aws:{version}"
    return Check("file system", False, f"{scheme}: {reason}", jar)


def _s3a(conf: Any, seconds: Any) -> Iterator[Check]:
    """Check the settings of `s3a` for a bucket; `seconds` is Java's unit."""
    yield Check("committer", True, "none is needed: files are written under their final names")
    flags = str(conf.get("fs.s3a.performance.flags", "")).lower().replace(" ", "").split(",")
    if conf.getBoolean("fs.s3a.create.performance", False) or {"*", "create"} & set(flags):
        yield Check("fs.s3a.create.performance", True, "true")
    else:
        yield Check(
            "fs.s3a.create.performance",
            None,
            "false: each file that is written costs a HEAD and a LIST more",
            "set it to true if no other write of the session relies on this check of names",
        )
    if conf.getBoolean("fs.s3a.multipart.purge", False):
        age = conf.getTimeDuration("fs.s3a.multipart.purge.age", _DAY_S, seconds)
        yield Check(
            "fs.s3a.multipart.purge",
            None if age >= _DAY_S else False,
            f"true: a session that starts ends everybody's uploads in the bucket that are older than {age} s",
            "set it to false: vacuum ends the uploads that tables have abandoned",
        )
