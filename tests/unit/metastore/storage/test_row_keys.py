"""The keys of the metastore's rows, which stores keep for years."""

from __future__ import annotations

from pathlib import Path

import msgspec

from parquetry.key_schema import KeySchema
from parquetry.metastore import Metastore
from parquetry.metastore.partition_rows.indexes import entry_key
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.format import FORMAT_VERSION, MAGIC
from parquetry.store import MemoryStore
from parquetry.types import parse_type

GOLDEN = Path(__file__).parents[3] / "golden" / "row-keys.txt"
TABLE, TICKET = bytes.fromhex("0123456789abcdef"), 7
PARTITION = KeySchema.from_columns([("p", parse_type("int")), ("q", parse_type("string"))]).encode((10, "a"))
KEYS = {
    "format": keyspace.FORMAT,
    "identity": keyspace.IDENTITY,
    "restoring": keyspace.RESTORING,
    "database": keyspace.database_key("shop"),
    "name": keyspace.name_key("shop", "sales"),
    "head": keyspace.head_key(TABLE),
    "commit": keyspace.commit_key(TABLE, 3),
    "metadata": keyspace.metadata_key(TABLE, TICKET),
    "journal": keyspace.journal_key(TABLE, TICKET, 0),
    "partition": keyspace.partition_prefix(TABLE) + PARTITION + keyspace.complement(TICKET),
    "chunk": keyspace.chunk_key(TABLE, TICKET, 1),
    "summary": keyspace.summary_key(TABLE, TICKET, 1),
    "index": keyspace.index_prefix(TABLE, "fedcba9876543210")
    + entry_key((1, 0), PARTITION)
    + keyspace.complement(TICKET),
}


def test_golden_rows() -> None:
    """Every kind of row has the key that the golden file says."""
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    wanted = {kind.strip(): bytes.fromhex(key) for kind, key in (line.split("|") for line in lines)}
    assert wanted == KEYS


def test_the_version_is_in_the_store() -> None:
    """The first row of a metastore has its kind and the version of its rows."""
    store = MemoryStore()
    Metastore(store, "/lake")
    ((key, value),) = store.scan(b"", b"\x01")
    assert key == b"\x00"
    row = msgspec.msgpack.decode(value)
    assert (row["magic"], row["version"]) == (MAGIC, FORMAT_VERSION) == ("parquetry metastore", 5)


def test_fields_that_a_store_may_compare() -> None:
    """Keys of partitions and of index entries have fields that a store may compare, in key order.

    Other keys have none.
    """
    fields = keyspace.fields_of
    first, second = bytes.fromhex("018000000a"), bytes.fromhex("016100")
    assert {kind: list(fields(key)) for kind, key in KEYS.items() if fields(key)} == {
        "partition": [first, second],
        "index": [second, first],
    }
