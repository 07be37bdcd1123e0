"""The rows that `docs/stored-format.md` shows byte by byte are rows of a real metastore."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path

import pytest

from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.format import FORMAT_VERSION
from tests.unit.stored_format.reader import Rows

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "stored-format.md").read_text()
EXAMPLES = re.findall(r"<!-- bytes -->\n```text\n(.*?)```", PAGE, re.DOTALL)
LINE = re.compile(r"(key|value|) +((?:[0-9a-f]{2})(?: [0-9a-f]{2})*)(?:  +\S.*)?")


def shown(example: str) -> tuple[bytes, bytes]:
    """Return the key and the value that an example shows."""
    parts = {"key": b"", "value": b""}
    part = ""
    for line in example.splitlines():
        found = LINE.fullmatch(line)
        assert found is not None, line
        part = found[1] or part
        parts[part] += bytes.fromhex(found[2])
    return parts["key"], parts["value"]


def test_the_page_is_about_the_newest_format() -> None:
    """Who raises the format is reminded of the page, and of a golden metastore of the format before."""
    assert f"It specifies format {FORMAT_VERSION}" in PAGE
    rows = Rows(ROOT / "tests" / "golden" / f"format-{FORMAT_VERSION}" / "metastore.sqlite")
    assert rows.format["version"] == FORMAT_VERSION


@pytest.mark.parametrize("example", EXAMPLES, ids=[shown(example)[0][:1].hex() for example in EXAMPLES])
def test_an_example_is_a_row(example: str) -> None:
    """Key and value are a row of the golden metastore, to the last byte."""
    key, value = shown(example)
    golden = ROOT / "tests" / "golden" / "format-5" / "metastore.sqlite"
    with contextlib.closing(sqlite3.connect(f"file:{golden}?mode=ro", uri=True)) as file:
        assert file.execute("SELECT v FROM kv WHERE k = ?", (key,)).fetchone() == (value,)


def test_every_kind_of_row_is_specified() -> None:
    """The table of keys has each tag that the library uses, and all but eight kinds of rows have an
    example.
    """
    table = PAGE.partition("## Keys\n")[2].partition("\n## ")[0]
    tags = {value for value in vars(keyspace).values() if isinstance(value, bytes) and len(value) == 1}
    assert set(re.findall(r"^\| `([0-9a-f]{2})`", table, re.MULTILINE)) == {tag.hex() for tag in tags}
    without = tags - {shown(example)[0][:1] for example in EXAMPLES}
    assert without == {
        keyspace.DATABASES,
        keyspace.COMMITS,
        keyspace.JOURNAL,
        keyspace.IN_FLIGHT,
        keyspace.RANGE_MANIFESTS,
        keyspace.UPKEEP,
        keyspace.TRANSACTIONS,
        keyspace.QUERIES,
    }
