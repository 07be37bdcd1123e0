"""Conditions on fields of structs leave files out of a scan, and lose no row."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquetry
from parquetry.catalog import Catalog
from parquetry.data_files import PHYSICAL_NAME
from parquetry.errors import FilterError
from parquetry.predicate import parse_filter
from parquetry.rows import matching_rows
from tests.support.effort import examples
from tests.support.readers.python_tables import PythonLake

TABLES = 60


def struct(**types: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    return {"type": "struct", "fields": fields}


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    return PythonLake(tmp_path / "lake")


@pytest.fixture
def catalog(lake: PythonLake) -> Iterator[Catalog]:
    with parquetry.open(lake.folder) as opened:
        yield opened


def files(catalog: Catalog, where: str) -> int:
    """Return how many files a scan opens, once it has the rows of all files."""
    scan = catalog.scan("default.t", where)
    return len(scan.files())


def test_a_scan_opens_the_files_that_may_have_a_row(lake: PythonLake, catalog: Catalog) -> None:
    """Each of ten files has its own range of the fields, and its own part with NULL."""
    lake.create("t", {"id": "long", "s": struct(a="integer", t=struct(b="string", **{"x.y": "date"}))})
    for n in range(10):
        rows = [{"a": 10 * n + k, "t": {"b": f"k{n}-{k}", "x.y": None}} for k in range(5)]
        lake.write(
            "t", f"{n}.parquet", [{"id": k, "s": None if n == 3 else row} for k, row in enumerate(rows)]
        )
    assert files(catalog, "s.a = 42") == 1
    assert files(catalog, "S.A BETWEEN 12 AND 21") == 2
    assert files(catalog, "s.a IN (1, 52, 999)") == 2
    assert files(catalog, "s.t.b LIKE 'k7%'") == 1
    assert files(catalog, "s.a IS NULL") == 1
    assert files(catalog, "s.a IS NOT NULL") == 9
    assert files(catalog, "s.t.`x.y` = DATE '2026-01-01'") == 0
    assert files(catalog, "s.a <=> 42 OR s.t.b = 'k1-1'") == 2
    assert files(catalog, "(s.a, s.t.b) IN ((42, 'k4-2'), (12, 'k9-9'))") == 1
    with pytest.raises(FilterError, match=r"Column 's\.none' is not there"):
        files(catalog, "s.none = 1")


def test_a_property_limits_what_is_recorded(lake: PythonLake, catalog: Catalog) -> None:
    """Files that are recorded afterwards have statistics of the named fields alone."""
    lake.create("t", {"s": struct(a="long", b="long")}, properties={"field-statistics": "s.b"})
    for n in range(3):
        lake.write("t", f"{n}.parquet", [{"s": {"a": n, "b": n}}])
    assert (files(catalog, "s.a = 1"), files(catalog, "s.b = 1")) == (3, 1)


def test_a_field_of_an_old_name_has_no_old_statistics(lake: PythonLake, catalog: Catalog) -> None:
    """A field that was dropped and added again is NULL in old files, and a renamed one has its values."""
    lake.create("t", {"s": struct(a="long", b="long")})
    lake.write("t", "0.parquet", [{"s": {"a": 1, "b": 2}}])
    again = struct(a="long", c="long")
    again["fields"][0]["metadata"] = {PHYSICAL_NAME: "a#2"}
    again["fields"][1]["metadata"] = {PHYSICAL_NAME: "b"}
    (column,) = lake.table("t").metadata.columns
    lake.alter("t", columns=(column.__replace__(type=again),))
    assert files(catalog, "s.a = 1") == 0
    assert files(catalog, "s.a IS NULL") == 1
    assert catalog.scan("default.t", "s.c = 2").to_arrow().to_pylist() == [{"s": {"a": None, "c": 2}}]


KINDS: Mapping[str, Any] = {
    "long": lambda choice: choice.randint(-3, 40),
    "double": lambda choice: choice.choice([0.0, -0.0, float("nan"), 1.5, 2.0, choice.randint(0, 40) / 4]),
    "string": lambda choice: choice.choice(["", "a", "ab", "b", "é", "z" * 70, f"k{choice.randint(0, 30)}"]),
    "boolean": lambda choice: choice.random() < 0.5,
    "decimal(9,2)": lambda choice: Decimal(choice.randint(-100, 4000)) / 100,
    "timestamp": lambda choice: choice.randint(0, 40) * 86_400_000_000,
}
LITERALS = {
    "long": "{n}", "double": "{n}.5", "string": "'k{n}'", "boolean": "TRUE", "decimal(9,2)": "{n}.25",
    "timestamp": "TIMESTAMP '1970-01-{d:02} 00:00:00'",
}  # fmt: skip


class RandomTable:
    """A table with a struct of random fields, and its fields' names and types."""

    def __init__(self, choice: random.Random) -> None:
        self.choice = choice
        names = ["a", "B", "c d", "e.f", "g", "h"]
        kinds = choice.choices(list(KINDS), k=6)
        self.inner = dict(zip(names[3:], kinds[3:], strict=True))
        self.outer = dict(zip(names[:3], kinds[:3], strict=True))
        self.columns = {
            "id": "long",
            "s": struct(
                **self.outer,
                t=struct(**self.inner),
                l={"type": "array", "elementType": "long", "containsNull": True},
            ),
            "s.a": "long",
        }
        self.paths = {f"s.`{name}`": kind for name, kind in self.outer.items()}
        self.paths |= {f"S.t.`{name}`": kind for name, kind in self.inner.items()}

    def value(self, kind: str, base: int) -> Any:
        value = None if self.choice.random() < 0.15 else KINDS[kind](self.choice)
        if kind in ("long", "timestamp") and value is not None:
            value += base * (1 if kind == "long" else 86_400_000_000)
        return value

    def row(self, base: int, nulls: float) -> dict[str, Any]:
        def some(value: Any) -> Any:
            return None if self.choice.random() < nulls else value

        inner = {name: self.value(kind, base) for name, kind in self.inner.items()}
        outer = {name: self.value(kind, base) for name, kind in self.outer.items()}
        return {"id": base, "s": some({**outer, "t": some(inner), "l": [1]}), "s.a": self.value("long", base)}

    def condition(self) -> str:
        choice = self.choice
        path, kind = choice.choice(list(self.paths.items()))
        n = choice.randint(0, 200)
        text = LITERALS[kind].format(n=n, d=n % 28 + 1)
        other = LITERALS[kind].format(n=n + 9, d=n % 28 + 2)
        forms = [f"{path} {op} {text}" for op in ("=", "<", "<=", ">", ">=", "<>", "<=>")]
        forms += [
            f"{path} IS NULL",
            f"{path} IS NOT NULL",
            f"{path} IN ({text}, {other}, NULL)",
            f"NOT {path} = {text}",
        ]
        forms += [f"{path} BETWEEN {text} AND {other}", f"`s.a` = {n}"]
        if kind == "string":
            forms += [f"{path} LIKE 'k{n % 3}%'", f"{path} LIKE 'a%b'"]
        return choice.choice(forms)

    def conditions(self) -> str:
        one = self.condition()
        return (
            one
            if self.choice.random() < 0.6
            else f"{one} {self.choice.choice(['AND', 'OR'])} {self.condition()}"
        )


def put_files(lake: PythonLake, table: RandomTable, name: str) -> None:
    """Write files of several row groups, some without a field, or with fields in another order and case."""
    choice = table.choice
    for n in range(choice.randint(2, 8)):
        nulls = choice.choice([0.0, 0.0, 0.3, 1.0])
        lake.write(name, f"w{n}.parquet", [table.row(30 * n, nulls) for _ in range(choice.randint(1, 6))])
        path = lake.folder / "default.db" / name / f"w{n}.parquet"
        rows = pq.read_table(path)
        column = rows.column("s").combine_chunks()
        dropped = choice.choice([None, "a", "t", "B"])
        arrays = {field.name: column.field(field.name) for field in column.type if field.name != dropped}
        renamed = [each.upper() if choice.random() < 0.2 else each for each in arrays]
        changed = pa.StructArray.from_arrays(list(arrays.values()), names=renamed, mask=column.is_null())
        rows = rows.set_column(rows.schema.get_field_index("s"), "s", changed)
        lake.put(name, f"p{n}.parquet", rows)
        pq.write_table(
            rows,
            path.with_name(f"g{n}.parquet"),
            row_group_size=2,
            compression=choice.choice(["snappy", "gzip"]),
        )
    lake.sync(name)


def test_random_tables(lake: PythonLake, catalog: Catalog) -> None:
    """Each condition gives the rows that it gives when all rows are tested."""
    fewer = 0
    for number in range(examples(TABLES, 4)):
        table = RandomTable(random.Random(number))
        name = f"t{number}"
        more = {"properties": {"field-statistics": str(number % 7)}} if number % 3 == 0 else {}
        lake.create(name, table.columns, **more)
        put_files(lake, table, name)
        every = catalog.scan(f"default.{name}", time_zone="UTC").to_arrow().combine_chunks()
        batch = every.to_batches()[0]
        metadata = lake.table(name).metadata
        types = {column.name: column.column_type for column in (*metadata.columns, *metadata.fields)}
        for _ in range(20):
            where = table.conditions()
            truth = matching_rows(
                parse_filter(where, types).node,
                dict(zip(batch.schema.names, batch.columns, strict=True)),
                batch.num_rows,
            )
            scan = catalog.scan(f"default.{name}", where, time_zone="UTC")
            fewer += len(scan.files()) < len(catalog.scan(f"default.{name}").files())
            expected = sorted(map(repr, batch.filter(truth).to_pylist()))
            assert sorted(map(repr, scan.to_arrow().to_pylist())) == expected, where
    assert fewer
