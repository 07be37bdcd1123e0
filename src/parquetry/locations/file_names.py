"""Names of data files: make them, and read from them the table that owns a file, and the file's bucket.

Only names are read here, never a file. Every function takes a name or a path, and looks at its last part.

| written by | name | bucket |
|---|---|---|
| Parquetry | `pq-<table id>-<write>-<task>-<attempt>-<number>.snappy.parquet` | |
| Parquetry, a bucket | `000003_0_pq-<table id>-<write>-<task>-<attempt>-<number>_00003.c000.snappy.parquet` | 3 |
| Hive, and Trino of today | `000003_0`, `000003_0_copy_1`, `000003_0.gz`, `000003_0_20240131_…` | 3 |
| Hive, a second attempt | `000003_1`, with other rows than `000003_0`: both count | 3 |
| Spark | `part-00000-<uuid>_00003.c000.snappy.parquet` | 3 |
| Spark, for Hive | `00003_0_part-00000-<uuid>_00003.c000` | 3 |
| Trino of old | `20240131_120000_00001_abcde_bucket-00003` | 3 |

Parquetry's names have the bucket twice, so that every engine reads it: at the beginning for Hive and Trino,
and at the end for Spark.
"""

from __future__ import annotations

import re
import uuid

from parquetry.locations.uri import base_name

# Hive pads to six digits and Spark to five. A longer number may be something else, such as the time at the
# beginning of Trino's older names. A wrong bucket would lose rows; an unknown one costs reading one file.
_HIVE = re.compile(r"(\d{5,6})_\d{1,6}(?:[._].*)?", re.ASCII | re.DOTALL)
_SPARK = re.compile(r"(?:part|pq)-[^._]*_(\d{5,})(?:\..*)?", re.ASCII | re.DOTALL)
_OWN = re.compile(r"(?:\d{6}_0_)?(pq-([0-9a-f]+)-)", re.ASCII)
_TRINO = re.compile(r"\d{8}_\d{6}_\d{5}_[a-z0-9]{5}_bucket-(\d+)(?:[-_.].*)?", re.ASCII | re.DOTALL)


def own_prefix(table: bytes) -> str:
    """Return the beginning of the names of a table's own files. Only the bucket may come before it.

    >>> own_prefix(bytes.fromhex("00112233445566aa"))
    'pq-00112233445566aa-'
    """
    return f"pq-{table.hex()}-"


def new_prefix(table: bytes) -> str:
    """Return the part that the names of one write's files share, and the names of no other write have.

    The bridge adds the task, the attempt, a number for each file, and the bucket (`SlotDirectory`).

    Args:
        table: the table's id.
    """
    return f"{own_prefix(table)}{uuid.uuid4().hex}"


def is_own(path: str, table: bytes) -> bool:
    """Return whether a file's name says that it was written for a table.

    >>> is_own("p=1/pq-00112233445566aa-7-0.parquet", bytes.fromhex("00112233445566aa"))
    True
    >>> is_own("000003_0_pq-00112233445566aa-7-0_00003.c000.parquet", bytes.fromhex("00112233445566aa"))
    True
    """
    match = _OWN.match(base_name(path))
    return match is not None and match[1] == own_prefix(table)


def table_in_name(path: str) -> str | None:
    """Return the id, in hexadecimal, of the table that a file was written for, or None if its name has none.

    >>> table_in_name("p=1/pq-00112233445566aa-7-0.parquet"), table_in_name("p=1/part-00000-f3ae.parquet")
    ('00112233445566aa', None)
    """
    match = _OWN.match(base_name(path))
    return None if match is None else match[2]


def is_any_own(path: str) -> bool:
    """Return whether a file's name says that it was written for some table of Parquetry.

    >>> is_any_own("p=1/pq-00112233445566aa-7-0.parquet"), is_any_own("p=1/part-00000-f3ae.parquet")
    (True, False)
    """
    return _OWN.match(base_name(path)) is not None


def bucket_from_name(path: str) -> int | None:
    """Return the bucket in the name of a bucketed partition's file, or None if the name has none.

    The caller has to know that the partition is bucketed, and has more buckets than the returned number.
    Elsewhere a file such as `240131_1.csv` has a name of Hive's form by accident.

    >>> bucket_from_name("ds=1/000003_0_copy_1"), bucket_from_name("part-00000-f3ae_00012.c000.snappy.parquet")
    (3, 12)
    >>> bucket_from_name("part-00000-f3ae-c000.snappy.parquet") is None
    True
    """
    name = base_name(path)
    match = _HIVE.fullmatch(name) or _SPARK.fullmatch(name) or _TRINO.fullmatch(name)
    return int(match[1]) if match else None


def is_hidden(path: str) -> bool:
    """Return whether Spark ignores a file or directory, by its name.

    The rule is Spark's `HadoopFSUtils.shouldFilterOutPathName`. A name that begins with `_` and has a `=` is
    the directory of a partition column such as `_day`. HDFS adds `._COPYING_` to the name of a file that it
    still copies.

    >>> is_hidden("p=1/_SUCCESS"), is_hidden("p=1/.f.crc"), is_hidden("p=1/f.parquet._COPYING_")
    (True, True, True)
    >>> is_hidden("_t/p=1"), is_hidden("_day=1"), is_hidden(".day=1")
    (False, False, True)
    """
    name = base_name(path)
    return name.startswith(".") or name.endswith("._COPYING_") or (name.startswith("_") and "=" not in name)


def checksum_path(path: str) -> str:
    """Return the path of the file with another file's checksum, in Hadoop's local file system.

    >>> checksum_path("/t/a.parquet")
    '/t/.a.parquet.crc'
    """
    name = base_name(path)
    return f"{path.removesuffix(name)}.{name}.crc"


def checksummed_path(path: str) -> str | None:
    """Return the path of the file that a checksum file is for, or None if the path is no checksum file's.

    >>> checksummed_path("/t/.a.parquet.crc"), checksummed_path("/t/a.crc")
    ('/t/a.parquet', None)
    """
    name = base_name(path)
    if not (name.startswith(".") and name.endswith(".crc") and len(name) > len("..crc")):
        return None
    return f"{path.removesuffix(name)}{name[1:-4]}"
