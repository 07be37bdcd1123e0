"""Every error Parquetry raises, under one root.

A message names the object, the value and the remedy. `code` is stable: programs can look for it across the
bridge and in the command line's output.
"""

from __future__ import annotations

from typing import ClassVar

from parquetry.texts import MAX_MESSAGE, excerpt, shorten


class ParquetryError(Exception):
    """The root of all errors raised on purpose.

    Attributes:
        code: a stable name in upper snake case.
        sqlstate: the SQLSTATE that clients of SQL see, as Spark's own errors of the kind have it.
        message: the problem, the value and the remedy; without the middle if it is longer than `longest`.
        longest: characters of a message. Messages quote texts of users, which may be of any length.
    """

    code: ClassVar[str] = "PARQUETRY_ERROR"
    sqlstate: ClassVar[str] = "KD000"
    longest: ClassVar[int] = MAX_MESSAGE

    def __init__(self, message: str) -> None:
        self.message = shorten(message, self.longest)
        super().__init__(self.message)


class ConfigurationError(ParquetryError):
    """A setting is missing, unknown or has a value that cannot be used."""

    code = "CONFIGURATION"
    sqlstate = "42616"


class WarehouseError(ParquetryError):
    """The warehouse folder cannot be used."""

    code = "WAREHOUSE"


class OpenFilesError(ParquetryError):
    """The process is at its limit of open files."""

    code = "OPEN_FILES"


class LocationTakenError(ParquetryError):
    """A location belongs to another table already."""

    code = "LOCATION_TAKEN"


class ForeignWarehouseError(ParquetryError):
    """The warehouse belongs to another metastore, so this one may only be read."""

    code = "FOREIGN_WAREHOUSE"


class BridgeError(ParquetryError):
    """The bridge is missing, of another version, or could not be built."""

    code = "BRIDGE"
    longest = 6000
    """It may quote the end of what a compiler printed."""


class NamespaceNotFoundError(ParquetryError):
    """No such database."""

    code = "NAMESPACE_NOT_FOUND"
    sqlstate = "42704"


class NamespaceExistsError(ParquetryError):
    """The database is already there."""

    code = "NAMESPACE_EXISTS"
    sqlstate = "42P06"


class NamespaceNotEmptyError(ParquetryError):
    """The database still holds tables."""

    code = "NAMESPACE_NOT_EMPTY"
    sqlstate = "2BP01"


class TableNotFoundError(ParquetryError):
    """No such table."""

    code = "TABLE_NOT_FOUND"
    sqlstate = "42P01"


class OtherKindError(TableNotFoundError):
    """The name belongs to a view, and the caller looks for a table; or the other way round."""


class VersionNotFoundError(TableNotFoundError):
    """A table has no such version, or no longer."""

    code = "VERSION_NOT_FOUND"


class HiveError(ParquetryError):
    """A Hive metastore refused a request."""

    code = "HIVE"


class TableExistsError(ParquetryError):
    """The table is already there."""

    code = "TABLE_EXISTS"
    sqlstate = "42P07"


class ColumnNotFoundError(ParquetryError):
    """No such column."""

    code = "COLUMN_NOT_FOUND"
    sqlstate = "42703"


class ColumnExistsError(ParquetryError):
    """The column is already there."""

    code = "COLUMN_EXISTS"
    sqlstate = "42711"


class ConstraintExistsError(ParquetryError):
    """A constraint of that name is already there."""

    code = "CONSTRAINT_EXISTS"
    sqlstate = "42710"


class ConstraintNotFoundError(ParquetryError):
    """No such constraint."""

    code = "CONSTRAINT_NOT_FOUND"
    sqlstate = "42704"


class ConstrainedColumnChangeError(ParquetryError):
    """A column that a constraint names cannot be changed in this way."""

    code = "CONSTRAINED_COLUMN_CHANGE"
    sqlstate = "0A000"


class PartitionNotFoundError(ParquetryError):
    """No such partition."""

    code = "PARTITION_NOT_FOUND"
    sqlstate = "428FT"


class PartitionExistsError(ParquetryError):
    """The partition is already there."""

    code = "PARTITION_EXISTS"
    sqlstate = "428FT"


class IndexNotFoundError(ParquetryError):
    """A partition index does not exist."""

    code = "INDEX_NOT_FOUND"
    sqlstate = "42704"


class IndexExistsError(ParquetryError):
    """A partition index exists already."""

    code = "INDEX_EXISTS"
    sqlstate = "42710"


class PropertyError(ParquetryError):
    """A table property or an option is unknown, reserved or has a value that cannot be used."""

    code = "PROPERTY"
    sqlstate = "22023"


class ValueTypeError(ParquetryError):
    """A value does not fit its type."""

    code = "VALUE_TYPE"
    sqlstate = "42846"


class ArrangementError(ParquetryError, ValueError):
    """An arrangement of rows (heavy values, buckets, sort order) is invalid, or does not fit the columns."""

    code = "ARRANGEMENT"
    sqlstate = "42000"


class OutsideConditionError(ParquetryError):
    """A row of a REPLACE WHERE does not satisfy its condition; nothing was written."""

    code = "OUTSIDE_CONDITION"
    sqlstate = "44000"


class UnsupportedError(ParquetryError):
    """Parquetry understands the operation and does not offer it."""

    code = "UNSUPPORTED"
    sqlstate = "0A000"


class MarkedTextError(ParquetryError):
    """A text cannot be used; the message marks the position.

    Attributes:
        text: the whole text.
        position: offset of the error in `text`, in characters.
    """

    code = "TEXT"
    sqlstate = "42601"

    def __init__(self, message: str, text: str, position: int) -> None:
        line, column = excerpt(text, position)
        super().__init__(f"{shorten(message, MAX_MESSAGE // 2)}\n  {line}\n  {' ' * column}^")
        self.text = text
        self.position = position


class FilterError(MarkedTextError):
    """A filter's text cannot be used; the message marks the position."""

    code = "FILTER"


class ReportFileError(ParquetryError):
    """A file is no saved report of a query, or there is no such file."""

    code = "REPORT_FILE"
    sqlstate = "42000"


class ClauseError(MarkedTextError):
    """The text of a clause of a statement, or of the property that stands for it, cannot be used."""

    code = "CLAUSE"


class SkewError(ParquetryError):
    """The definition of a table's skewed columns or values is invalid.

    Where Hive has the same check, the message begins with Hive's code and text, as Hive's users know them.

    Attributes:
        hive: Hive's code, or None if Hive has the text without a code, or has no such check.
    """

    code = "SKEW"
    sqlstate = "42000"
    hive: ClassVar[int | None] = None

    def __init__(self, message: str) -> None:
        super().__init__(message if self.hive is None else f"[Error {self.hive}]: {message}")


class LoadIntoSkewedError(SkewError):
    """LOAD DATA cannot put files into directories by their rows' values."""

    hive = 10195


class NotSkewedError(SkewError):
    """The operation needs a skewed table."""

    hive = 10196


class NoSkewedLocationsError(SkewError):
    """SET SKEWED LOCATION names no location."""

    hive = 10197


class SkewedLocationPairError(SkewError):
    """An entry of SET SKEWED LOCATION is not a pair of a value and a location."""

    hive = 10198


class NoSkewedColumnsError(SkewError):
    """SKEWED BY names no column."""

    hive = 10200


class NoSkewedValuesError(SkewError):
    """SKEWED BY … ON names no value, or something that is not a constant."""

    hive = 10201


class DuplicateSkewedColumnError(SkewError):
    """SKEWED BY names a column twice."""

    hive = 10202


class InvalidSkewedColumnError(SkewError):
    """SKEWED BY names something that is not a column of the files, such as a partition column."""

    hive = 10203


class SkewedWidthError(SkewError):
    """A tuple of SKEWED BY … ON has more or fewer values than SKEWED BY has columns."""

    hive = 10206


class SkewedColumnChangeError(SkewError):
    """A skewed column cannot be dropped, renamed, or given another type."""

    hive = 10207


class SkewedLocationError(SkewError):
    """A location of SET SKEWED LOCATION is not an absolute URI."""


class SkewedValueError(SkewError):
    """A skewed value does not fit its column or cannot name a directory, or the table has too many."""


class ListBucketingError(SkewError):
    """A table with directories for heavy values does not allow this; the message names the rule."""

    code = "LIST_BUCKETING"
    sqlstate = "0A000"


class BucketError(ParquetryError):
    """The definition of a table's buckets is invalid."""

    code = "BUCKET"
    sqlstate = "42000"


class NotBucketedError(BucketError):
    """The operation needs a bucketed table."""


class BucketColumnChangeError(BucketError):
    """A column that assigns rows to buckets, or sorts them there, cannot be dropped or get another type."""


class StoreError(ParquetryError):
    """The key-value store failed or cannot be reached."""

    code = "STORE"
    sqlstate = "58030"


class MetastoreVersionError(ParquetryError):
    """The metastore was written by a later version, or is not a metastore."""

    code = "METASTORE_VERSION"


class MetastoreDamagedError(ParquetryError):
    """A row of the metastore is missing or unreadable, and nothing that Parquetry does can have caused it."""

    code = "METASTORE_DAMAGED"


class CommitConflictError(ParquetryError):
    """Another commit changed what this one was about to change; nothing was written."""

    code = "COMMIT_CONFLICT"
    sqlstate = "40001"


class CommitAbortedError(ParquetryError):
    """Another writer took this commit's author for dead and aborted the commit; nothing was written."""

    code = "COMMIT_ABORTED"
    sqlstate = "40000"


class BatchCommittedError(ParquetryError):
    """A batch of a streaming query was committed before; nothing was written."""

    code = "BATCH_COMMITTED"


class StreamError(ParquetryError):
    """A streaming query cannot go on from its offset; the message says why, and what can be done."""

    code = "STREAM"
    sqlstate = "42KDE"


class CommitUnknownError(ParquetryError):
    """The commit may have taken place: the store did not answer when asked."""

    code = "COMMIT_UNKNOWN"
    sqlstate = "40003"


class FileCorruptError(ParquetryError):
    """A data file cannot be read as what it claims to be."""

    code = "FILE_CORRUPT"
    sqlstate = "KD001"


class FileMissingError(ParquetryError):
    """A data file or directory has vanished."""

    code = "FILE_MISSING"
    sqlstate = "KD001"


class AuditError(ParquetryError):
    """A claim about rows does not hold; nothing was written, and no rows were returned."""

    code = "AUDIT"
    sqlstate = "XX000"
