"""A table whose files PyArrow writes, a random history of its commits, and the rows of each version.

The commits add files, write files anew with most rows carried over, drop partitions, merge small files, and
roll back. Columns are added with a default and without, renamed, dropped and widened.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from parquetry.data_files import CURRENT_DEFAULT, EXISTS_DEFAULT, ArrowFooters
from parquetry.definition import change_columns
from parquetry.definition.changes import AddColumn, DropColumn, RenameColumn, UpdateColumnType
from parquetry.metastore import FileRecord, PartitionSnapshot, TableMetadata, Transaction, commit, rollback
from tests.support.change_histories.values import KINDS, random_value
from tests.support.readers.python_tables import PythonLake, arrow_schema

Row: TypeAlias = dict[str, Any]
"""A row by the names of its columns in files. A column that it lacks has its default."""
_DEFAULT = 7


class ChangingTable:
    """A table `default.t` with a random history.

    Args:
        folder: of a new warehouse.
        seed: of the history.

    Attributes:
        lake: the warehouse.
        versions: the rows of each version, by number.
        written: which files each version's commit may be read for: the removed and the new ones.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._chance = random.Random(seed)
        self.lake = PythonLake(folder)
        self._folder = folder / "default.db" / "t"
        self.by = ["p"] if self._chance.random() < 0.7 else []
        kinds = self._chance.sample(sorted(KINDS), self._chance.randrange(1, 5))
        self._kinds = {"id": "long", "p": "integer"} | {
            f"c{number}": kind for number, kind in enumerate(kinds)
        }
        columns = {name: KINDS.get(kind, kind) for name, kind in self._kinds.items()}
        self.lake.create("t", columns, self.by)
        self.versions: list[list[Row]] = [[]]
        self.written: list[set[str]] = [set()]
        self._rows: dict[str, list[Row]] = {}
        """The rows of each file, by its path. Paths are never used again."""
        self._ids = 0

    @property
    def metadata(self) -> TableMetadata:
        """Return the metadata of the newest version."""
        return self.lake.table("t").metadata

    def run(self, commits: int) -> None:
        """Make some random commits."""
        ways = [self._append] * 3 + [self._change] * 4
        ways += [
            self._overwrite,
            self._drop,
            self._compact,
            self._alter,
            self._alter,
            self._roll_back,
            self._move,
        ]
        while len(self.versions) <= commits:
            self._chance.choice(ways)()

    def read(self, version: int, as_of: int) -> list[Row]:
        """Return the rows of a version as another version has its columns.

        Args:
            version: its number, or -1 for no rows.
            as_of: number of the version with the columns.
        """
        metadata = self.lake.metastore.table("default", "t", version=as_of).metadata
        return [
            {
                column.name: row.get(column.physical, _DEFAULT if EXISTS_DEFAULT in column.metadata else None)
                for column in metadata.columns
            }
            for row in (self.versions[version] if version >= 0 else [])
        ]

    def _random_row(self) -> Row:
        chance = self._chance
        self._ids = self._ids if chance.random() < 0.3 and self._ids else self._ids + 1
        row: Row = {}
        for column in self.metadata.columns:
            kind = self._kinds.get(column.physical, "integer")
            value = random_value(chance, kind)
            row[column.physical] = self._ids if column.physical == "id" else value
        row["p"] = chance.choice([1, 2, None])
        return row

    def _partitions(self) -> list[PartitionSnapshot]:
        return list(self.lake.table("t").partitions())

    def _values(self, row: Row) -> tuple[Any, ...]:
        return (row["p"],) if self.by else ()

    def _path(self, file: FileRecord) -> str:
        return file.path.removeprefix("file:")

    def _write(self, rows: Sequence[Row]) -> FileRecord:
        """Write rows as one file, by the names that columns have in files."""
        schema = arrow_schema(self.metadata)
        path = self._folder / f"{len(self._rows)}.parquet"
        pq.write_table(
            pa.Table.from_pylist([{n: row.get(n) for n in schema.names} for row in rows], schema), path
        )
        self._rows[str(path)] = [dict(row) for row in rows]
        record = ArrowFooters().data_files("parquet", str(self._folder), [path.name])[0]
        return FileRecord(str(path), record.bytes, record.rows, record.modified, record.columns)

    def _files(self, rows: Sequence[Row]) -> list[FileRecord]:
        """Write rows as one file or two."""
        if not rows:
            return []
        at = self._chance.randrange(len(rows)) if self._chance.random() < 0.4 else 0
        return [self._write(part) for part in (rows[:at], rows[at:]) if part]

    def _full(self, row: Row) -> Row:
        """Return a row with the defaults that a statement would write in its place."""
        return {
            column.physical: row.get(column.physical, _DEFAULT if EXISTS_DEFAULT in column.metadata else None)
            for column in self.metadata.columns
        }

    def _commit(self, operation: str, replaced: Mapping[tuple[Any, ...], Sequence[FileRecord]]) -> None:
        """Replace the files of partitions; an empty list drops one."""
        before = self._listed()
        transaction = Transaction(self.lake.table("t"), operation)
        for values, files in replaced.items():
            if files:
                transaction.replace(values, list(files))
            else:
                transaction.drop(values)
        commit(transaction)
        self._record(before, operation)

    def _record(self, before: set[str], operation: str) -> None:
        now = self._listed()
        self.versions.append([row for path in sorted(now) for row in self._rows[path]])
        self.written.append(set() if operation == "compact" else before ^ now)

    def _listed(self) -> set[str]:
        return {self._path(file) for part in self._partitions() for file in part.files}

    def _current(self) -> dict[tuple[Any, ...], list[FileRecord]]:
        return {part.values: list(part.files) for part in self._partitions()}

    def _append(self) -> None:
        rows = [self._random_row() for _ in range(self._chance.randrange(1, 6))]
        if self._chance.random() < 0.4:
            rows += rows[:2]
        before = self._listed()
        transaction = Transaction(self.lake.table("t"), "append")
        for values in {self._values(row) for row in rows}:
            transaction.append(values, self._files([row for row in rows if self._values(row) == values]))
        commit(transaction)
        self._record(before, "append")

    def _change(self) -> None:
        """DELETE, UPDATE or MERGE: files with a match are written anew, the others stay."""
        chance, replaced = self._chance, {}
        for values, files in self._current().items():
            chosen = [file for file in files if chance.random() < 0.7]
            if not chosen:
                continue
            rows = [self._full(row) for file in chosen for row in self._rows[self._path(file)]]
            kept = [row for row in rows if chance.random() < 0.8]
            for row in kept:
                if chance.random() < 0.3:
                    changed = self._random_row()
                    row.update({n: v for n, v in changed.items() if n not in ("id", "p")})
            if chance.random() < 0.3:
                new = [self._random_row() for _ in range(2)]
                kept += [row for row in new if self._values(row) == values]
            chance.shuffle(kept)
            replaced[values] = [file for file in files if file not in chosen] + self._files(kept)
        if replaced:
            self._commit(chance.choice(["delete", "update", "merge"]), replaced)

    def _move(self) -> None:
        """Change the partition of a row."""
        current = self._current()
        if not self.by or not current:
            return
        values, files = self._chance.choice(list(current.items()))
        file = self._chance.choice(files)
        row, *others = (self._full(row) for row in self._rows[self._path(file)])
        row["p"] = self._chance.choice([p for p in (1, 2, None) if (p,) != values])
        target = (row["p"],)
        self._commit(
            "update",
            {
                values: [each for each in files if each is not file] + self._files(others),
                target: current.get(target, []) + self._files([row]),
            },
        )

    def _overwrite(self) -> None:
        rows = [self._random_row() for _ in range(self._chance.randrange(4))]
        some = self._chance.sample(self.versions[-1], min(2, len(self.versions[-1])))
        rows += [self._full(row) for row in some]
        replaced: dict[tuple[Any, ...], list[FileRecord]] = {values: [] for values in self._current()}
        for values in {self._values(row) for row in rows}:
            replaced[values] = self._files([row for row in rows if self._values(row) == values])
        if replaced:
            self._commit("overwrite", replaced)

    def _drop(self) -> None:
        current = list(self._current())
        if current:
            self._commit("drop partitions", {self._chance.choice(current): []})

    def _compact(self) -> None:
        replaced = {}
        for values, files in self._current().items():
            if len(files) > 1:
                rows = [self._full(row) for file in files for row in self._rows[self._path(file)]]
                self._chance.shuffle(rows)
                replaced[values] = [self._write(rows)]
        if replaced:
            self._commit("compact", replaced)

    def _roll_back(self) -> None:
        before = self._listed()
        newest = self.lake.table("t")
        target = self.lake.metastore.table("default", "t", version=self._chance.randrange(newest.version + 1))
        if rollback(newest, target).version > newest.version:
            self._record(before, "rollback")

    def _alter(self) -> None:
        """Change the columns. Rows and files stay."""
        metadata, chance, before = self.metadata, self._chance, self._listed()
        others = [column for column in metadata.columns if column.name not in ("id", "p")]
        number = len(self.versions)
        way = chance.randrange(4)
        if way == 0 or not others:
            default = {CURRENT_DEFAULT: str(_DEFAULT), EXISTS_DEFAULT: str(_DEFAULT)}
            told = default if chance.random() < 0.5 else {}
            change: Any = AddColumn([f"n{number}"], "integer", told, True, None, None)
        elif way == 1:
            change = RenameColumn([chance.choice(others).name], f"r{number}")
        elif way == 2 and len(others) > 1:
            change = DropColumn([chance.choice(others).name])
        else:
            narrow = [column for column in others if column.type in ("integer", "float")]
            if not narrow:
                return
            column = chance.choice(narrow)
            wide = {"integer": "long", "float": "double"}[str(column.type)]
            change = UpdateColumnType([column.name], wide, {})
        columns = change_columns(metadata, change)
        dropped = metadata.dropped + (
            ((metadata.column(change.column[0]).physical,),) if isinstance(change, DropColumn) else ()
        )
        self.lake.alter("t", columns=columns, dropped=dropped)
        self._record(before, "alter")
