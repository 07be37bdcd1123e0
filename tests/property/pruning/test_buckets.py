"""Buckets that are not read hold no row that a query asks for; brute force says which do."""

from __future__ import annotations

import itertools
from random import Random

import pyarrow as pa
import pytest

from parquetry.hashing.bucket_hash import bucket_ids
from parquetry.hashing.hash_types import HashType
from parquetry.layout.bucket_spec import Version
from parquetry.layout.cells import REST
from parquetry.metastore import ArrangementSpec, BucketSpec, FileRecord, Metastore, SkewMap, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import And, Compare, In, IsNull, Or, Predicate, TupleIn
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import ColumnType, Value, order_key
from tests.support.effort import STEP, examples
from tests.support.planning.filters import make_filter
from tests.support.tables.random_tables import RandomTable, Row

_TABLES, _CONDITIONS = 500, 40
_SHARDS = 4
_VERSIONS: tuple[Version, ...] = (1, 2, "spark")


class Table(RandomTable):
    """A table of a few partitions, each with its own buckets or none, and its rows by file.

    Some of the buckets are within directories.

    Attributes:
        rows: of each file.
        buckets: the partition and the bucket of each file whose bucket is known and means something.
        specs: of each partition that is in buckets that mean something, by its value.
        in_cells: the files that are in directories, too.
    """

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.rows: dict[str, list[Row]] = {}
        self.buckets: dict[str, tuple[Value, int]] = {}
        self.specs: dict[Value, BucketSpec] = {}
        self.in_cells: set[str] = set()
        self.snapshot = self._made(chance)

    def _made(self, chance: Random) -> TableSnapshot:
        metastore = Metastore(MemoryStore(), "/lake")
        metastore.create_database("db")
        transaction = Transaction(metastore.create_table("db", "t", self.metadata), "append")
        one = self._spec(chance) if chance.random() < 0.3 else None
        for part in self.partitions(chance):
            spec = one or (self._spec(chance) if chance.random() < 0.8 else None)
            skew = None
            if chance.random() < 0.2:
                place = chance.randrange(len(self.columns) - 2)
                skew = SkewMap((self.names[place],), ((self.pools[place][1],),), directories=True)
            if spec is not None and not spec.unsettled:
                self.specs[part] = spec
            files = self._files(chance, part, spec, skew)
            transaction.replace(
                (part,), files, arrangement=ArrangementSpec(skew, spec) if skew or spec else None
            )
        return commit(transaction)

    def _spec(self, chance: Random) -> BucketSpec:
        columns = chance.sample(self.names[:-2], chance.choice((1, 1, len(self.names) - 2)))
        count = chance.choice((1, 2, 3, 4, 8, 100))
        return BucketSpec(tuple(columns), count, chance.choice(_VERSIONS), unsettled=chance.random() < 0.1)

    def _files(
        self, chance: Random, part: Value, spec: BucketSpec | None, skew: SkewMap | None
    ) -> list[FileRecord]:
        """Put rows where they belong; some files have no bucket recorded, unsettled buckets are random."""
        rows = [(*row, part) for row in self.tuples(chance, self.pools[:-1], chance.randint(0, 16))]
        buckets: list[int | None] = [None] * len(rows)
        if spec is not None and spec.unsettled:
            buckets = [chance.randrange(spec.count) for _ in rows]
        elif spec is not None:
            buckets = [bucket if chance.random() < 0.95 else None for bucket in self.placed(spec, rows)]
        cells: list[int | None] = [None] * len(rows)
        if skew is not None:
            place = self.names.index(skew.columns[0])
            ((heavy,),) = skew.values([self.columns[place][1]])
            cells = [0 if order_key(row[place]) == order_key(heavy) else REST for row in rows]
        files = []
        for cell, bucket in dict.fromkeys(zip(cells, buckets, strict=True)):
            path = f"{part}-{cell}-{bucket}"
            mine = zip(rows, cells, buckets, strict=True)
            self.rows[path] = [row for row, *place in mine if place == [cell, bucket]]
            if bucket is not None and part in self.specs:
                self.buckets[path] = (part, bucket)
            if cell is not None:
                self.in_cells.add(path)
            files.append(FileRecord(path, 10, len(self.rows[path]), cell=cell, bucket=bucket))
        return files

    def placed(self, spec: BucketSpec, rows: list[Row]) -> list[int]:
        """Return the bucket of each row, as our writer has it: both zeros in one."""
        if not rows:
            return []
        places = [self.names.index(name) for name in spec.columns]
        types = [self.columns[place][1] for place in places]
        arrays = [
            array(type, [row[place] for row in rows]) for type, place in zip(types, places, strict=True)
        ]
        return [int(bucket) for bucket in bucket_ids(spec.version, spec.count, arrays, types)]

    def listed(self, chance: Random, names: tuple[str, ...]) -> Predicate:
        """Return a condition that lists the values of some columns."""
        kind = chance.random()
        if kind < 0.3:
            return Or(tuple(self.listed(chance, names) for _ in range(2)))
        pools = [self.pools[self.names.index(name)] for name in names]
        if kind < 0.5:
            types = tuple(self.columns[self.names.index(name)][1] for name in names)
            return TupleIn(names, tuple(self.tuples(chance, pools, chance.randint(1, 4))), types)
        return And(tuple(self._listed(chance, name) for name in names))

    def _listed(self, chance: Random, name: str) -> Predicate:
        place = self.names.index(name)
        pool, type = self.pools[place], self.columns[place][1]
        match chance.randrange(4):
            case 0:
                return IsNull(name)
            case 1:
                return In(name, tuple(chance.choices(pool[1:], k=chance.randint(1, 2))), type, False)
        return Compare(chance.choice(("=", "<=>")), name, chance.choice(pool), type)


def array(type: ColumnType, values: list[Value]) -> pa.Array:
    """Return values with the zero that stands for both."""
    stored = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}
    arrow = HashType.from_column_type(type).arrow
    plain = [0.0 if type.floating and value == 0 else value for value in values]
    return pa.array(plain, stored.get(type.name, arrow)).view(arrow)


@pytest.mark.parametrize("shard", range(_SHARDS))
def test_what_is_not_read_holds_no_answer(shard: int) -> None:
    """Every file with a matching row is selected, and the report counts the buckets of kept partitions."""
    chance = Random(shard)
    skipped = steps = 0
    for _ in range(examples(_TABLES) // _SHARDS):
        table = Table(chance)
        for number in range(_CONDITIONS):
            filters = [
                make_filter(table.condition(chance, chance.choice((0, 1, 1, 2, 3, 4))))
                for _ in range(chance.randint(1, 2))
            ]
            if number % 3 == 0 and table.specs:
                filters.append(
                    make_filter(table.listed(chance, chance.choice(list(table.specs.values())).columns))
                )
            selection = select_files(table.snapshot, filters)
            read = {each.file.path for each in selection.files}
            for path, rows in table.rows.items():
                if path in read and not selection.certain:
                    continue
                truths = [
                    all(
                        evaluate(each.node, dict(zip(table.names, row, strict=True))) is True
                        for each in filters
                    )
                    for row in rows
                ]
                if path in read:
                    assert all(truths), (list(map(str, filters)), path)
                else:
                    assert not any(truths), (list(map(str, filters)), path)
            step = selection.report.step("buckets")
            if step is not None and selection.report.step("directories") is None:
                parts = {partition.values[0] for partition in selection.partitions}
                of = {place for place in table.buckets.values() if place[0] in parts}
                assert step.of == len(of)
                files = selection.report.step("files")
                assert files is not None
                kept = {table.buckets[path] for path in read & table.buckets.keys()}
                assert step.kept == len(kept) if files.kept == files.of else step.kept >= len(kept)
                skipped += step.of - step.kept
                steps += 1
    enough = examples(_TABLES) // _SHARDS if STEP == 1 else 0  # of a sample, any
    assert steps > 10 * enough
    assert skipped > 10 * enough


@pytest.mark.parametrize("shard", range(_SHARDS))
def test_of_listed_values_exactly_their_buckets_are_read(shard: int) -> None:
    """Where all values are listed, exactly the buckets of listed values that satisfy the conditions are read.

    For chars that Spark hashed, other buckets may be read, too: the hash includes trailing blanks, which a
    condition does not know.
    """
    chance = Random(1_000 + shard)
    compared = 0
    for _ in range(examples(_TABLES) // _SHARDS):
        table = Table(chance)
        for spec in {each.columns: each for each in table.specs.values()}.values():
            filter = make_filter(table.listed(chance, spec.columns))
            read = {each.file.path for each in select_files(table.snapshot, [filter]).files}
            pools = [table.pools[table.names.index(name)] for name in spec.columns]
            rows = [
                tuple(dict(zip(spec.columns, values, strict=True)).get(name) for name in table.names)
                for values in itertools.product(*pools)
                if evaluate(filter.node, dict(zip(spec.columns, values, strict=True))) is True
            ]
            for path, (part, bucket) in table.buckets.items():
                own = table.specs[part]
                if set(own.columns) == set(spec.columns) and path not in table.in_cells:
                    held = bucket in table.placed(own, rows)
                    types = [type for name, type in table.columns if name in own.columns]
                    blanks = own.version == "spark" and any(type.name == "char" for type in types)
                    assert held <= (path in read) <= (held or blanks), (str(filter), path)
                    compared += 1
    assert compared > (examples(_TABLES) // _SHARDS if STEP == 1 else 0)
