"""Data files under each other's records: what is recorded of them is of other rows."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession


def replace(path: Path, content: bytes) -> None:
    """Give a file other bytes, without a checksum of the old ones."""
    path.write_bytes(content)
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


def exchange(first: Path, second: Path) -> None:
    """Exchange the content of two files."""
    contents = first.read_bytes(), second.read_bytes()
    for path, content in zip((second, first), contents, strict=True):
        replace(path, content)


def alike(spark: SparkSession, table: str, condition: str = "true") -> tuple[Path, Path]:
    """Return two of a table's files with equal sizes, which have rows of a condition."""
    found = spark.sql(f"SELECT DISTINCT _file FROM {table} WHERE {condition}").collect()
    paths = sorted(Path(row[0].removeprefix("file:")) for row in found)
    sizes: dict[int, Path] = {}
    for path in paths:
        other = sizes.setdefault(path.stat().st_size, path)
        if other != path:
            return other, path
    raise AssertionError(f"{table} has no two files of equal size")
