"""Tables for readers of other formats: what each reader has to read, or why it is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquetry.data_files import EXISTS_DEFAULT, PHYSICAL_NAME, TableColumn
from tests.support.readers.encrypted_files import encryption_of
from tests.support.readers.python_tables import PythonLake, arrow_schema

Row = dict[str, Any]
UTC = dt.UTC
STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "x", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "y", "type": {"type": "array", "elementType": "string", "containsNull": True}, "nullable": True, "metadata": {}},
    ],
}  # fmt: skip
LIST = {"type": "array", "elementType": "long", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}

ARROW_STRUCT = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])


@dataclass(frozen=True)
class ReaderCase:
    """A table.

    Attributes:
        make: makes the table `t`.
        rows: its rows, as Spark reads them.
        refusal: a part of the error that all readers get, or None.
        refusals: the same for single readers, by a part of their name.
        filter: a condition in SQL and the numbers of the rows that satisfy it.
    """

    make: Callable[[PythonLake], object]
    rows: Sequence[Row] = ()
    refusal: str | None = None
    refusals: dict[str, str] = field(default_factory=dict)
    filter: tuple[str, Sequence[int]] | None = None


def column(name: str, kind: Any, physical: str | None = None, **metadata: Any) -> TableColumn:
    own = {} if physical is None else {PHYSICAL_NAME: physical}
    return TableColumn(name, kind, True, {**metadata, **own})


def plain(lake: PythonLake) -> None:
    lake.create("t", {"p": "integer", "a": "long", "b": "string"}, ["p"])
    lake.write("t", "p=1/a.parquet", [{"a": 1, "b": "x"}, {"a": None, "b": None}])
    lake.write("t", "p=-2/a.parquet", [{"a": 3, "b": "é"}])


def without_ids(lake: PythonLake) -> None:
    lake.create("t", {"p": "integer", "a": "long", "b": "string"}, ["p"])
    lake.write("t", "p=1/a.parquet", [{"a": 1, "b": "x"}], ids=False)
    lake.alter(
        "t",
        columns=(
            column("p", "integer"),
            column("c", "string"),
            column("z", "long", "a"),
            column("b", "string"),
        ),
    )
    lake.write("t", "p=2/a.parquet", [{"a": 3, "b": "y", "c": "new"}])


def unpartitioned(lake: PythonLake) -> None:
    lake.create("t", {"a": "long"})
    lake.write("t", "a.parquet", [{"a": 1}, {"a": 2}])


def changed(lake: PythonLake) -> None:
    """Swap names, drop a column and add it again, add one first, and rename the partition column."""
    lake.create("t", {"k": "string", "a": "long", "b": "long", "c": "long"}, ["k"])
    lake.write("t", "k=u/a.parquet", [{"a": 1, "b": 10, "c": 100}])
    lake.alter("t", partition_by=("q",), dropped=(("c",),), columns=(
        column("q", "string", "k"), column("n", "string"), column("b", "long", "a"), column("a", "long", "b"),
        column("c", "long", "c_1"),
    ))  # fmt: skip
    lake.write("t", "k=v/b.parquet", [{"a": 2, "b": 20, "c_1": 200, "n": "n"}])


def nested(lake: PythonLake) -> None:
    lake.create("t", {"s": STRUCT, "m": MAP, "a": "long"})
    lake.write(
        "t",
        "a.parquet",
        [{"s": {"x": 1, "y": ["u", None]}, "m": [("k", 7)], "a": 1}, {"s": None, "m": None, "a": 2}],
    )


PAIR = {"type": "struct", "fields": [{"name": "v", "type": "integer", "nullable": True, "metadata": {}}]}
PAIRS = {"type": "array", "elementType": PAIR, "containsNull": True}
NAMED = {"type": "map", "keyType": "string", "valueType": PAIR, "valueContainsNull": True}


def structs_within(lake: PythonLake) -> None:
    lake.create("t", {"l": PAIRS, "m": NAMED})
    lake.write("t", "a.parquet", [{"l": [{"v": 1}], "m": [("k", {"v": 2})]}, {"l": None, "m": None}])


def scripts(lake: PythonLake) -> None:
    """Have names with a blank and with letters that are not ASCII."""
    lake.create("t", {"Ünï": "string", "日付": "string", "a b": "long"}, ["Ünï", "日付"])
    lake.write("t", "Ünï=é/日付=x/a.parquet", [{"a b": 1}])
    lake.write("t", "Ünï=e/日付=y/a.parquet", [{"a b": 2}])


TYPES = {
    "boolean": True, "byte": -1, "short": 2, "integer": 3, "long": 4, "float": 0.5, "double": -0.25, "string": "x",
    "varchar(3)": "abc", "binary": b"\0\xff", "date": dt.date(1969, 12, 31), "decimal(20,3)": Decimal("-1.250"),
    "timestamp": dt.datetime(2026, 11, 27, 1, 2, 3, 456789, UTC), "timestamp_ntz": dt.datetime(1960, 1, 1),
}  # fmt: skip


def types(lake: PythonLake) -> None:
    lake.create("t", {f"c{n}": kind for n, kind in enumerate(TYPES)})
    lake.write("t", "a.parquet", [{f"c{n}": value for n, value in enumerate(TYPES.values())}, {}])


def partitioned(kind: str, *directories: str) -> Callable[[PythonLake], None]:
    def make(lake: PythonLake) -> None:
        lake.create("t", {"p": kind, "a": "long"}, ["p"])
        for number, directory in enumerate(directories):
            lake.write("t", f"p={directory}/f.parquet", [{"a": number}])

    return make


def widened(old: str, new: str, value: Any) -> Callable[[PythonLake], None]:
    def make(lake: PythonLake) -> None:
        lake.create("t", {"a": old, "b": "long"})
        lake.write("t", "a.parquet", [{"a": value, "b": 1}])
        lake.alter("t", columns=(column("a", new), column("b", "long")))

    return make


def foreign(lake: PythonLake) -> None:
    lake.create("t", {"a": "long", "b": "long"})
    fields = [
        pa.field(name, pa.int64(), metadata={"PARQUET:field_id": number})
        for name, number in (("a", "2"), ("b", "1"))
    ]
    lake.put("t", "a.parquet", pa.table({"a": [1], "b": [2]}, pa.schema(fields)))
    lake.sync("t")


def adopted(table: pa.Table, columns: dict[str, Any]) -> Callable[[PythonLake], None]:
    def make(lake: PythonLake) -> None:
        lake.create("t", columns)
        lake.put("t", "a.parquet", table)
        lake.sync("t")

    return make


def defaulted(lake: PythonLake) -> None:
    lake.create("t", {"a": "long"})
    lake.write("t", "a.parquet", [{"a": 1}])
    lake.alter("t", columns=(column("a", "long"), column("d", "long", **{EXISTS_DEFAULT: "5"})))


def all_defaulted(lake: PythonLake) -> None:
    lake.create("t", {"a": "long", "d": column("d", "long", **{EXISTS_DEFAULT: "5"})})
    lake.write("t", "a.parquet", [{"a": 1, "d": 6}])


EARLY = dt.datetime(1500, 1, 1, tzinfo=UTC)


def early(version: str) -> Callable[[PythonLake], None]:
    """Return a function that makes a table with a file of days before 1582 by a version of Spark."""

    def make(lake: PythonLake) -> None:
        dates = {"type": "array", "elementType": "date", "containsNull": True}
        lake.create("t", {"d": "date", "t": "timestamp", "n": dates})
        schema = arrow_schema(lake.table("t").metadata).with_metadata({"org.apache.spark.version": version})
        row = {"d": dt.date(1500, 1, 1), "t": EARLY, "n": [dt.date(1500, 1, 1)]}
        lake.put("t", "a.parquet", pa.Table.from_pylist([row], schema))
        lake.sync("t")

    return make


def renamed_in_footer(kind: Any, value: Any, *names: tuple[str, str]) -> Callable[[PythonLake], object]:
    """Return what makes a table whose file has other names within a list or map, of the same length."""

    def make(lake: PythonLake) -> None:
        lake.create("t", {"a": "long", "l": kind, "z": "long"})
        schema = arrow_schema(lake.table("t").metadata)
        lake.put("t", "a.parquet", pa.Table.from_pylist([{"a": 1, "l": value, "z": 2}], schema))
        path = lake.folder / "default.db" / "t" / "a.parquet"
        content = path.read_bytes()
        for old, new in names:
            content = content.replace(bytes([len(old)]) + old.encode(), bytes([len(new)]) + new.encode())
        path.write_bytes(content)
        lake.sync("t")

    return make


def encrypted(lake: PythonLake) -> None:
    lake.create("t", {"a": "long", "b": "string"})
    table = pa.Table.from_pylist([{"a": 1, "b": "x"}], arrow_schema(lake.table("t").metadata))
    path = lake.folder / "default.db" / "t" / "a.parquet"
    with pq.ParquetWriter(path, table.schema, encryption_properties=encryption_of("b")) as writer:
        writer.write_table(table)
    lake.sync("t")


STAMP = dt.datetime(2026, 11, 27, 1, 2, 3, 500000, UTC)
NO_NULL = {"pyiceberg": "takes no NULL", "polars": "takes no NULL"}
NO_DECIMAL = {"pyiceberg": "for a text", "polars": "for a text"}

CASES = {
    "plain": ReaderCase(plain, [{"p": 1, "a": 1, "b": "x"}, {"p": 1, "a": None, "b": None}, {"p": -2, "a": 3, "b": "é"}],
        filter=("p = 1 AND a IS NULL", [1])),
    "without ids": ReaderCase(without_ids, [{"p": 1, "c": None, "z": 1, "b": "x"}, {"p": 2, "c": "new", "z": 3, "b": "y"}],
        filter=("c IS NULL", [0])),
    "unpartitioned": ReaderCase(unpartitioned, [{"a": 1}, {"a": 2}], filter=("a > 1", [1])),
    "changed": ReaderCase(changed, [{"q": "u", "n": None, "b": 1, "a": 10, "c": None}, {"q": "v", "n": "n", "b": 2, "a": 20, "c": 200}],
        filter=("c IS NULL AND q = 'u'", [0])),
    "nested": ReaderCase(nested, [{"s": {"x": 1, "y": ["u", None]}, "m": {"k": 7}, "a": 1}, {"s": None, "m": None, "a": 2}]),
    "structs within": ReaderCase(structs_within, [{"l": [{"v": 1}], "m": {"k": {"v": 2}}}, {"l": None, "m": None}],
        refusals={"pyiceberg": "reads NULL of column l", "polars": "reads NULL of column l"}),
    "types": ReaderCase(types, [{f"c{n}": value for n, value in enumerate(TYPES.values())}, dict.fromkeys(f"c{n}" for n in range(len(TYPES)))]),
    "letters of any script": ReaderCase(scripts, [{"Ünï": "é", "日付": "x", "a b": 1}, {"Ünï": "e", "日付": "y", "a b": 2}]),
    "texts": ReaderCase(partitioned("string", "a%2Fb%3D", "é x"), [{"p": "a/b=", "a": 0}, {"p": "é x", "a": 1}], filter=("p = 'a/b='", [0])),
    "an equals sign in a folder": ReaderCase(partitioned("string", "a%2Fb=", "é x"), [{"p": "a/b=", "a": 0}, {"p": "é x", "a": 1}], filter=("p = 'a/b='", [0])),
    "an escaped byte in a folder": ReaderCase(partitioned("string", "%C3%A9", "x"), [{"p": "Ã©", "a": 0}, {"p": "x", "a": 1}], filter=("p = 'x'", [1])),
    "dates": ReaderCase(partitioned("date", "1969-12-31", "2026-11-27"), [{"p": dt.date(1969, 12, 31), "a": 0}, {"p": dt.date(2026, 11, 27), "a": 1}],
        filter=("p >= '2000-01-01'", [1])),
    "booleans": ReaderCase(partitioned("boolean", "true", "false"), [{"p": True, "a": 0}, {"p": False, "a": 1}]),
    "timestamps": ReaderCase(partitioned("timestamp", "2026-11-27 01%3A02%3A03.5"), [{"p": STAMP, "a": 0}]),
    "local timestamps": ReaderCase(partitioned("timestamp_ntz", "2026-11-27 01%3A02%3A03.5"), [{"p": STAMP.replace(tzinfo=None), "a": 0}]),
    "decimals": ReaderCase(partitioned("decimal(9,2)", "-0.25", "1.50"), [{"p": Decimal("-0.25"), "a": 0}, {"p": Decimal("1.50"), "a": 1}],
        refusals=NO_DECIMAL, filter=("p > 0", [1])),
    "NULL": ReaderCase(partitioned("integer", "1", "__HIVE_DEFAULT_PARTITION__"), [{"p": 1, "a": 0}, {"p": None, "a": 1}], refusals=NO_NULL),
    "a wider integer": ReaderCase(widened("integer", "long", 7), [{"a": 7, "b": 1}]),
    "a wider float": ReaderCase(widened("float", "double", 0.5), [{"a": 0.5, "b": 1}]),
    "a default that files have": ReaderCase(all_defaulted, [{"a": 1, "d": 6}]),
    "an integer as a double": ReaderCase(widened("integer", "double", 7), refusal="was integer before it was double"),
    "a date as a timestamp": ReaderCase(widened("date", "timestamp_ntz", dt.date(2026, 1, 1)), refusal="was date before it was timestamp_ntz"),
    "foreign ids": ReaderCase(foreign, refusal="field ids of another table"),
    "another order": ReaderCase(adopted(pa.table({"b": [1], "a": [2]}), {"a": "long", "b": "long"}), refusal="has no field ids"),
    "nested without ids": ReaderCase(adopted(pa.table({"s": pa.array([{"x": 1, "y": ["u"]}], ARROW_STRUCT)}), {"s": STRUCT}), refusal="has no field ids"),
    "another spelling": ReaderCase(adopted(pa.table({"A": [1]}), {"a": "long"}), refusal="has no field ids"),
    "a default that files lack": ReaderCase(defaulted, refusal="lacks column d"),
    "a time as a number": ReaderCase(adopted(pa.table({"a": pa.array([1], pa.timestamp("ms"))}), {"a": "long"}), refusal="only Spark reads as that"),
    "early days": ReaderCase(early("3.5.0"), [{"d": dt.date(1500, 1, 1), "t": EARLY, "n": [dt.date(1500, 1, 1)]}]),
    "early days of another calendar": ReaderCase(early("2.4.8"), refusal="another calendar"),
    "a list of an old writer": ReaderCase(renamed_in_footer(LIST, [1, None], ("list", "bags")), refusal="form of older writers"),
    "a map of an old writer": ReaderCase(renamed_in_footer(MAP, {"k": 1}, ("value", "datum")), refusal="form of older writers"),
    "another name of elements": ReaderCase(renamed_in_footer(LIST, [1, None], ("element", "thing_1")), [{"a": 1, "l": [1, None], "z": 2}]),
    "an encrypted column": ReaderCase(encrypted, refusal="only Spark has the keys"),
    "a padded text": ReaderCase(partitioned("char(3)", "x"), refusal="would not pad"),
    "an interval": ReaderCase(adopted(pa.table({"b": [1]}), {"b": "long", "a": "interval day to second"}), refusal="which Iceberg has not"),
}  # fmt: skip
NAMES_ALONE: dict[str, list[Row]] = {
    "another order": [{"a": 2, "b": 1}],
    "nested without ids": [{"s": {"x": 1, "y": ["u"]}}],
}
"""The rows of tables that readers read who go by names, and others do not."""
