"""Names of files: what a table's own files are called, whose a file is, and which bucket it holds.

Only names are read here, never a file. Every function takes a name or a path, whose last part counts.

| written by | name | bucket |
|---|---|---|
| Parquetry | `pq-<table id>-<write>-<task>-<attempt>-<number>.snappy.parquet` | |
| Parquetry, a bucket | `000003_0_pq-<table id>-<write>-<task>-<attempt>-<number>_00003.c000.snappy.parquet` | 3 |
| Hive, and Trino of today | `000003_0`, `000003_0_copy_1`, `000003_0.gz`, `000003_0_20240131_…` | 3 |
| Hive, a second attempt | `000003_1`: other rows than those of `000003_0`, and both count | 3 |
| Spark | `part-00000-<uuid>_00003.c000.snappy.parquet` | 3 |
| Spark, for Hive | `00003_0_part-00000-<uuid>_00003.c000` | 3 |
| Trino of old | `20240131_120000_00001_abcde_bucket-00003` | 3 |

Parquetry's files of buckets say it twice, so that all of them read it: at the beginning, where Hive and Trino look for it, and
at the end, where Spark does.
"""

from __future__ import annotations

import re
import uuid

from parquetry.locations.uri import base_name

# Hive pads to six digits and Spark to five. Of what is longer, such as the time at the beginning of Trino's older
# names, nobody knows that it is a bucket, and a wrong bucket loses rows where none costs a file read in vain.
_HIVE = re.compile(r"(\d{5,6})_\d{1,6}(?:[._].*)?", re.ASCII | re.DOTALL)
_SPARK = re.compile(r"(?:part|pq)-[^._]*_(\d{5,})(?:\..*)?", re.ASCII | re.DOTALL)
_OWN = re.compile(r"(?:\d{6}_0_)?(pq-[0-9a-f]+-)", re.ASCII)
_TRINO = re.compile(r"\d{8}_\d{6}_\d{5}_[a-z0-9]{5}_bucket-(\d+)(?:[-_.].*)?", re.ASCII | re.DOTALL)


def own_prefix(table: bytes) -> str:
    """Return what the names of the files begin with that are written for a table; before it stands the bucket, if they are of one.

    >>> own_prefix(bytes.fromhex("00112233445566aa"))
    'pq-00112233445566aa-'
    """
    return f"pq-{table.hex()}-"


def new_prefix(table: bytes) -> str:
    """Return what the names of one write's files hold: no other write has ever used it, or will.

    Whoever writes the files adds task, attempt and a number for each, and the bucket (`Place` in the bridge).

    Args:
        table: its id.
    """
    return f"{own_prefix(table)}{uuid.uuid4().hex}"


def is_own(path: str, table: bytes) -> bool:
    """Return whether a file's name says that it was written for a table.

    >>> is_own("p=1/pq-00112233445566aa-7-0.parquet", bytes.fromhex("00112233445566aa"))
    True
    >>> is_own("000003_0_pq-00112233445566aa-7-0_00003.c000.parquet", bytes.fromhex("00112233445566aa"))
    True
    """
    found = _OWN.match(base_name(path))
    return found is not None and found[1] == own_prefix(table)


def bucket_from_name(path: str) -> int | None:
    """Return the bucket that a file of a bucketed partition holds; None: its name does not say.

    That the partition is bucketed, and into more buckets than the one returned, is the caller's knowledge: a file
    `240131_1.csv` of another partition has a name of Hive's form by accident.

    >>> bucket_from_name("ds=1/000003_0_copy_1"), bucket_from_name("part-00000-f3ae_00012.c000.snappy.parquet")
    (3, 12)
    >>> bucket_from_name("part-00000-f3ae-c000.snappy.parquet") is None
    True
    """
    name = base_name(path)
    found = _HIVE.fullmatch(name) or _SPARK.fullmatch(name) or _TRINO.fullmatch(name)
    return int(found[1]) if found else None


def is_hidden(path: str) -> bool:
    """Return whether a file or directory is none of the table's data, as Hive and Spark have it.

    >>> is_hidden("p=1/_SUCCESS"), is_hidden("p=1/.f.crc"), is_hidden("_t/p=1")
    (True, True, False)
    """
    return base_name(path).startswith(("_", "."))


def checksum_path(path: str) -> str:
    """Return the file in which Hadoop's local file system keeps the checksum of another.

    >>> checksum_path("/t/a.parquet")
    '/t/.a.parquet.crc'
    """
    name = base_name(path)
    return f"{path.removesuffix(name)}.{name}.crc"


def checksummed_path(path: str) -> str | None:
    """Return the file whose checksum a file of Hadoop's local file system holds; None: it is no such file.

    >>> checksummed_path("/t/.a.parquet.crc"), checksummed_path("/t/a.crc")
    ('/t/a.parquet', None)
    """
    name = base_name(path)
    if not (name.startswith(".") and name.endswith(".crc") and len(name) > len("..crc")):
        return None
    return f"{path.removesuffix(name)}{name[1:-4]}"
