"""Measure the heavy values of partitions from their rows, in tables `SKEWED BY … ON AUTO`.

A new partition gets a map of the values that are heavy in its rows. The maps of some partitions follow their
rows afterwards: they gain and lose values. Callers count the values, and give and take whole arrangements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from parquetry.data_files import MAX_DAY, TableColumn
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.cells import AutoSkew
from parquetry.layout.heavy_values import Counted, choose, extend_map, make_measured_map
from parquetry.layout.skew_map import SkewMap
from parquetry.types import ColumnType


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a table measures heavy values.

    Attributes:
        arrangement: the arrangement of new partitions, whose map is to be measured.
        skew: this map.
        auto: the limits that make a value heavy.
        columns: the skewed columns.
    """

    arrangement: ArrangementSpec
    skew: SkewMap
    auto: AutoSkew
    columns: Sequence[TableColumn]

    @classmethod
    def from_table(cls, arrangement: ArrangementSpec, columns: Sequence[TableColumn]) -> Measuring | None:
        """Return how a table measures heavy values, or None if it does not.

        Args:
            arrangement: the table's.
            columns: all columns of the table.
        """
        skew = arrangement.skew
        if skew is None or skew.auto is None:
            return None
        return cls(arrangement, skew, skew.auto, skew.columns_among(columns))

    @property
    def types(self) -> list[ColumnType]:
        """Return the types of the columns."""
        return [column.column_type for column in self.columns]

    def is_due(self, arrangement: ArrangementSpec) -> bool:
        """Return whether the map of a partition is still to be measured."""
        return arrangement.skew is not None and arrangement.skew.auto is not None

    def follows(self, arrangement: ArrangementSpec) -> bool:
        """Return whether a partition's map gains and loses values as its rows change.

        The map does so if it has directories for values of the same columns, in their current types. After a
        change of type, the meaning of older values is uncertain.
        """
        own = arrangement.skew
        return (
            self.skew.directories
            and own is not None
            and own.directories
            and own.auto is None
            and own.columns == self.skew.columns
            and all(
                _is_recorded(column.column_type, value)
                for cell in own.cells
                for column, value in zip(self.columns, cell, strict=True)
            )
        )

    def new_arrangement(self, counted: Counted) -> ArrangementSpec:
        """Return the arrangement of a new partition, given how often values occur in its rows."""
        cells = choose(counted.counts, counted.rows, self.auto, self.skew.columns, self.types)
        return msgspec.structs.replace(self.arrangement, skew=make_measured_map(self.skew, cells))

    def extend(self, arrangement: ArrangementSpec, counted: Counted) -> ArrangementSpec:
        """Return a partition's arrangement with the values that are heavy by now.

        Args:
            arrangement: the partition's, which follows its rows.
            counted: how often values occur at least, and the partition's rows.
        """
        own = arrangement.skew
        assert own is not None  # else it does not follow
        return msgspec.structs.replace(arrangement, skew=extend_map(own, counted, self.auto, self.types))


def _is_recorded(type: ColumnType, value: Any) -> bool:
    """Return whether a value of a cell certainly belongs to a type; see `SkewMap.cells`."""
    if value is None:
        return True
    if type.facts.may_be_days and value.__class__ is int:
        return bool(abs(value) > MAX_DAY)  # a smaller number may count days
    return value.__class__ is (str if type.name == "decimal" else type.facts.value)
