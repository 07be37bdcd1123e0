"""Golden files of plans: read, and filled with keys on which a plan can be tried."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from parquetry.key_schema import KeyField, KeySchema
from parquetry.metastore import Metastore, TableColumn, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index
from parquetry.predicate.filter import Filter
from parquetry.predicate.like import parts_of
from parquetry.predicate.nodes import And, Compare, In, Like, Not, Or, Predicate, TupleIn
from parquetry.predicate.reading.parse import parse_filter
from parquetry.store import MemoryStore
from parquetry.types import ColumnType, Value, parse_type, value_from_text
from tests.support.stores.metastores import file, metadata
from tests.support.tables.generated_tables import POOLS

MAX_KEYS = 1500
"""A random choice of so many combinations is taken of the values that a filter makes interesting."""
_COLUMN = re.compile(r"(?P<name>\w+) (?P<type>\w+(?:\([\d,]+\))?)(?P<down> desc)?")

Row = tuple[Value, ...]


@dataclass(frozen=True)
class PlanSetting:
    """The table that a golden file's filters are about: key, index, and values, where the file has them."""

    schema: KeySchema
    index: tuple[str, ...] = ()
    values: dict[str, list[Value]] = field(default_factory=dict)

    def rows(self, filter: Filter) -> list[Row]:
        """Return values of keys: the file's values, or some at and beside the values that a filter names."""
        about: dict[str, list[Value]] = {name: [None] for name in self.schema.types}
        for name, value in _literals(filter.node):
            about[name].append(_fitting(self.schema.types[name], value))
        pools = [
            self.values.get(name) or _pool(type, about[name]) for name, type in self.schema.types.items()
        ]
        rows = list(itertools.product(*pools))
        if len(rows) > MAX_KEYS:
            rows = [*itertools.product(*about.values()), *Random(7).sample(rows, MAX_KEYS)]
        return list({self.schema.encode(row): row for row in rows}.values())

    def table(self) -> TableSnapshot:
        """Return a table that has a partition for each combination of the values, and the index."""
        names, fields = tuple(self.schema.types), self.schema.fields
        columns = (
            TableColumn("x", "long"),
            *(TableColumn(name, str(type)) for name, type in self.schema.types.items()),
        )
        described = metadata(
            columns=columns, partition_by=names, descending=tuple(field.descending for field in fields)
        )
        transaction = Transaction(
            Metastore(MemoryStore(), "/lake").create_table("default", "t", described), "fill"
        )
        for row in itertools.product(*(self.values[name] for name in names)):
            transaction.append(row, [file("f")])
        return create_index(commit(transaction), self.index)


@dataclass(frozen=True)
class PlanExample:
    """A filter of a golden file, where it stands there, and what it is about."""

    line: int
    text: str
    setting: PlanSetting

    @property
    def filter(self) -> Filter:
        """Return the filter."""
        return parse_filter(self.text, self.setting.schema.types)


def read_examples(path: Path) -> Iterator[PlanExample]:
    """Give the filters of a golden file."""
    setting = PlanSetting(KeySchema(()))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        word, _, rest = line.partition(" ")
        if word == "key":
            setting = _keyed(rest)
        elif word == "index":
            setting = PlanSetting(setting.schema, tuple(rest.split()), setting.values)
        elif word == "values":
            name, *texts = rest.split()
            values = [_value(setting.schema.types[name], text) for text in texts]
            setting = PlanSetting(setting.schema, setting.index, {**setting.values, name: values})
        elif re.match("    [^ ]", line):
            yield PlanExample(number, line.strip(), setting)
        else:
            assert line[:1] in ("", "#") or line.startswith(ARROW), f"{path.name}:{number + 1}: {line}"


ARROW = "      → "


def with_plans(path: Path, plans: dict[int, Sequence[str]]) -> str:
    """Return a golden file's text with these plans below the lines of their filters."""
    told: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if not line.startswith(ARROW):
            told += [line, *(ARROW + each for each in plans.get(number, ()))]
    return "\n".join(told) + "\n"


def _keyed(text: str) -> PlanSetting:
    found = [_COLUMN.fullmatch(column) for column in text.split(", ")]
    columns = [column for column in found if column]
    assert len(columns) == len(found), text
    described = [(column["name"], parse_type(column["type"])) for column in columns]
    return PlanSetting(KeySchema.from_columns(described, [column["down"] is not None for column in columns]))


def _value(type: ColumnType, text: str) -> Value:
    return None if text == "NULL" else value_from_text(type, text)


def _literals(node: Predicate) -> Iterator[tuple[str, Value]]:
    match node:
        case And(children) | Or(children):
            for child in children:
                yield from _literals(child)
        case Not(child):
            yield from _literals(child)
        case Compare(_, name, value) if value is not None:
            yield name, value
        case In(name, values):
            yield from ((name, value) for value in values)
        case TupleIn(names, rows):
            yield from (pair for row in rows for pair in zip(names, row, strict=True) if pair[1] is not None)
        case Like(name, pattern, escape):
            for some in ("", "x"):
                yield name, "".join(some if wild else each for each, wild in parts_of(pattern, escape))


def _fitting(type: ColumnType, value: Value) -> Value:
    return str(value)[: type.length].ljust(type.length) if type.name == "char" else value


def _pool(type: ColumnType, literals: Sequence[Value]) -> list[Value]:
    """Return a column's literals, what is next to them, and some values that have nothing to do with them."""
    found = [*literals, *(beside for value in literals for beside in _beside(type, value))]
    found += POOLS.get(str(type), [])
    encode = KeyField("c", type).encode
    return list({encode(value): value for value in found}.values())


def _beside(type: ColumnType, value: Value) -> list[Value]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        limit = 2**31 if type.name in ("int", "date") else 2**63
        return [near for near in (value - 1, value + 1) if -limit <= near < limit]
    if isinstance(value, str) and type.name == "char":
        text = value.rstrip(" ")
        return [text[:-1].ljust(type.length), (text + "x")[: type.length].ljust(type.length)]
    if isinstance(value, str):
        return [value[:-1], value + "\x00", value + "z"]
    if isinstance(value, bytes):
        return [value[:-1], value + b"\x00"]
    return []
