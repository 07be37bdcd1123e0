"""A reader of metastores, written from `docs/stored-format.md` alone. It imports nothing of Parquetry.

It finds tables by name, and gives any version of one: columns, partitions, and files with their statistics.
It reads SQLite files of the formats 1 to 5 and checks each row's checksum. It leaves out intervals as
partition values.
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from msgspec import msgpack

SEED = 0x2144DF1C
STATISTICS = ("size", "nulls", "min", "max", "min_exact", "max_exact")
SIZES = {"byte": 1, "short": 2, "integer": 4, "long": 8, "date": 4, "timestamp": 8, "timestamp_ntz": 8}


class Damaged(Exception):
    """A row is not as it was written."""


class File(NamedTuple):
    """A data file; `path` is absolute."""

    path: str
    bytes: int
    rows: int | None = None
    modified: int | None = None
    columns: dict[str, dict[str, Any]] | None = None
    cell: int | None = None
    bucket: int | None = None
    sorted: bool = False
    rest_of: int | None = None
    field_ids: int | None = None


class Partition(NamedTuple):
    """A partition; `values` are Python's, by the names of the partition columns."""

    key: bytes
    values: dict[str, Any]
    location: str
    file_count: int
    rows: int | None
    bytes: int
    arrangement: dict[str, Any]
    files: list[File]


def unpack(data: bytes) -> Any:
    """Decode MessagePack; extension 1 is a whole number of more than 64 bits."""
    return msgpack.decode(data, ext_hook=lambda code, text: int(bytes(text)) if code == 1 else None)


class Rows:
    """The rows of a SQLite file, without their checksums, which are checked."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.format = unpack(self.get(b"\0") or b"\x80")

    def __del__(self) -> None:
        self._file.close()

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key."""
        row = self._file.execute("SELECT v FROM kv WHERE k = ?", (key,)).fetchone()
        return row and self._plain(key, row[0])

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin with a prefix, in the order of the keys, and the prefix cut off."""
        for key, value in self._file.execute("SELECT k, v FROM kv WHERE k >= ? ORDER BY k", (prefix,)):
            if not key.startswith(prefix):
                return
            yield key[len(prefix) :], self._plain(key, value)

    @staticmethod
    def _plain(key: bytes, value: bytes) -> bytes:
        tag, marked = key[0], value[:1] == b"\xc0"
        has_checksum = {
            0x00: False,
            0x02: len(value) != 16,
            0x07: len(value) == 5 or value[1:2] == b"\x98",
            0x08: marked or value[:2] == b"\xc1\x9b",
            0x10: len(value) == 5,
        }.get(tag, marked or value[-14:-4] == b"\xa8checksum\xce")
        if not has_checksum:
            return value
        if crc32(key + value, SEED) != SEED:
            raise Damaged(key.hex())
        if tag in (0x07, 0x10):
            return value[:1] if len(value) == 5 else value  # an entry's checksum is a field behind the others
        return value[1:-4] if marked else value


class Metastore:
    """Databases and tables.

    Args:
        path: of the SQLite file.
        warehouse: absolute path of the warehouse.
    """

    def __init__(self, path: Path, warehouse: str) -> None:
        self.rows, self.warehouse = Rows(path), warehouse
        assert self.rows.format["magic"] == "parquetry metastore"
        assert 1 <= self.rows.format["version"] <= 5

    def absolute(self, location: str) -> str:
        """Return a location with the warehouse in place of its mark."""
        for mark, root in (("warehouse:", f"file:{self.warehouse}"), ("warehouse-path:", self.warehouse)):
            if location.startswith(mark):
                return root + location[len(mark) :].removesuffix("/")
        return location

    def databases(self) -> dict[str, dict[str, str]]:
        """Return the properties of the databases."""
        found = {name.decode(): dict(unpack(row)["properties"]) for name, row in self.rows.scan(b"\1")}
        for properties in found.values():
            if "location" in properties:
                properties["location"] = self.absolute(properties["location"])
        return {"default": {}, **found}

    def tables(self, database: str, kind: str = "table") -> list[str]:
        """Return the names of a database's tables, or of its views."""
        names = [name.decode() for name, _ in self.rows.scan(b"\2" + database.encode() + b"\0")]
        heads = ((name, self._head(database, name)) for name in names)
        return [name for name, found in heads if found and found[1].get("kind", "table") == kind]

    def _head(self, database: str, name: str) -> tuple[bytes, dict[str, Any]] | None:
        row = self.rows.get(b"\2" + database.encode() + b"\0" + name.encode())
        while row is not None:
            table, token = row[:8], row[8:]
            value = self.rows.get(b"\3" + table)
            head = unpack(value) if value else {"state": "dropped"}
            row = head.get("successor") if head["state"] == "replaced" else None
            if head["state"] == "live" and (head["database"], head["name"]) == (database, name):
                return (table, head) if row is None and token == head["token"] else None
        return None

    def table(self, database: str, name: str, version: int | None = None) -> Version:
        """Return a version of a table, or its newest."""
        found = self._head(database, name)
        assert found is not None, f"no table {database}.{name}"
        table, head = found
        older = range(head["commit"]["version"] - 1, head.get("oldest", 0) - 1, -1)
        rows = (self.rows.get(b"\4" + table + number.to_bytes(8, "big")) for number in older)
        commits = [head["commit"], *(unpack(row) for row in rows if row is not None)]
        if version is None:
            return Version(self, table, commits, commits[0])
        return Version(self, table, commits, commits[head["commit"]["version"] - version])


class Version:
    """A version of a table.

    Attributes:
        history: commits of this and all other versions that are kept, newest first.
        commit: of this version.
        metadata: of this version.
    """

    def __init__(self, metastore: Metastore, table: bytes, history: list[Any], commit: Any) -> None:
        self._metastore, self._rows, self.id = metastore, metastore.rows, table
        self.history, self.commit = history, commit
        self.metadata = unpack(self._rows.get(b"\5" + table + commit["metadata"].to_bytes(8, "big")) or b"")
        self.metadata["location"] = metastore.absolute(self.metadata["location"])
        self._resolve(self.metadata.get("arrangement"))
        by_name = {column["name"].lower(): column for column in self.metadata["columns"]}
        self._by = [by_name[name.lower()] for name in self.metadata["partition_by"]]
        self._down = self.metadata.get("descending") or [False] * len(self._by)

    def _resolve(self, arrangement: dict[str, Any] | None) -> None:
        skew = (arrangement or {}).get("skew") or {}
        if skew.get("locations"):
            skew["locations"] = [place and self._metastore.absolute(place) for place in skew["locations"]]

    def _visible(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the newest row of each key that this version shows, tombstones left out."""
        hidden = self.commit.get("invisible", ())
        for key, rows in groupby(self._rows.scan(prefix), lambda row: row[0][:-8]):
            for whole, value in rows:
                ticket = (1 << 64) - 1 - int.from_bytes(whole[-8:], "big")
                if ticket < self.commit["next_ticket"] and not any(a <= ticket <= b for a, b in hidden):
                    if value != b"\0":
                        yield key, value
                    break

    def partitions(self) -> Iterator[Partition]:
        """Yield the partitions in the order of their keys."""
        for key, value in self._visible(b"\7" + self.id):
            location, count, rows, size, arrangement, chunks, inline = unpack(value[1:])[:7]
            self._resolve(arrangement)
            values, texts = self._values(key)
            path = "/".join(
                f"{escaped(physical(column))}={text}" for column, text in zip(self._by, texts, strict=True)
            )
            where = self._metastore.absolute(location or f"{self.metadata['location']}/{path}".rstrip("/"))
            listed = [file for ticket, number, *_ in chunks for file in self._chunk(ticket, number)]
            files = [self._file(where, file) for file in (*listed, *inline)]
            yield Partition(key, values, where, count, rows, size, arrangement, files)

    def _file(self, location: str, record: list[Any]) -> File:
        path, *others = record
        path = self._metastore.absolute(path)
        if not re.match(r"/|[A-Za-z][A-Za-z0-9+.-]*:/", path):
            path = f"{location.rstrip('/')}/{path}"
        file = File(path, *others)
        columns = {
            name: dict(zip(STATISTICS, each, strict=False)) for name, each in (file.columns or {}).items()
        }
        return file if file.columns is None else file._replace(columns=columns)

    def removed_files(self) -> dict[str, list[Any]]:
        """Return the files of other writers that were removed: size and time by path."""
        return {key.decode(): unpack(value[1:]) for key, value in self._visible(b"\t" + self.id)}

    def index_keys(self, index: dict[str, Any]) -> list[list[bytes]]:
        """Return the fields of the entries of an index, in the order of the partition columns."""
        found = []
        for key, _ in self._visible(b"\x10" + self.id + bytes.fromhex(index["id"])):
            fields: list[bytes] = [b""] * len(index["order"])
            for place, field in zip(index["order"], split(key), strict=True):
                fields[place] = field
            found.append(fields)
        return found

    def summary(self, chunk: tuple[int, int]) -> list[Any] | None:
        """Return the record that sums up a chunk, given its ticket and number."""
        value = self._rows.get(b"\x0a" + self.id + struct.pack(">QQ", *chunk))
        return value and unpack(value)

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield ticket and number of all chunks of this version."""
        for _, value in self._visible(b"\7" + self.id):
            yield from ((ticket, number) for ticket, number, *_ in unpack(value[1:])[5])

    def _chunk(self, ticket: int, number: int) -> list[list[Any]]:
        value = self._rows.get(b"\x08" + self.id + struct.pack(">QQ", ticket, number))
        assert value is not None
        return chunk_files(value)

    def _values(self, key: bytes) -> tuple[dict[str, Any], list[str]]:
        values, texts = {}, []
        for column, down, field in zip(self._by, self._down, split(key), strict=True):
            data = bytes(255 - byte for byte in field) if down else field
            value, text = (None, "") if data[0] == 0 else decode(column["type"], data[1:])
            values[column["name"]] = value
            texts.append(escaped(text) or "__HIVE_DEFAULT_PARTITION__")
        return values, texts


def physical(column: dict[str, Any]) -> str:
    """Return the name of a column in files and paths."""
    name: str = column.get("metadata", {}).get("parquetry.physical", column["name"])
    return name


def escaped(text: str) -> str:
    """Return a text as it stands in a path."""
    return re.sub(r'[\x00-\x1f"#%\'*/:=?\\\x7f{\[\]^]', lambda found: f"%{ord(found[0]):02X}", text)


def split(key: bytes) -> list[bytes]:
    """Cut a partition's key into its fields by the end offsets behind them."""
    if not key:
        return []
    count = (len(key) - int.from_bytes(key[-4:], "big")) // 4
    ends = struct.unpack(f">{count}I", key[-4 * count :])
    return [key[start:end] for start, end in zip((0, *ends), ends, strict=False)]


def decode(kind: str, data: bytes) -> tuple[Any, str]:
    """Return the value of a field behind its first byte, and its text in a path."""
    if kind in SIZES:
        return _time_or_number(kind, int.from_bytes(data, "big") - (1 << (8 * SIZES[kind] - 1)))
    if kind == "boolean":
        return data == b"\2", "true" if data == b"\2" else "false"
    if kind in ("float", "double"):
        size = len(data)
        data = bytes([data[0] & 0x7F, *data[1:]]) if data[0] & 0x80 else bytes(255 - byte for byte in data)
        return (value := struct.unpack(">f" if size == 4 else ">d", data)[0]), java(value, size == 4)
    if kind.startswith("decimal"):
        scale = int(kind.rstrip(")").partition(",")[2])
        sign, exponent = data[0] - 1, int.from_bytes(data[1:5], "big") - 0x80000000
        digits = (bytes(255 - byte for byte in data[5:]) if sign < 0 else data[5:])[:-1].decode()
        exponent = (-exponent if sign < 0 else exponent) - len(digits)
        number = sign * int(digits) * Decimal(10) ** exponent if sign else Decimal(0)
        return (value := number.quantize(Decimal(1).scaleb(-scale))), f"{value:f}"
    raw = re.sub(rb"\x01([\x01\x02])", lambda pair: bytes([pair[1][0] - 1]), data[:-1], flags=re.DOTALL)
    return (raw, raw.decode(errors="replace")) if kind == "binary" else (raw.decode(), raw.decode())


def _time_or_number(kind: str, number: int) -> tuple[Any, str]:
    if kind == "date":
        day = date(1970, 1, 1) + timedelta(days=number)
        return day, str(day)
    if kind.startswith("timestamp"):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=number)
        text = f"{moment:%Y-%m-%d %H:%M:%S}" + f".{moment.microsecond:06d}".rstrip("0").rstrip(".")
        return (moment if kind == "timestamp" else moment.replace(tzinfo=None)), text
    return number, str(number)


def java(value: float, single: bool) -> str:
    """Return a number as Java prints it: with a point, and with an exponent below 0.001 and from ten millions
    on.
    """
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    text = repr(value)
    if single:
        shorter = (f"{value:.{digits}g}" for digits in range(1, 10))
        text = next(each for each in shorter if struct.pack(">f", float(each)) == struct.pack(">f", value))
    sign, figures, exponent = Decimal(text).normalize().as_tuple()
    digits, point = "".join(map(str, figures)), len(figures) + int(exponent)
    if value and not -3 < point <= 7:
        return f"{'-' * sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"
    whole = digits[: max(point, 0)].ljust(max(point, 0), "0") or "0"
    return f"{'-' * sign}{whole}.{'0' * -min(point, 0) + digits[max(point, 0) :] or '0'}"


# Chunks


def chunk_files(value: bytes) -> list[list[Any]]:
    """Return the records of a chunk's files, whichever of the two forms it has."""
    if value[:1] != b"\xc1":
        return list(unpack(value))
    count, joined, sizes, rows, modified, cells, buckets, in_order, described, columns = unpack(value[1:])[
        :10
    ]
    if isinstance(joined, bytes):
        prefix, suffix, *middles = joined.decode().split("\0")
        joined = [f"{prefix}{middle}{suffix}" for middle in middles]
    statistics = {name: column(data, count) for name, data in columns.items() if name[:1] != "\0"}
    earlier, ids = (
        unpack(columns[name])[2] if name in columns else None for name in ("\0rest of", "\0field ids")
    )
    flags_described = flags(described, count)
    return [
        [*row[:4], {n: each[i] for n, each in statistics.items() if each[i] is not None} if flags_described[i] else None,
         *row[4:]]
        for i, row in enumerate(zip(joined, values(sizes, count), values(rows, count), values(modified, count),
            values(cells, count), values(buckets, count), flags(in_order, count), values(earlier, count), values(ids, count),
            strict=True))
    ]  # fmt: skip


def column(data: bytes, count: int) -> list[list[Any] | None]:
    """Return the statistics of a column in each file, or None for a file that has none."""
    there, size, nulls, low, high, *exact = unpack(data)
    min_exact, max_exact = (*exact, True, True)[:2] if len(exact) < 2 else exact[:2]
    packed = [values(each, count) for each in (size, nulls, low, high)]
    packed += [flags(min_exact, count), flags(max_exact, count)]
    return [list(each) if known else None for known, *each in zip(flags(there, count), *packed, strict=True)]


def flags(packed: bool | bytes, count: int) -> list[bool]:
    """Return N flags: one for all, or a bit each, the first in the highest bit of the first byte."""
    if isinstance(packed, bool):
        return [packed] * count
    return [bool(packed[i // 8] >> (7 - i % 8) & 1) for i in range(count)]


def values(packed: list[Any] | None, count: int) -> list[Any]:
    """Return N values; one that is not known is None."""
    if packed is None:
        return [None] * count
    kind, data, width, base, known = (*packed, *(0, 0, True)[len(packed) - 2 :])[:5]
    if kind in ("s", "o"):
        return list(unpack(data))
    if kind == "b":
        found: list[Any] = flags(data, count)
    elif kind == "f":
        found = list(struct.unpack(f"<{count}d", data))
    else:
        code = {0: "0s", 1: "B", 2: "H", 4: "I", 8: "q"}[width]
        found = [base] * count if width == 0 else [base + n for n in struct.unpack(f"<{count}{code}", data)]
    return [value if is_known else None for value, is_known in zip(found, flags(known, count), strict=True)]
