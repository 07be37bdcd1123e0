"""Random histories of appends and compactions of a table that detects its skewed values itself.

Two writers may append at once.

Rows are in memory, in the files that a write would have made of them; metastore, planner and pruning are
the real ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from parquetry.compaction.compact import rewrites
from parquetry.layout.cells import REST, AutoSkew
from parquetry.layout.heavy_values import Counted, least_count
from parquetry.layout.skew_map import cell_location
from parquetry.metastore import (
    ArrangementSpec,
    ColumnStatistics,
    FileRecord,
    Metastore,
    PartitionSnapshot,
    SkewMap,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.planner.writes import plan_destinations
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from tests.support.effort import STEP, examples
from tests.support.tables.statistics import exact

Row = tuple[Any, ...]
COLUMNS = (TableColumn("x", "integer"), TableColumn("y", "string"), TableColumn("p", "integer"))
HISTORIES, CHANGES = 120, 9


class Lake:
    """A table and the rows of its files.

    Args:
        chance: what makes its history.

    Attributes:
        rows: by the paths of files.
        table: its newest version.
        seen: how often something was seen.
    """

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.rows: dict[str, list[Row]] = {}
        self.seen: Counter[str] = Counter()
        self.names = chance.choice([("x",), ("x", "y"), ("y",)])
        self.auto = AutoSkew(chance.choice([0.1, 0.2, 0.3]), chance.choice([2, 8, 60]))
        metastore = Metastore(MemoryStore(), "/lake")
        metastore.create_database("db")
        skew = SkewMap(self.names, (), directories=True, auto=self.auto)
        metadata = TableMetadata(
            COLUMNS, ("p",), "parquet", "/lake/db.db/t", arrangement=ArrangementSpec(skew)
        )
        self.table = metastore.create_table("db", "t", metadata)

    def drawn(self) -> list[Row]:
        """Return rows with a skewed value, which is another one from time to time."""
        heavy = self.chance.choice([None, *range(6)]), self.chance.choice([None, "a", "b"])
        share = self.chance.choice([0.0, 0.2, 0.5, 0.9])
        return [
            (*(heavy if self.chance.random() < share else self._light()), self.chance.randint(1, 2))
            for _ in range(self.chance.choice([1, 20, 60, 60]))
        ]

    def _light(self) -> Row:
        return self.chance.choice([None, *range(40)]), self.chance.choice([None, *"abcdefgh"])

    def values(self, row: Row) -> Row:
        """Return the values of the skewed columns."""
        return tuple(row[[column.name for column in COLUMNS].index(name)] for name in self.names)

    def files(self, skew: SkewMap, rows: Sequence[Row]) -> list[FileRecord]:
        """Return the files that rows of a partition are written to, one or two for each cell."""
        cells = {cell: number for number, cell in enumerate(skew.cells)}
        by_cell: dict[tuple[int, int], list[Row]] = {}
        for row in rows:
            by_cell.setdefault((cells.get(self.values(row), REST), self.chance.randint(0, 1)), []).append(row)
        return [self._file(skew, cell, some) for (cell, _), some in by_cell.items()]

    def _file(self, skew: SkewMap, cell: int, rows: list[Row]) -> FileRecord:
        types = [column.column_type for column in skew.columns_among(COLUMNS)]
        path = f"{cell_location(skew, types, cell)}/{len(self.rows)}"
        self.rows[path] = rows
        columns = {
            column.name: _statistics([row[place] for row in rows]) for place, column in enumerate(COLUMNS[:2])
        }
        return FileRecord(path, 10 * len(rows), len(rows), columns=columns, cell=cell)

    def append(self, base: TableSnapshot, rows: Sequence[Row]) -> Transaction:
        """Return a transaction that adds rows."""
        by_key: dict[bytes, list[Row]] = {}
        for row in rows:
            by_key.setdefault(base.key_of(row[2:]), []).append(row)
        found = {
            key: Counted(some[0][2:], len(some), _heavy(map(self.values, some), len(some), self.auto.share))
            for key, some in by_key.items()
        }
        extends = self.chance.random() < 0.7  # else as MERGE does, and as earlier versions did
        destinations = plan_destinations(base, keeps=True, extends=extends).measured(base, found)
        transaction = Transaction(base, "append")
        for key, some in by_key.items():
            arrangement = destinations.arrangement(key)
            assert arrangement is not None
            assert arrangement.skew is not None
            before = base.partition(some[0][2:])
            if before is not None and before.arrangement != arrangement:
                self.seen["grown"] += 1
            assert key in destinations.growing
            transaction.grow(some[0][2:], self.files(arrangement.skew, some), arrangement)
        return transaction

    def compact(self) -> None:
        """Write anew what compaction writes anew."""

        def look(wanted: Sequence[tuple[PartitionSnapshot, Sequence[FileRecord]]]) -> dict[bytes, Counted]:
            self.seen["looked at"] += len(wanted)
            found = {}
            for part, files in wanted:
                rows = [self.values(row) for file in files for row in self.rows[file.path]]
                found[part.key] = Counted(
                    part.values, len(rows), _heavy(rows, len(rows), self.auto.share / 2)
                )
            return found

        before = self.table
        transaction = Transaction(self.table, "compact")
        for each in rewrites(self.table, 1000, look=look):
            assert each.arrangement.skew is not None
            old = each.partition.arrangement.skew
            assert old is not None
            self.seen["dropped"] += len(set(old.cells) - set(each.arrangement.skew.cells))
            self.seen["added"] += len(set(each.arrangement.skew.cells) - set(old.cells))
            rows = [row for file in each.files for row in self.rows[file.path]]
            new = self.files(each.arrangement.skew, rows)
            transaction.replace(each.partition.values, (*each.kept, *new), arrangement=each.arrangement)
        self.table = commit(transaction)
        if self.table.version == before.version:
            self.seen["nothing to do"] += 1
            return
        for part in self.table.partitions():
            assert all(file.cell is not None for file in part.files)

    def check(self) -> None:
        """Check that each file's record holds for its rows, and that no file with an answer is skipped."""
        for part in self.table.partitions():
            skew = part.arrangement.skew
            assert skew is not None
            assert len(skew.cells) <= self.auto.most
            for file in part.files:
                values = {self.values(row) for row in self.rows[file.path]}
                if file.rest_of is not None:
                    self.seen["earlier"] += 1
                    assert not values & set(skew.cells[: file.rest_of])
                elif file.cell == REST:
                    assert not values & set(skew.cells)
                elif file.cell is not None:
                    assert values == {skew.cells[file.cell]}
        for x, y in {self._light() for _ in range(6)}:
            text = f"x <=> {'NULL' if x is None else x} AND y <=> {'NULL' if y is None else repr(y)}"
            if self.chance.random() < 0.5:
                text = text.partition(" AND ")[self.chance.choice([0, 2])]
            types = {column.name: column.column_type for column in COLUMNS}
            read = {each.file.path for each in select_files(self.table, [parse_filter(text, types)]).files}
            for part in self.table.partitions():
                for file in part.files:
                    held = any(
                        ("x" not in text or row[0] == x) and ("y" not in text or row[1] == y)
                        for row in self.rows[file.path]
                    )
                    assert file.path in read or not held, (text, file)
                    self.seen["skipped"] += file.path not in read


def _heavy(values: Any, rows: int, share: float) -> dict[Row, int]:
    least = int(rows * share)
    return {value: count for value, count in Counter(values).items() if count >= least}


def _statistics(values: list[Any]) -> ColumnStatistics:
    known = [value for value in values if value is not None]
    return exact(nulls=len(values) - len(known), min=min(known, default=None), max=max(known, default=None))


@pytest.mark.parametrize("shard", range(2))
def test_histories(shard: int) -> None:
    """After each change all rows exist and the files' records hold for them; no query skips an answer."""
    seen: Counter[str] = Counter()
    for number in range(examples(HISTORIES) // 2):
        lake = Lake(Random(f"{shard} {number}"))
        written: Counter[Row] = Counter()
        for _ in range(CHANGES):
            kind = lake.chance.random()
            if kind < 0.25:
                lake.compact()
            else:
                writers = [lake.drawn() for _ in range(1 if kind < 0.7 else lake.chance.choice([2, 3]))]
                transactions = [lake.append(lake.table, rows) for rows in writers]
                for transaction, rows in zip(transactions, writers, strict=True):
                    lake.table = commit(transaction)
                    written.update(rows)
            lake.check()
            here = [file.path for part in lake.table.partitions() for file in part.files]
            assert Counter(row for path in here for row in lake.rows[path]) == written
        seen.update(lake.seen)
    enough = 5 if STEP == 1 else 0
    assert all(
        seen[what] > enough
        for what in ("grown", "earlier", "looked at", "added", "dropped", "skipped", "nothing to do")
    ), seen


def test_what_grew_before_is_cut_when_it_is_compacted() -> None:
    """A value with two thirds of a partition, from before maps grew, gets a directory when it is compacted.

    A value that is no longer heavy loses its directory.
    """
    lake = Lake(Random(0))
    lake.names, lake.auto = ("x",), AutoSkew(0.05, 16)
    metadata = lake.table.metadata
    table = Metastore(MemoryStore(), "/lake").create_table(
        "default",
        "t",
        TableMetadata(
            metadata.columns,
            ("p",),
            "parquet",
            "/lake/t",
            arrangement=ArrangementSpec(SkewMap(("x",), (), directories=True, auto=lake.auto)),
        ),
    )
    own = SkewMap(("x",), ((100,), (101,)), directories=True)
    rows = [(100, "a", 3)] * 20 + [(101, "a", 3)] * 100 + [(i % 100, "a", 3) for i in range(880)]
    transaction = Transaction(table, "append")
    transaction.append((3,), lake.files(own, rows), arrangement=ArrangementSpec(own))
    transaction.append((3,), lake.files(own, [(555, "a", 3)] * 2000), arrangement=ArrangementSpec(own))
    lake.table = commit(transaction)
    assert least_count(3000, 0.05) == 150
    lake.compact()
    (part,) = lake.table.partitions()
    assert part.arrangement.skew is not None
    assert part.arrangement.skew.cells == (
        (101,),
        (555,),
    )  # 100 of 3,000 is a thirtieth: more than half of the share
    lake.check()
    assert Counter(row for file in part.files for row in lake.rows[file.path])[555, "a", 3] == 2000
    assert sum(file.rows or 0 for file in part.files if file.cell == 1) == 2000
