"""Refuse tables and files that readers of other formats, Iceberg's and Delta's, would read wrong.

Parquetry's own readers go by the table's record of each file. Readers of Iceberg or Delta go by the files and
by one schema. So a table is refused, with the reason and a remedy, where they would read other rows. A
format's names of types, and which partition values its readers read alike, are facts of a type.

| case | what such a reader reads |
|---|---|
| a file with another table's field ids | other columns |
| a file without field ids, whose columns are not at the positions of their ids | Iceberg's own Java reader: other columns |
| a file without a column that has a DEFAULT | NULL |
| a file with a type that only Spark reads as the table's | an error, or other values |
| a file with early days of another calendar | other days |
| an encrypted file | an error |
| a file with lists or maps in a form of older writers | NULL, or an error |
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from parquetry.data_files import FileRecord, IdsInFile, TableColumn, has_default, type_parts, types_by_path
from parquetry.errors import UnsupportedError
from parquetry.metastore import TableMetadata, TableSnapshot
from parquetry.types import ColumnType, type_from_json, type_text

_BAD_NAME = re.compile(r"[ ,;{}()\n\t=]")
"""Characters that Delta allows in names only with column mapping, which some readers read wrong."""
_UUID_NAMESPACE = uuid.UUID("6f0d3a5e-6f2c-5a4e-9d55-0c5b9f5e2a41")
_REMEDY = "CALL system.compact(table, for_other_readers => true)"
_REWRITE = f"{_REMEDY} writes it anew"
_FOR_SPARK_ALONE: dict[int | None, str] = {
    IdsInFile.OLD_CALENDAR: "it may have days before 1582 or times before 1900 of another calendar, which only "
    f"Spark's readers convert: {_REWRITE}",
    IdsInFile.ENCRYPTED: "it, or columns of it, are encrypted, and only Spark has the keys: read the table with Spark",
    IdsInFile.OLD_LISTS: "it has lists or maps in a form of older writers, in which some readers find NULL instead of "
    f"the values: {_REWRITE}",
}
_BY_IDS = (IdsInFile.OURS, IdsInFile.BY_POSITION, IdsInFile.WITH_PARTITION_COLUMNS)
_NOT_BY_IDS: dict[int | None, str] = {
    IdsInFile.FOREIGN: f"it has the field ids of another table, by which other columns would be read: {_REWRITE}",
    IdsInFile.ABSENT: "it has no field ids, and its columns are not where readers that go by position look for them: "
    f"{_REWRITE}",
    None: f"nothing is known of its field ids, as an earlier version recorded it: {_REWRITE}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFormat:
    """A format, with all that distinguishes its readers from readers of other formats.

    Attributes:
        failure: what cannot be done with a table that they would read wrong.
        by_ids: whether they look for columns by field ids; otherwise by names.
        promotes: whether they read a narrower number as a wider one of the same kind. Some readers of Delta
            fail, and others read other values.
        column_refusal: why they would read a column wrong, or None, given the files' format and whether it is
            a partition column.
    """

    failure: str
    by_ids: bool
    promotes: bool
    column_refusal: Callable[[TableColumn, str, bool], str | None]

    def error(self, label: str, reason: str) -> UnsupportedError:
        """Return the error for a table, given its name and the reason with a remedy."""
        return UnsupportedError(f"Table {label} {self.failure}: {reason}.")

    def raise_if_refused(self, label: str, reason: str | None) -> None:
        """Raise the error for a table if there is a reason to refuse it.

        Raises:
            UnsupportedError: there is one.
        """
        if reason is not None:
            raise self.error(label, reason)

    def definition_refusal(self, metadata: TableMetadata) -> str | None:
        """Return what a definition says that readers would read otherwise, or None."""
        keys = {column.name for column in metadata.partition_columns}
        refusals = (
            self.column_refusal(each, metadata.format, each.name in keys) for each in metadata.columns
        )
        return next(filter(None, refusals), None)

    def widened_refusal(self, metadata: TableMetadata, earlier: Iterable[TableMetadata]) -> str | None:
        """Return which column had another type in an earlier version that readers cannot read, or None.

        Args:
            metadata: of the table.
            earlier: the metadata of earlier versions, whose files the table may still have.
        """
        now = types_by_path(metadata.columns)
        # an older library recorded no former types, and then the versions that are left tell them
        former = (metadata.former_types, *(types_by_path(old.columns).items() for old in earlier))
        for path, kind in itertools.chain(*former):
            if path in now and now[path] != kind and not (self.promotes and _promotes(kind, now[path])):
                return (
                    f"column {'.'.join(path)} was {kind} before it was {now[path]}, and only Spark reads files of before as that: "
                    "copy the rows into a new table"
                )
        return None


def _promotes(old: str, new: str) -> bool:
    """Return whether Iceberg has the change of a type: to a wider number of the same kind."""
    was, now = type_from_json(old), type_from_json(new)
    if was.name == "varchar":
        return now.name in ("varchar", "string")
    if was.name == "decimal":
        return now.name == "decimal" and was.scale == now.scale and now.precision >= was.precision
    return now.widens(was)


def _refused_by_iceberg(column: TableColumn, file_format: str, is_key: bool) -> str | None:
    parts = list(type_parts(column))
    for part in parts:
        # ORC has local times without a zone where Spark means instants, and a TIMESTAMP_NTZ is a number there
        if file_format == "orc" and not is_key and part.type in ("timestamp", "timestamp_ntz"):
            return (
                f"column {part.field} is or has {type_text(part.type)} in ORC, whose times have no zone there. Copy the rows "
                "into a table of Parquet"
            )
    for part in parts:
        if part.leaf is not None and part.leaf.facts.iceberg is None:
            lack = "which they would not pad" if part.leaf.name == "char" else "which Iceberg has not"
            return (
                f"column {part.field} is or has {type_text(part.type)}, {lack}. Copy the rows into a table with another type, or "
                "leave the column out there"
            )
    if is_key and not column.column_type.facts.iceberg_keys:
        return (
            f"partition column {column.name} is {type_text(column.type)}, whose values they do not compare exactly. Copy the "
            "rows into a table with another partition column"
        )
    return None


def _refused_by_delta(column: TableColumn, file_format: str, is_key: bool) -> str | None:
    if file_format != "parquet":
        return f"its files are {file_format}, and Delta has Parquet files alone"
    for part in type_parts(column):
        name = ".".join(part.names)
        if part.names[-1] != part.path[-1]:
            return (
                f"column {name} was renamed, or replaced a dropped column, and has another name in the files, which some of "
                "Delta's readers would read as NULL. Copy the rows into a new table"
            )
        if _BAD_NAME.search(name):
            return f"column {name!r} has a character in its name that Delta does not allow"
        if part.leaf is not None and part.leaf.facts.delta is None:
            return (
                f"column {name} is {type_text(part.type)}, which Delta's readers lack or would not pad. Copy the rows into a "
                "table with another type"
            )
    if is_key and not column.column_type.facts.delta_keys:
        return f"partition column {column.name} is {type_text(column.type)}, whose values Delta's readers do not read alike"
    return None


def _refused_by_hive(column: TableColumn, file_format: str, is_key: bool) -> str | None:
    for part in type_parts(column):
        if part.leaf is not None and not part.leaf.facts.hive:
            return (
                f"column {'.'.join(part.names)} is or has {type_text(part.type)}, which Hive has not. Copy the rows into a table with "
                "another type"
            )
        if file_format == "orc" and not is_key and part.type == "timestamp":
            return (
                f"column {part.field} is or has {type_text(part.type)} in ORC, whose times have no zone there. Copy the rows "
                "into a table of Parquet"
            )
    return _refused_by_hive_in_spark(column, file_format, is_key)


def _refused_by_hive_in_spark(column: TableColumn, file_format: str, is_key: bool) -> str | None:  # noqa: ARG001
    parts = list(type_parts(column))
    for part in parts[1:]:
        if part.names[-1] != part.path[-1]:
            return (
                f"field {'.'.join(part.names)} was renamed, and has another name in the files, by which readers look for it. "
                "Copy the rows into a new table"
            )
    if is_key and not column.column_type.facts.hive:
        return f"partition column {column.name} is {type_text(column.type)}, which Hive has not. Copy the rows into another table"
    return None


ICEBERG = OtherFormat(
    failure="cannot be read by Iceberg's readers",
    by_ids=True,
    promotes=True,
    column_refusal=_refused_by_iceberg,
)
DELTA = OtherFormat(
    failure="cannot be published as a Delta log",
    by_ids=False,
    promotes=False,
    column_refusal=_refused_by_delta,
)

HIVE = OtherFormat(
    failure="cannot be read by clients of Hive's metastore",
    by_ids=False,
    promotes=True,
    column_refusal=_refused_by_hive,
)
"""Readers that a Hive metastore leads to the files. Not all are Spark's."""
HIVE_IN_SPARK = dataclasses.replace(HIVE, column_refusal=_refused_by_hive_in_spark)
"""Spark's own readers, which a Hive metastore leads to the files."""


class FileCheck:
    """Checks of many files of one version of a table.

    Args:
        metadata: of the version.
        format: whose readers get the files.
    """

    def __init__(self, metadata: TableMetadata, format: OtherFormat) -> None:
        self._format = format
        self._columns = [(column, column.physical, has_default(column)) for column in metadata.data_columns]

    def require_readable(self, label: str, path: str, file: FileRecord) -> None:
        """Make sure that readers read a file right, given the names of table and file for messages.

        Raises:
            UnsupportedError: they would read it otherwise.
        """
        if (reason := self.refusal(file)) is not None:
            raise self._format.error(label, f"file {path}: {reason}")

    def refusal(self, file: FileRecord) -> str | None:
        """Return why a file cannot be given to readers of the format, or None if they read it right."""
        ids, by_ids = file.field_ids, self._format.by_ids
        if ids in _FOR_SPARK_ALONE:
            return _FOR_SPARK_ALONE[ids]
        if by_ids and ids not in _BY_IDS:
            return _NOT_BY_IDS.get(ids, _NOT_BY_IDS[None])
        if file.rows is None:
            return "its number of rows is not known: CALL system.sync reads its footer again"
        known = file.columns or {}
        spelled = {name.lower(): name for name in known}
        narrower = None
        for column, physical, is_filled_in in self._columns:
            in_file = spelled.get(physical.lower())
            if in_file is None:
                if is_filled_in:
                    return f"it lacks column {column.name}, whose default value only Spark's readers would fill in: {_REWRITE}"
                continue
            if in_file != physical:
                return f"column {column.name} is spelled {in_file} there, and other readers distinguish letter case: {_REWRITE}"
            stored = known[in_file].stored
            if stored is None or isinstance(column.type, dict):  # what is stored within is not recorded
                continue
            if not _is_common_form(stored, column.column_type):
                return (
                    f"column {column.name} is {type_text(column.type)} in the table, and {stored.partition(' ')[2]} in the file, "
                    f"which only Spark reads as that: {_REWRITE}"
                )
            narrower = narrower or column.name
        if not by_ids and ids == IdsInFile.FOREIGN:
            return "it has the field ids of another table, by which some readers go: CALL system.compact writes it anew"
        if not self._format.promotes and narrower is not None:
            return f"column {narrower} has another type there: {_REMEDY}"
        return None


def _is_common_form(stored: str, kind: ColumnType) -> bool:
    """Return whether all readers read a type in a file, as records name it, as the type of a column."""
    if kind.name == "decimal":
        precision, _, scale = stored.partition("DECIMAL(")[2].rstrip(")").partition(",")
        return precision.isdigit() and scale == str(kind.scale) and int(precision) <= kind.precision
    file_format, _, form = stored.partition(" ")
    return file_format == "parquet" and form in kind.facts.parquet_forms


def history_id(snapshot: TableSnapshot) -> str:
    """Return the id of a table's versions until a REPLACE TABLE, which begins others."""
    return f"{snapshot.id.hex()}{snapshot.metadata.replacement}"


def history_uuid(snapshot: TableSnapshot) -> str:
    """Return the same id in the form that the formats have."""
    return str(uuid.uuid5(_UUID_NAMESPACE, history_id(snapshot)))
