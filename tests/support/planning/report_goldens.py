"""Golden files of reports: read, with the tables that they are about."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Opaque
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune.condition import Condition, Origin
from parquetry.prune.report.report import Report
from parquetry.store import MemoryStore
from parquetry.types import ColumnType, Value, parse_type, value_from_text
from tests.support.tables.statistics import exact

_LINE_WORDS = ("where", "join", "unknown", "read")


@dataclass
class ExampleTable:
    """A table of a golden file: columns, partition columns, and each file's partition and record."""

    data: dict[str, ColumnType]
    by: dict[str, ColumnType]
    files: dict[str, tuple[tuple[Value, ...], FileRecord]] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, ColumnType]:
        """Return the types of all columns."""
        return self.data | self.by

    def add(self, name: str, words: list[str]) -> None:
        """Take in the line of a file."""
        fields = dict(word.split("=") for word in words)
        columns = {}
        for column, type in self.data.items():
            low, _, high = fields.get(column, "").partition("..")
            size, nulls = fields.get(f"{column}.size"), fields.get(f"{column}.nulls")
            if size is not None:
                columns[column] = exact(
                    int(size), None if nulls is None else int(nulls), _value(type, low), _value(type, high)
                )
        values = tuple(_value(type, fields[column]) for column, type in self.by.items())
        rows = int(fields["rows"]) if "rows" in fields else None
        self.files[name] = values, FileRecord(name, int(fields["bytes"]), rows, 1, columns or None)

    def snapshot(self) -> TableSnapshot:
        """Return the table in a metastore."""
        metastore = Metastore(MemoryStore(), "/lake")
        metastore.create_database("db")
        columns = tuple(TableColumn(name, str(type)) for name, type in self.types.items())
        metadata = TableMetadata(columns, tuple(self.by), "parquet", "/lake/db.db/t")
        transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
        for values, records in itertools.groupby(self.files.values(), key=lambda file: file[0]):
            transaction.append(values, [record for _, record in records])
        return commit(transaction)

    def rows(self, name: str) -> Iterator[dict[str, Value]]:
        """Give rows that a file may hold: of each column its bounds, or where there are none, some values."""
        partition, record = self.files[name]
        known = record.columns or {}
        pools = []
        for column, type in self.data.items():
            statistics = known.get(column)
            pool: list[Value] = (
                [0.5, 7.5] if type.floating else ["a", "x"] if type.textual else [0, 5, 15, 150]
            )
            if statistics is not None and statistics.min is not None:
                pool = [statistics.min, statistics.max]
            pools.append(pool if statistics is not None and statistics.nulls == 0 else [None, *pool])
        for values in itertools.product(*pools):
            yield dict(zip(self.types, (*values, *partition), strict=True))


@dataclass
class ReportExample:
    """A question of a golden file, the line of its end, and the dicts that follow it."""

    line: int
    title: str
    table: ExampleTable | None
    lines: list[tuple[str, str]] = field(default_factory=list)
    dicts: str = ""

    def conditions(self) -> list[Condition]:
        """Return the conditions of the query and of its joins."""
        return [self._condition(word, text) for word, text in self.lines if word != "read"]

    def read(self) -> list[str] | None:
        """Return the columns read; None for all."""
        return next((text.split(", ") for word, text in self.lines if word == "read"), None)

    def report(self) -> Report:
        """Return the report of the dicts."""
        found: list[dict[str, Any]] = []
        rest = self.dicts.strip()
        while rest:
            one, end = json.JSONDecoder().raw_decode(rest)
            found.append(one)
            rest = rest[end:].lstrip()
        joins = [one for one in found if "on" in one]
        return Report.from_dict({"scans": [one for one in found if "on" not in one], "joins": joins})

    def _condition(self, word: str, text: str) -> Condition:
        assert self.table is not None
        if word == "unknown":
            columns, said, reason = text.split(": ")
            return Condition.from_filter(Filter(Opaque(said, tuple(columns.split(", ")), reason)))
        origin: Origin = "join" if word == "join" else "query"
        return Condition.from_filter(parse_filter(text, self.table.types), origin)


def read_examples(path: Path) -> Iterator[ReportExample]:
    """Give the examples of a golden file."""
    table: ExampleTable | None = None
    example: ReportExample | None = None
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""]):
        word, _, rest = line.partition(" ")
        if word == "table":
            data, _, by = rest.partition(" by ")
            table = ExampleTable(_columns(data), _columns(by))
        elif word == "file" and table is not None:
            name, *words = rest.split()
            table.add(name, words)
        elif word == "##":
            example = ReportExample(number, rest, table)
        elif example is not None and word in _LINE_WORDS:
            example.lines.append((word, rest))
            example.line = number
        elif (example is not None and line[:1] in ("{", "]")) or line.startswith("  {"):
            example.dicts += line + "\n"
        elif not line and example is not None:
            yield example
            example = None


def with_answers(path: Path, answers: dict[int, list[str]]) -> str:
    """Return a golden file's text with these answers below their questions."""
    fields: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if not line.startswith(("→ ", "= ", "{", "  {", "]")):
            fields += [line, *answers.get(number, ())]
    return "\n".join(fields) + "\n"


def report_lines(report: Report) -> list[str]:
    """Return a report's text and its dict, as golden files have them."""
    plain = report.to_dict()
    joins = [json.dumps(join, ensure_ascii=False) for join in plain.get("joins", ())]
    return [*(f"→ {line}" for line in str(report).splitlines()), *_dict_lines(plain["scans"]), *joins]


def _dict_lines(scans: list[dict[str, Any]]) -> Iterator[str]:
    for scan in scans:
        yield f'{{"table": {json.dumps(scan["table"])}, "steps": ['
        *others, last = [f"  {json.dumps(step, ensure_ascii=False)}" for step in scan["steps"]]
        yield from (f"{each}," for each in others)
        buckets = f', "buckets": {json.dumps(scan["buckets"])}' if "buckets" in scan else ""
        yield from (last, f"]{buckets}}}")


def _columns(text: str) -> dict[str, ColumnType]:
    pairs = [column.split() for column in text.split(", ") if column]
    return {name: parse_type(type) for name, type in pairs}


def _value(type: ColumnType, text: str) -> Value:
    return None if text in ("", "NULL") else value_from_text(type, text)
