"""Directories of skewed values that are not read hold no row of a query, by a brute-force evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from parquetry.data_files.records import NO_CELL
from parquetry.layout.cells import REST
from parquetry.metastore import (
    ArrangementSpec,
    BucketSpec,
    FileRecord,
    Metastore,
    SkewMap,
    TableColumn,
    TableMetadata,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import And, Like, Not, Or, Predicate, columns_of
from parquetry.prune.select import decided_conditions, select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import Value, order_key
from tests.support.effort import STEP, examples
from tests.support.planning.filters import make_filter
from tests.support.tables.random_tables import RandomTable, Row

_TABLES, _CONDITIONS = 500, 40
_SHARDS = 4


class Table(RandomTable):
    """A table of a few partitions, each with a map of its own or none, and its rows by their files.

    Columns `a`, `b`, `c` are skewed in some partitions, `v` in none, and `p` is a partition column.
    """

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.rows: dict[str, list[Row]] = {}
        self.cells: dict[str, tuple[tuple[str, ...], Row]] = {}
        self.folders: dict[str, str] = {}
        self.snapshot = self._made(chance, self.names[:-2])

    def _made(self, chance: Random, skewed: list[str]) -> TableSnapshot:
        metastore = Metastore(MemoryStore(), "/lake")
        metastore.create_database("db")
        transaction = Transaction(metastore.create_table("db", "t", self.metadata), "append")
        # one map for all, or many, which differ in columns, order and cells
        one = self._map(chance, skewed) if chance.random() < 0.3 else None
        for value in self.partitions(chance):
            skew = one or (self._map(chance, skewed) if chance.random() < 0.8 else None)
            files = self._files(chance, value, skew)
            transaction.replace((value,), files, arrangement=ArrangementSpec(skew) if skew else None)
        return commit(transaction)

    def _map(self, chance: Random, skewed: list[str]) -> SkewMap:
        names = chance.sample(skewed, chance.randint(1, len(skewed)))
        pools = [self.pools[self.names.index(name)] for name in names]
        cells = {
            tuple(map(order_key, cell)): cell for cell in self.tuples(chance, pools, chance.randint(0, 5))
        }
        return SkewMap(tuple(names), tuple(cells.values()), directories=True)

    def _files(self, chance: Random, part: Value, skew: SkewMap | None) -> list[FileRecord]:
        """Put rows where they belong: each in its cell or in the rest; some files have no cell recorded."""
        rows = [(*row, part) for row in self.tuples(chance, self.pools[:-1], chance.randint(0, 16))]
        cells: list[int | None] = [None] * len(rows)
        first = 0
        if skew is not None:
            places = [self.names.index(name) for name in skew.columns]
            types = [self.columns[place][1] for place in places]
            numbers = {tuple(map(order_key, cell)): n for n, cell in enumerate(skew.values(types))}
            cells = [numbers.get(tuple(order_key(row[place]) for place in places), REST) for row in rows]
            cells = [None if chance.random() < 0.05 else cell for cell in cells]
            first = chance.randint(1, max(1, len(skew.cells)))
            earlier = NO_CELL - first
            if skew.cells and chance.random() < 0.5:  # the map has grown by the cells behind the first ones
                cells = [
                    earlier if cell is not None and not 0 <= cell < first and chance.random() < 0.3 else cell
                    for cell in cells
                ]
        files = []
        for cell in dict.fromkeys(cells):
            path = f"{part}-{cell}"
            self.rows[path] = [row for row, one in zip(rows, cells, strict=True) if one == cell]
            if skew is not None and cell is not None and cell > REST:
                self.cells[path] = (skew.columns, self.rows[path][0])
            self.folders[path] = f"{part}-{REST if cell is not None and cell < REST else cell}"
            is_earlier = cell is not None and cell < NO_CELL
            known, rest_of = (None, first) if is_earlier else (cell, None)
            files.append(FileRecord(path, 10, len(self.rows[path]), cell=known, rest_of=rest_of))
        return files


def of_text_of_floats(node: Predicate) -> bool:
    match node:
        case And(children) | Or(children):
            return any(map(of_text_of_floats, children))
        case Not(child):
            return of_text_of_floats(child)
        case Like(type=type):
            return type.floating
    return False


@pytest.mark.parametrize("shard", range(_SHARDS))
def test_what_is_not_read_holds_no_answer(shard: int) -> None:
    """Every file with a matching row is selected, and no cell whose values show that it has none.

    What is certain holds for every row, and the report counts the directories.
    """
    chance = Random(shard)
    skipped = rests = earlier = certain = decided = 0
    for _ in range(examples(_TABLES) // _SHARDS):
        table = Table(chance)
        for _ in range(_CONDITIONS):
            filters = [
                make_filter(table.condition(chance, chance.choice((0, 1, 1, 2, 3, 4))))
                for _ in range(chance.randint(1, 2))
            ]
            selection = select_files(table.snapshot, filters)
            read = {each.file.path for each in selection.files}
            certain += bool(read) and selection.certain
            parts = {partition.values for partition in selection.partitions}
            of_kept = [path for path, rows in table.rows.items() if rows[0][-1:] in parts]
            for path, rows in table.rows.items():
                truths = [
                    [
                        evaluate(each.node, dict(zip(table.names, row, strict=True))) is True
                        for each in filters
                    ]
                    for row in rows
                ]
                if path not in read:
                    assert not any(map(all, truths)), (filters, path)
                    skipped += path in of_kept
                    rests += path in of_kept and path.endswith(f"-{REST}")
                    earlier += path in of_kept and table.folders[path] != path
                elif selection.certain:
                    assert all(map(all, truths)), (filters, path)
                elif path in table.cells and must_be_skipped(table, path, filters, truths):
                    raise AssertionError((list(map(str, filters)), path))
            held = [row for path in read for row in table.rows[path]]
            for place in decided_conditions(table.snapshot, filters):
                decided += 1
                for row in held:
                    assert evaluate(filters[place].node, dict(zip(table.names, row, strict=True))) is True
            step = selection.report.step("directories")
            if step is not None:
                files = selection.report.step("files")
                assert files is not None
                # each directory has one file, but for the rest, which may have one from before its map grew
                folders = {table.folders[path] for path in of_kept}
                assert step.of == len(folders)
                assert step.kept <= files.of <= step.kept + len(of_kept) - len(folders)
    enough = examples(_TABLES) // _SHARDS if STEP == 1 else 0  # of a sample, any
    assert skipped > 10 * enough
    assert rests > 2 * enough
    assert earlier > enough // 20
    assert certain > enough // 2
    assert decided > enough // 2


def must_be_skipped(
    table: Table, path: str, filters: Sequence[Filter], truths: Sequence[Sequence[bool]]
) -> bool:
    """Say whether the common values of a cell's rows decide a condition, and do not satisfy it."""
    decided = {*table.cells[path][0], "p"}
    return any(
        not truths[0][place] and columns_of(each.node) <= decided and not of_text_of_floats(each.node)
        for place, each in enumerate(filters)
    )


def test_a_table_without_such_directories_has_no_step_of_them() -> None:
    """Neither a plain table nor a bucketed one has the step, with any records of its files."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata((TableColumn("x", "integer"),), (), "parquet", "/lake/db.db/t")
    plain = Transaction(metastore.create_table("db", "t", metadata), "append")
    plain.append((), [FileRecord("f", 1, 1)])
    snapshot = commit(plain)
    assert select_files(snapshot, []).report.step("directories") is None
    bucketed = Transaction(snapshot, "arrange")
    buckets = ArrangementSpec(buckets=BucketSpec(("x",), 2))
    bucketed.replace((), [FileRecord("f", 1, 1, bucket=1)], arrangement=buckets)
    assert select_files(commit(bucketed), []).report.step("directories") is None
