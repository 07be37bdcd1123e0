"""The name of a file says who wrote it, which bucket it holds, and whether it is data."""

import re

import pytest

from parquetry.locations.file_names import (
    bucket_from_name,
    checksum_path,
    checksummed_path,
    is_hidden,
    is_own,
    new_prefix,
    own_prefix,
)

TABLE = bytes.fromhex("00112233445566aa")
UUID = "8b1d2f6e-7c1a-4f59-9c5e-0a1b2c3d4e5f"
BUCKET = f"000003_0_pq-{TABLE.hex()}-{UUID.replace('-', '')}-00002-41-0000_00003.c000.snappy.parquet"


@pytest.mark.parametrize(
    ("name", "bucket"),
    [
        ("000003_0", 3),
        ("000000_0", 0),
        ("000003_0_copy_1", 3),
        ("000003_0_copy_12", 3),
        ("000001_1", 1),
        ("000001_1000", 1),
        ("000003_0.gz", 3),
        ("000003_0_copy_1.snappy.orc", 3),
        ("ds=2024-01-01/x=20240131_1/000007_0", 7),
        ("000003_0_20240131_120000_00001_abcde", 3),
        (f"00003_0_part-00000-{UUID}_00003.c000", 3),
        (f"00003_0_part-00000-{UUID}_00003.c000.snappy.parquet", 3),
        (f"part-00000-{UUID}_00003.c000.snappy.parquet", 3),
        (f"part-00017-{UUID}_00003", 3),
        (f"part-00000-{UUID}_123456.c000.zstd.orc", 123456),
        (BUCKET, 3),
        (f"pq-{TABLE.hex()}-{UUID.replace('-', '')}-00002-41-0000_00003.snappy.parquet", 3),
        ("20240131_120000_00001_abcde_bucket-00003", 3),
        ("20240131_120000_00001_abcde_bucket-00003.gz", 3),
    ],
)
def test_each_writers_names_say_the_bucket(name, bucket):
    """The names of Hive, Spark, Trino and Parquetry all give the number of the bucket, not of the attempt."""
    assert bucket_from_name(name) == bucket


@pytest.mark.parametrize(
    "name",
    [
        "",
        "data.parquet",
        "000003",
        "3_0",
        "0003_0",
        "000003_0-1",
        "20240131_120000.parquet",
        f"20240131_120000_00001_abcde_{UUID}",
        "part-00000",
        f"part-00000-{UUID}-c000.snappy.parquet",
        f"part-00000-{UUID}_3.c000.parquet",
        f"pq-{TABLE.hex()}-{UUID.replace('-', '')}-00002-41-0000.snappy.parquet",
        "bucket_00003",
        "bucket_00003_0",
        "sales_00003.parquet",
        "٠٠٠٠٠٣_0",
        "000003_0/data",
    ],
)
def test_a_name_that_does_not_say_the_bucket_has_none(name):
    """A number that may mean something else is no bucket: a wrong one would lose rows."""
    assert bucket_from_name(name) is None


def test_a_tables_own_files_are_known_by_their_names():
    """Each write has a prefix of its own, which begins with its table's prefix.

    The prefix identifies a table's own file in any folder.
    """
    first, second = new_prefix(TABLE), new_prefix(TABLE)
    assert first != second
    assert first.startswith(own_prefix(TABLE))
    assert own_prefix(TABLE) == "pq-00112233445566aa-"
    assert is_own(f"{first}-00000-1-0000.parquet", TABLE)
    assert is_own(f"s3://lake/t/p=1/{first}", TABLE)
    assert not is_own(f"{first}/data.parquet", TABLE)
    assert not is_own(first, bytes(8))
    assert not is_own(f".{first}.crc", TABLE)
    assert is_own(f"p=1/{BUCKET}", TABLE)
    assert not is_own(BUCKET, bytes(8))
    assert not is_own(f"3_0_{first}", TABLE)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(0*([0-9]+))_([0-9]+).*",  # Hive: Utilities.getBucketFileNameFromPathSubString and its like
        r".*_(\d+)(?:\..*)?$",  # Spark: BucketingUtils.bucketedFileName
        r"(\d+)_\d+.*",  # Trino: BackgroundHiveSplitLoader
        r"(0\d+)_\d+.*",  # Trino of old, and Presto
    ],
)
@pytest.mark.parametrize("bucket", [0, 3, 99_999])
def test_other_engines_read_the_bucket_of_our_files(pattern, bucket):
    """Each engine's own expression, matched as the engine matches it, finds the number in the one name."""
    name = BUCKET.replace("000003_0", f"{bucket:06}_0").replace("_00003.", f"_{bucket:05}.")
    found = re.fullmatch(pattern, name)
    assert found is not None
    assert int(found[1]) == bucket


def test_checksums_lead_to_their_files_and_back():
    """Only `.<name>.crc` is a checksum; the folder stays the same, even one that is called like the file."""
    assert [checksummed_path(path) for path in ("/a.crc", "/.crc", "/..crc", "/.a")] == [None] * 4
    for path in ("a", "/t/a.parquet", "s3://b/a/a", "p=1/pq-1"):
        assert checksummed_path(checksum_path(path)) == path
    assert checksum_path("/a/a") == "/a/.a.crc"


def test_names_with_an_underscore_or_a_dot_first_are_hidden():
    """The last part of a path alone says whether Hive and Spark skip the file."""
    assert [is_hidden(name) for name in ("_SUCCESS", ".f", "t/_delta", "a_b", "_t/f")] == [True] * 3 + [
        False
    ] * 2
