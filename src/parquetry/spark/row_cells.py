"""Which cell of its partition's skew map each row is of, as a column of numbers, and the directory of each number.

The writer of files takes the number for a last partition column, so that a task comes upon the rows of each cell
together; the level `parquetry.cell=3` in a path then becomes the cell's own directory (`DirectCommitProtocol`). The table's map is
a CASE over its cells; where partitions have maps of their own, the numbers are joined to the rows. Two values are equal
as SQL's `<=>` has it: NULL is a value, and so is NaN.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from parquetry.identifiers import quoted
from parquetry.layout.arrangement import REST, SkewMap
from parquetry.layout.cells import cell_place
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.planner.destinations import Destinations
from parquetry.spark.values import comparable, key_column, text_of, value_column
from parquetry.types import ColumnType

_COLUMN = "parquetry.cell"
"""The column of numbers, and what names beside it begin with; longer where a table has such a column."""
_NONE = 0
"""The number of rows of which no cell is told."""


class RowCells:
    """The numbers of the cells that the rows of one write may be of.

    Args:
        snapshot: of the table.
        destinations: of the rows.

    Attributes:
        destinations: of the rows.
        directories: by number, below the partition or absolute; the first is empty. No more than that: there are no cells.
        column: the name of the column of numbers.
    """

    def __init__(self, snapshot: TableSnapshot, destinations: Destinations) -> None:
        self.destinations = destinations
        self.directories = [""]
        self._snapshot = snapshot
        self._types = {column.physical: column.column_type for column in snapshot.metadata.columns}
        self.column = _COLUMN
        while any(name.lower().startswith(self.column) for name in self._types):
            self.column += "_"
        self._cells: list[tuple[SkewMap, int] | None] = [None]
        self._first: dict[SkewMap, int] = {}
        default = destinations.default
        self._default = self._number(default.skew if default is not None else None)
        self._own = {key: self._number(each.skew) for key, each in destinations.own.items()}

    def add(self, rows: DataFrame) -> DataFrame:
        """Return rows, with the columns of the files, and the number of each in one column more, if there are cells."""
        if len(self.directories) == 1:
            return rows
        names = [rows[quoted(name)] for name in rows.columns]
        number = sf.lit(_NONE)
        if self._default is not None:
            number = self._case(rows, self._default)
        if self._own:
            rows, number = self._joined(rows, number)
        return rows.select(*names, number.cast("int").alias(self.column))

    def cell(self, key: bytes, number: int) -> int | None:
        """Return what the record of a file says: the cell in its partition's map.

        Args:
            key: of the partition that it turned out to be of.
            number: of its rows.
        """
        found, arrangement = self._cells[number], self.destinations.arrangement(key)
        if found is None or arrangement is None or arrangement.skew != found[0]:
            return None
        return found[1]

    def _number(self, skew: SkewMap | None) -> SkewMap | None:
        """Give the cells of a map their numbers: first the rest, then each. Return the map if it has directories."""
        if skew is None or not skew.directories:
            return None
        if skew not in self._first:
            self._first[skew] = len(self.directories)
            for cell in (REST, *range(len(skew.cells))):
                self.directories.append(cell_place(skew, self._types_of(skew), cell))
                self._cells.append((skew, cell))
        return skew

    def _types_of(self, skew: SkewMap) -> list[ColumnType]:
        return [self._types[name] for name in skew.columns]

    def _case(self, rows: DataFrame, skew: SkewMap) -> Column:
        types, first = self._types_of(skew), self._first[skew]
        number = None
        for cell, values in enumerate(skew.values(types), 1):
            equal = [
                self._of(rows, name).eqNullSafe(value_column(type, sf.lit(text_of(type, value))))
                for name, type, value in zip(skew.columns, types, values, strict=True)
            ]
            number = (sf if number is None else number).when(_all(equal), sf.lit(first + cell))
        return sf.lit(first) if number is None else number.otherwise(sf.lit(first))

    def _joined(self, rows: DataFrame, number: Column) -> tuple[DataFrame, Column]:
        """Return rows beside the numbers that partitions have of their own, and the number of a row."""
        snapshot, own = self._snapshot, self._own
        partition_by = [column.physical for column in snapshot.metadata.partition_columns]
        types = list(snapshot.partition_types)
        rest: list[tuple[str | int | None, ...]] = []
        cells: dict[tuple[str, ...], list[tuple[str | int | None, ...]]] = defaultdict(list)
        for key, skew in own.items():
            values = [
                text_of(type, value) for type, value in zip(types, snapshot.values_of(key), strict=True)
            ]
            first = _NONE if skew is None else self._first[skew]
            rest.append((*values, first))
            if skew is None:
                continue
            kinds = self._types_of(skew)
            for cell, heavy in enumerate(skew.values(kinds), 1):
                texts = (text_of(kind, value) for kind, value in zip(kinds, heavy, strict=True))
                cells[skew.columns].append((*values, *texts, first + cell))
        found: list[Column] = []
        for columns, numbers in (*cells.items(), ((), rest)):
            names = [f"{self.column}.{len(found)}.{i}" for i in range(len(partition_by) + len(columns) + 1)]
            schema = ", ".join(
                [*(f"{quoted(name)} string" for name in names[:-1]), f"{quoted(names[-1])} int"]
            )
            side = rows.sparkSession.createDataFrame(numbers, schema)
            equal = [
                key_column(type, rows[quoted(name)]).eqNullSafe(value_column(type, sf.col(quoted(text))))
                for name, type, text in zip(partition_by, types, names, strict=False)
            ]
            equal += [
                self._of(rows, name).eqNullSafe(value_column(self._types[name], sf.col(quoted(text))))
                for name, text in zip(columns, names[len(partition_by) : -1], strict=True)
            ]
            rows = rows.join(sf.broadcast(side), _all(equal), "left")
            found.append(sf.col(quoted(names[-1])))
        return rows, sf.coalesce(*found, number)

    def _of(self, rows: DataFrame, name: str) -> Column:
        return comparable(self._types[name], rows[quoted(name)])


def _all(conditions: Sequence[Column]) -> Column:
    return reduce(Column.__and__, conditions)
