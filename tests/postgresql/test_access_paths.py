"""Access paths on a real PostgreSQL: how many rows come over the network, by how many statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from parquetry.metastore import Examined, TableSnapshot
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.operations.indexes import create_index
from parquetry.predicate.reading.parse import parse_filter
from parquetry.store.postgresql.connections import PostgreSQLConnections
from parquetry.store.postgresql.store import PostgreSQLStore
from tests.support.postgresql.launcher import PostgreSQLServer
from tests.unit.metastore.versions.test_access_paths import table_of


class Traffic:
    """Statements, and rows that came in answer to them."""

    def __init__(self) -> None:
        self.statements = 0
        self.rows = 0


@contextmanager
def traffic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traffic]:
    """Count what the process asks of PostgreSQL and gets."""
    counted = Traffic()
    run = PostgreSQLConnections.run

    def counting(connections: Any, statement: Any, arguments: Sequence[Any] = (), **more: Any) -> Any:
        answer = run(connections, statement, arguments, **more)
        counted.statements += 1
        counted.rows += len(answer[0])
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(PostgreSQLConnections, "run", counting)
        yield counted


def read(
    monkeypatch: pytest.MonkeyPatch, table: TableSnapshot, text: str
) -> tuple[list[bytes], Traffic, Examined]:
    """Read the partitions of a filter by the cheapest path; return their keys, the traffic and the counts."""
    filter = parse_filter(text, table.key_schema.types)
    examined = Examined()
    with traffic(monkeypatch) as counted:
        plan = cheapest_plan(table, filter, examined)
        found = [partition.key for partition in table.partitions(plan, examined=examined)]
    return found, counted, examined


FILTERS = [
    "c IS NULL AND p < 40",
    "t = 'r2' AND p <> 27 AND NOT (p > 24 OR p = 47)",
    "c > 5 AND p >= 11",
    "p = 7 AND t > 'r0'",
    "p IN (1, 2, 3) AND c = 4 AND t = 'r1'",
    "c = 5",
    "t = 'zz'",
    "t = 'zz' OR p = 3 AND c = 2",
    "t != 'r1'",
    "c IN (1, 2) OR t = 'zz'",
    "p < 25 AND t LIKE '%2'",
]


def test_indexes_bring_no_more_rows(server: PostgreSQLServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With indexes beside, as few rows come as without: the server counts keys and tests them.

    Each count is a row, and so is each entry of an index.
    """
    rows = [(p, c, f"r{n}") for p in range(50) for c in [None, *range(19)] for n in range(4)]
    rows += [(p, 3, "zz") for p in range(0, 50, 10)]
    columns = {"p": "integer", "c": "integer", "t": "string"}
    stores = [PostgreSQLStore.open(server.url(name), create=True) for name in ("plain", "indexed")]
    plain, indexed = (table_of(columns, rows, [], store=store) for store in stores)
    indexed = create_index(create_index(indexed, ["c"]), ["t"])
    for text in FILTERS:
        expected, without, _ = read(monkeypatch, plain, text)
        found, beside, _ = read(monkeypatch, indexed, text)
        assert found == expected, text
        assert expected, text
        counts = beside.statements - 1
        assert beside.rows <= max(without.rows, 2 * len(expected)) + counts, text
        assert beside.statements <= without.statements + 5, text
    for store in stores:
        store.close()


def test_a_skip_scan_takes_few_statements(store: PostgreSQLStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One statement seeks many values, and one reads their pieces: 40 values of 500 partitions."""
    rows = [(p, c) for p in [None, *range(39)] for c in range(500)]
    table = table_of({"p": "integer", "c": "integer"}, rows, [], store=store)
    found, counted, examined = read(monkeypatch, table, "c = 7")
    assert len(found) == 40
    assert (examined.keys, examined.seeks) == (80, 40)
    # 25 values, a count of the keys between them, their pieces; the same for 15 values; the table's head
    assert (counted.statements, counted.rows) == (7, 40 + 40 + 2 + 1)


def test_a_short_table_is_read_by_one_statement(
    store: PostgreSQLStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server tests some thousand keys in less time than more statements would take."""
    rows = [(p, c) for p in range(30) for c in range(100)]
    table = table_of({"p": "integer", "c": "integer"}, rows, [], store=store)
    found, counted, examined = read(monkeypatch, table, "c = 7")
    assert (len(found), examined.keys, examined.seeks) == (30, 30, 0)
    assert (counted.statements, counted.rows) == (2, 30 + 1 + 1)


def test_one_value_of_the_first_column_is_read_by_one_statement(
    store: PostgreSQLStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter that names a value of the first column is not counted: that would take a statement more."""
    rows = [(p, c, t) for p in range(10) for c in range(30) for t in range(20)]
    table = table_of({"p": "integer", "c": "integer", "t": "integer"}, rows, [], store=store)
    found, counted, examined = read(monkeypatch, table, "p = 3 AND t = 7")
    assert (len(found), examined.keys, examined.seeks) == (30, 30, 0)
    assert (counted.statements, counted.rows) == (2, 30 + 1 + 1)
