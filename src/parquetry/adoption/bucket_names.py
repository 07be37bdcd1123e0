"""Of which buckets the files are that others laid down: their names say it, and rows are looked at before it is believed.

A wrong bucket would lose rows, so that files are taken for buckets only together: one name without a bucket, or one row
in a bucket where it does not belong, and none is believed.

    files of a partition of 4 buckets                                       are read as
    000000_0, 000003_0, 000003_0_copy_1, 000001_1                           buckets 0, 3, 3, 1; a bucket may have no file
    part-00000-<uuid>_00002.c000.snappy.parquet                             bucket 2
    000000_0, part-00000-<uuid>.c000.snappy.parquet                         not bucketed: a name says no bucket
    000000_0, 000004_0                                                      not bucketed: there is no bucket 4
    000001_0, in which k = 5 belongs in bucket 3                            not bucketed

Of types whose equal values may lie in different buckets, depending on who wrote them (`hashing.portability`), nothing is claimed, and
rows are not looked at: names are all there is, and the partition's record says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec

from parquetry.config import BUCKETING_VERSION
from parquetry.data_files import FileRecord, TableColumn
from parquetry.errors import ParquetryError
from parquetry.hashing import unsettled
from parquetry.layout import BucketSpec, Version
from parquetry.locations import (
    bucket_from_name,
    current_file_systems,
    join_location,
    set_file_systems,
)
from parquetry.verification import BucketCheck, check_buckets

MAX_ROWS_READ_WHOLE = 1 << 22
"""Rows up to which a file is read whole in its columns of buckets and order; of a larger one, some of the first and the last."""
_ROWS_READ_FOR_HINT = 1 << 14
_MAX_READER_THREADS = 8
_HASH_VERSIONS: tuple[Version, ...] = (1, 2, "spark")


@dataclass(frozen=True, slots=True)
class Bucketed:
    """What became of new files of a partition.

    Attributes:
        files: with their buckets, if they are in buckets.
        buckets: of the partition; None: it has none.
        refused: why it has none, in a sentence about one of the files; None: it has, or none were asked for.
    """

    files: list[FileRecord]
    buckets: BucketSpec | None
    refused: str | None = None


def assign_buckets(
    location: str,
    file_format: str,
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    specs: Sequence[BucketSpec | None],
    before: Sequence[FileRecord] = (),
    *,
    most: int = MAX_ROWS_READ_WHOLE,
) -> Bucketed:
    """Say of which buckets new files of a partition are.

    Args:
        location: of the partition.
        file_format: ``parquet`` or ``orc``.
        files: their paths below the partition, or absolute.
        columns: of the table, all that are in files.
        specs: the buckets that they may lie in: the first that they do is taken.
        before: the files that the partition has besides; then its own buckets alone are in `specs`, and it keeps them.
        most: rows to look at in a file that has more.
    """
    usable = list(dict.fromkeys(spec for spec in specs if spec is not None))
    if not usable or not files:
        return Bucketed(list(files), usable[0] if usable else None)
    refused = None
    for spec in usable:
        settled = not spec.unsettled and any(file.bucket is not None for file in before)
        found = _assign_buckets_of_spec(spec, location, file_format, files, columns, settled, most)
        if not isinstance(found, str):
            return found
        refused = found
    return Bucketed(list(files), usable[0] if before else None, refused)


def _assign_buckets_of_spec(
    spec: BucketSpec,
    location: str,
    file_format: str,
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    settled: bool,
    most: int,
) -> Bucketed | str:
    """Return the files with their buckets of one spec, or why they are not in these.

    Args:
        settled: whether the partition has files of buckets of which equal values are known to lie in one: others, of
            which it is not known, cannot join them.
    """
    named = {file.path: bucket_from_name(file.path) for file in files}
    for path, bucket in named.items():
        if bucket is None or bucket >= spec.count:
            says = "no bucket" if bucket is None else f"bucket {bucket}, and there are {spec.count}"
            return f"{path}: the name says {says}"
    physical = {column.physical: column.column_type for column in columns}
    reason = unsettled(spec.version, [physical[name] for name in spec.columns])
    if reason is not None and settled:
        return f"{files[0].path}: {reason}"
    if reason is not None:
        names_alone = [msgspec.structs.replace(file, bucket=named[file.path]) for file in files]
        return Bucketed(names_alone, msgspec.structs.replace(spec, unsettled=True))
    looked = _check_all(location, file_format, files, columns, spec, most)
    found = []
    for file, each in zip(files, looked, strict=True):
        if isinstance(each, str):
            return f"{file.path}: {each}"
        if each.wrong:
            return _misplaced(file, each, _fitting_version(location, file_format, files, columns, spec))
        in_order = each.sorted is True
        found.append(msgspec.structs.replace(file, bucket=named[file.path], sorted=in_order))
    return Bucketed(found, msgspec.structs.replace(spec, unsettled=False))


def _check_all(
    location: str,
    file_format: str,
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    spec: BucketSpec,
    most: int,
) -> list[BucketCheck | str]:
    """Return what was found in each file, or why nothing was."""

    def one(file: FileRecord) -> BucketCheck | str:
        path, bucket = join_location(location, file.path), bucket_from_name(file.path)
        if bucket is None:
            return "the name says no bucket"
        try:
            return check_buckets(path, file_format, bucket, spec, columns, most=most, theirs=True)
        except ParquetryError as error:
            return error.message.rstrip(".")

    with ThreadPoolExecutor(
        min(_MAX_READER_THREADS, len(files)),
        initializer=set_file_systems,
        initargs=(current_file_systems(),),
    ) as pool:
        return list(pool.map(one, files))


def _misplaced(file: FileRecord, check: BucketCheck, other: Version | None) -> str:
    text = f"{file.path}: {check.example}"
    if check.wrong > 1:
        text += f", and {check.wrong - 1} more of the {check.rows} rows looked at lie wrong"
    if other is None:
        return text
    return (
        f"{text}. By version {other} of the hash they all lie right: set the table property {BUCKETING_VERSION!r} to "
        f"{str(other)!r} and run sync with buckets => true"
    )


def _fitting_version(
    location: str,
    file_format: str,
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    spec: BucketSpec,
) -> Version | None:
    """Return another version of the hash by which the files' rows lie right."""
    for version in _HASH_VERSIONS:
        other = msgspec.structs.replace(spec, version=version, sort=())
        looked = _check_all(location, file_format, files, columns, other, _ROWS_READ_FOR_HINT)
        rows = sum(0 if isinstance(each, str) else each.rows for each in looked)
        if rows > 1 and not any(isinstance(each, str) or each.wrong for each in looked):
            return version
    return None
