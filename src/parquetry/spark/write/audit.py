"""Audit a write before its commit: read the rows of its new files, and compare them with the files' records.

Queries rely on what a record says of a file: its bucket, its directory, its order, and its statistics. With
the setting `audit`, Spark's own reader reads each new file, and every claim is compared with the rows as
readers will see them. `verification.recorded_claims` knows what a record claims of columns; this module asks
the rows, in one query for each arrangement, and in another one if files are sorted.

The buckets and cells of the rows are computed here anew: `slots` chose them for the rows that were given.
"""

from __future__ import annotations

import json
import logging
import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession, Window, functions as sf

from parquetry.config import AUDIT, Settings
from parquetry.counters import count_failed_audit
from parquetry.data_files import FileBounds, FileRecord, TableColumn
from parquetry.errors import AuditError
from parquetry.identifiers import field_path, quote_part
from parquetry.layout import ArrangementSpec, BucketSpec, SkewMap, SortColumn, physical_schema
from parquetry.locations import is_absolute, join_location, path_within
from parquetry.metastore import TableSnapshot
from parquetry.spark.active import bridge_class
from parquetry.spark.write.committed_files import WrittenPartition
from parquetry.spark.write.values import comparable, text_of, value_column
from parquetry.texts import quantity
from parquetry.types import ColumnType
from parquetry.verification import ColumnFacts, broken_claims, recorded_bounds

_LOG = logging.getLogger("parquetry")
_NUMBER_COLUMN = "parquetry.file"
"""The column of the numbers of files, and the beginning of helper columns' names; longer if it is taken."""


def audit_files(
    spark: SparkSession,
    snapshot: TableSnapshot,
    written: Collection[WrittenPartition],
    settings: Settings,
    options: Mapping[str, str],
) -> dict[str, str]:
    """Compare the rows of new files with the files' records, if the settings have this write audited.

    Args:
        spark: the session of the write.
        snapshot: the table before the write.
        written: the files, with the records that are to be committed.
        settings: of the write.
        options: for the writer of files, such as the keys of encrypted ones.

    Returns:
        The entry for the history, or nothing if the write was not audited.

    Raises:
        AuditError: a claim of a record does not hold.
        ConfigurationError: the setting cannot be used.
    """
    share = settings[AUDIT]
    if not share or random.random() >= share:
        return {}
    groups: dict[ArrangementSpec | None, list[tuple[str, FileRecord]]] = defaultdict(list)
    for part in written:
        own_folder = snapshot.placement.default_location(part.values)
        groups[part.arrangement] += (_in_folder(part.location, own_folder, file) for file in part.files)
    count = 0
    for arrangement, files in groups.items():
        group = _WrittenFiles(spark, snapshot, arrangement or ArrangementSpec(), files, options)
        for path, claim in group.broken_claims():
            count_failed_audit()
            raise AuditError(
                f"The audit of a write into table {snapshot.label} found that the new file '{path}' {claim}. Nothing was "
                "written. Report it with this message: the table would have given wrong answers."
            )
        count += len(files)
    text = f"{quantity(count, 'file')} written, all hold"
    _LOG.info("audited: %s (table %s)", text, snapshot.label)
    return {"audited": text}


def _in_folder(location: str, own_folder: str, file: FileRecord) -> tuple[str, FileRecord]:
    """Return a folder, and a file with its path below it, if it is below.

    A partition at a location of others has its new files in the table's own folder.
    """
    path = join_location(location, file.path)
    folder = own_folder if path_within(own_folder, path) != path else location
    return folder, msgspec.structs.replace(file, path=path_within(folder, path))


class _Stray(NamedTuple):
    """A condition that rows of a file break, and what the row says that breaks it.

    Attributes:
        wrong: whether a row breaks it.
        example: the text of such a row.
        claim: the end of a sentence before the text.
    """

    wrong: Column
    example: Column
    claim: str


class _WrittenFiles:
    """New files of one arrangement.

    Args:
        spark: the session.
        snapshot: the table before the write.
        arrangement: of the files' partitions.
        files: the files, each after the location of its partition.
        options: for the reader.
    """

    def __init__(
        self,
        spark: SparkSession,
        snapshot: TableSnapshot,
        arrangement: ArrangementSpec,
        files: Sequence[tuple[str, FileRecord]],
        options: Mapping[str, str],
    ) -> None:
        self._spark = spark
        self._format = snapshot.metadata.format
        self._columns: Sequence[TableColumn] = [
            column for column in snapshot.metadata.data_columns if column.column_type.name != "void"
        ]
        self._types = {column.physical: column.column_type for column in self._columns}
        self._arrangement = arrangement
        self._files = files
        self._options = options
        self._number = _NUMBER_COLUMN
        while any(name.lower().startswith(self._number) for name in self._types):
            self._number += "_"
        fields = [field for field in snapshot.metadata.fields if field.column_type.name != "void"]
        self._described: Sequence[TableColumn] = [*self._columns, *fields]
        self._bounds = [recorded_bounds(file, self._described) for _, file in files]

    def broken_claims(self) -> Iterator[tuple[str, str]]:
        """Yield the path of a file, and a claim of its record that does not hold."""
        yield from self._outside()
        rows = self._read()
        yield from self._unlike_records(rows)
        yield from self._out_of_order(rows)

    def _outside(self) -> Iterator[tuple[str, str]]:
        """Yield the files that are not in the directory of their partition and heavy values."""
        skew = self._arrangement.skew
        for location, file in self._files:
            path = join_location(location, file.path)
            if skew is not None and file.cell is not None:
                if not skew.is_in_slot(file, self._types, location):
                    yield path, f"is not in the directory of its cell {file.cell}"
            elif is_absolute(file.path):
                yield path, f"is not below its partition's folder {location}"

    def _read(self) -> DataFrame:
        pairs = [(join_location(location, file.path), file.bytes) for location, file in self._files]
        schema = json.dumps(physical_schema(self._columns))
        door = bridge_class(self._spark._jvm, "datafiles.WrittenRows")
        data = door.read(
            self._spark._jsparkSession,
            self._format,
            json.dumps(pairs),
            schema,
            self._number,
            dict(self._options),
        )
        return DataFrame(data, self._spark)

    def _collect(self, rows: DataFrame) -> list[list[Any]]:
        door = bridge_class(self._spark._jvm, "datafiles.WrittenRows")
        collected: list[list[Any]] = json.loads(door.collect(rows._jdf))
        return collected

    def _unlike_records(self, rows: DataFrame) -> Iterator[tuple[str, str]]:
        """Yield the claims that rows break by themselves: bucket, cell, and the statistics of columns."""
        rows, strays = self._with_slots(rows)
        claimed = [
            column for column in self._described if any(column.physical in bounds for bounds in self._bounds)
        ]
        claims = sf.broadcast(self._claims(claimed))
        rows = rows.join(claims, self._col() == self._col("claims"), "left")
        aggregates = [sf.count(sf.lit(1))]
        for stray in strays:
            aggregates += [sf.count_if(stray.wrong), sf.first(sf.when(stray.wrong, stray.example), True)]
        for at, column in enumerate(claimed):
            aggregates += self._column_facts(at, column)
        named = [each.alias(f"{self._number}.{at}") for at, each in enumerate(aggregates)]
        facts_of = {row[0]: row[1:] for row in self._collect(rows.groupBy(self._name()).agg(*named))}
        for number, (location, file) in enumerate(self._files):
            values = iter(facts_of.get(number) or (0,) * len(aggregates))
            path, count = join_location(location, file.path), next(values)
            for stray in strays:
                wrong, example = next(values), next(values)
                if wrong:
                    yield path, f"{_slot_text(file)}, and {quantity(wrong, 'row')} {stray.claim} {example}"
            facts = {column.physical: ColumnFacts(*(next(values) for _ in range(5))) for column in claimed}
            for claim in broken_claims(file, count, facts, self._bounds[number]):
                yield path, claim

    def _with_slots(self, rows: DataFrame) -> tuple[DataFrame, list[_Stray]]:
        """Return rows with their buckets and cells, and how these may differ from the files' records."""
        strays = []
        buckets, skew = self._arrangement.buckets, self._arrangement.skew
        if buckets is not None and any(file.bucket is not None for _, file in self._files):
            rows = self._with_bucket(rows, buckets)
            own = self._col("bucket.own")
            text = sf.concat(self._row_text(buckets.columns), sf.lit(" of bucket "), own)
            strays.append(_Stray(own != self._col("bucket"), text, "belong elsewhere, such as"))
        if skew is not None and any(file.cell_number is not None for _, file in self._files):
            rows = rows.withColumn(f"{self._number}.cell.own", self._cell_of(skew))
            own = self._col("cell.own")
            text = sf.concat(self._row_text(skew.columns), sf.lit(" of cell "), own)
            excluded = (own >= 0) & (own < self._col("excluded"))
            wrong = sf.coalesce(own != self._col("cell"), excluded)
            strays.append(_Stray(wrong, text, "belong elsewhere, such as"))
        return rows, strays

    def _with_bucket(self, rows: DataFrame, buckets: BucketSpec) -> DataFrame:
        fields = {field["name"]: field for field in physical_schema(self._columns)["fields"]}
        asked = [
            {
                "name": f"{self._number}.bucket.own",
                "version": str(buckets.version),
                "count": buckets.count,
                "columns": buckets.columns,
                "types": {"type": "struct", "fields": [fields[name] for name in buckets.columns]},
            }
        ]
        door = bridge_class(self._spark._jvm, "hash.BucketColumns")
        return DataFrame(door.add(rows._jdf, json.dumps(asked)), self._spark)

    def _cell_of(self, skew: SkewMap) -> Column:
        """Return the cell of each row, or -1 for a row of none."""
        types = [self._types[name] for name in skew.columns]
        number = sf.when(sf.lit(False), sf.lit(-1))
        for cell, values in enumerate(skew.values(types)):
            equal = (
                comparable(type, _col(name)).eqNullSafe(value_column(type, sf.lit(text_of(type, value))))
                for name, type, value in zip(skew.columns, types, values, strict=True)
            )
            number = number.when(reduce(Column.__and__, equal), sf.lit(cell))
        return number.otherwise(sf.lit(-1))

    def _claims(self, claimed: Sequence[TableColumn]) -> DataFrame:
        """Return a row for each file: its number, bucket, cell, excluded cells, and bounds as texts."""
        names = [self._name("claims"), *(self._name(each) for each in ("bucket", "cell", "excluded"))]
        schema = [f"{name} int" for name in names]
        for at in range(len(claimed)):
            schema += [f"{self._name(f'low.{at}')} string", f"{self._name(f'high.{at}')} string"]
        rows = []
        for number, (_, file) in enumerate(self._files):
            row: list[int | str | None] = [number, file.bucket, file.cell, file.rest_of]
            for column in claimed:
                bounds = self._bounds[number].get(column.physical, FileBounds())
                type = column.column_type
                row += [text_of(type, bounds.min), text_of(type, bounds.max)]
            rows.append(tuple(row))
        return self._spark.createDataFrame(rows, ", ".join(schema))

    def _column_facts(self, at: int, column: TableColumn) -> list[Column]:
        """Return the aggregates of `ColumnFacts`."""
        type, values = column.column_type, _col(column.physical)
        if all(self._bounds_of(number, column) is None for number in range(len(self._files))):
            return [sf.count_if(values.isNull()), *(sf.lit(0),) * 4]
        values = _as_read(type, values)
        low, high = (_bound_column(type, self._col(f"{end}.{at}")) for end in ("low", "high"))
        ordered = ~sf.isnan(values) if type.floating else sf.lit(True)
        conditions = values.isNull(), ordered & (values < low), ordered & (values > high), values == low
        return [*map(sf.count_if, conditions), sf.count_if(values == high)]

    def _bounds_of(self, number: int, column: TableColumn) -> FileBounds | None:
        bounds = self._bounds[number].get(column.physical)
        return None if bounds is None or (bounds.min is None and bounds.max is None) else bounds

    def _out_of_order(self, rows: DataFrame) -> Iterator[tuple[str, str]]:
        """Yield the files whose rows are not in the order that their records claim."""
        order = self._arrangement.order
        numbers = [number for number, (_, file) in enumerate(self._files) if file.sorted]
        if not order or not numbers:
            return
        window = Window.partitionBy(self._name()).orderBy(self._name("block"), self._name("row"))
        names = [each.column for each in order]
        texts = self._row_text(names)
        values = [_as_read(self._types[name], _col(name)).alias(str(at)) for at, name in enumerate(names)]
        above = sf.lag(sf.struct(*values, texts.alias("text")))
        pairs = rows.where(self._col().isin(numbers)).withColumn(f"{self._number}.above", above.over(window))
        wrong = self._col("above").isNotNull() & self._belongs_above(order)
        message = sf.concat(texts, sf.lit(" stands below "), self._col("above")["text"])
        examples = self._collect(pairs.where(wrong).groupBy(self._name()).agg(sf.first(message)))
        for number, example in sorted(examples):
            location, file = self._files[number]
            yield join_location(location, file.path), f"is out of order: {example}"

    def _belongs_above(self, order: Sequence[SortColumn]) -> Column:
        """Return whether a row comes before the one above it, as Spark sorts."""
        wrong, equal = sf.lit(False), sf.lit(True)
        for at, each in enumerate(order):
            before = self._col("above")[str(at)]
            own = _as_read(self._types[each.column], _col(each.column))
            less, greater = (before, own) if each.descending else (own, before)
            # NULL is less than any value, as in Hive
            smaller = (less.isNull() & greater.isNotNull()) | sf.coalesce(less < greater, sf.lit(False))
            wrong = wrong | (equal & smaller)
            equal = equal & own.eqNullSafe(before)
        return wrong

    def _row_text(self, names: Sequence[str]) -> Column:
        """Return the text of some columns of a row, such as ``k = 5, s = NULL``."""
        parts = []
        for name in names:
            value = sf.hex(_col(name)) if self._types[name].name == "binary" else _col(name).cast("string")
            parts.append(sf.concat(sf.lit(f"{name} = "), sf.coalesce(value, sf.lit("NULL"))))
        return sf.concat_ws(", ", *parts)

    def _name(self, of: str = "") -> str:
        """Return the quoted name of a helper column."""
        return quote_part(f"{self._number}.{of}" if of else self._number)

    def _col(self, of: str = "") -> Column:
        return sf.col(self._name(of))


def _col(name: str) -> Column:
    return sf.col(".".join(map(quote_part, field_path(name))))


def _slot_text(file: FileRecord) -> str:
    """Return where a file's record says that all its rows belong."""
    slots = (("bucket", file.bucket), ("cell", file.cell))
    return "is of " + (
        " and ".join(f"{name} {number}" for name, number in slots if number is not None) or "the rest"
    )


def _as_read(type: ColumnType, values: Column) -> Column:
    """Return a column of a file as readers see it: a char is padded."""
    if type.name != "char":
        return values
    return sf.when(sf.length(values) < type.length, sf.rpad(values, type.length, " ")).otherwise(values)


def _bound_column(type: ColumnType, text: Column) -> Column:
    """Return the bounds of a column of texts. The bounds of a char are padded as its values are."""
    return text if type.name == "char" else value_column(type, text)
