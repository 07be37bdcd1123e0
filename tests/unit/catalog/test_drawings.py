"""Results of a catalog draw themselves in a notebook: tables, plans, and listings.

Drawing a listing consumes nothing of it.
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import parquetry
from parquetry.catalog import Catalog
from parquetry.catalog.listing import Listing
from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.prune import Report

ODD = "<script>&"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A table `t` of thirty partitions; the name of the last one has characters that are special in HTML."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        columns = (TableColumn("id", "long", metadata={"comment": ODD}), TableColumn("p", "string"))
        metadata = TableMetadata(columns, ("p",), "parquet", f"{tmp_path}/t", comment=ODD)
        transaction = Transaction(metastore.create_table("default", "t", metadata), "append")
        for number in range(29):
            transaction.append((f"{number:02}",), [FileRecord("a.parquet", 1500, 10)])
        transaction.append((ODD,), [FileRecord("b.parquet", 1500)])
        commit(transaction)
    with parquetry.open(tmp_path) as opened:
        yield opened


class _Texts(HTMLParser):
    """Collects the texts of cells, and checks that tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def drawn(html: str) -> list[str]:
    """Return the texts of the cells."""
    texts = _Texts()
    texts.feed(html)
    texts.close()
    assert texts.open == []
    return texts.cells


def test_a_listing_is_drawn_and_not_used_up(catalog: Catalog) -> None:
    """The first twenty are drawn, and all thirty come after that; of what is left the rest is drawn."""
    listing = catalog.partitions("t")
    html = listing._repr_html_()
    assert "partitions of default.t</strong> (the first 20)" in html
    assert drawn(html)[:5] == ["p", "files", "rows", "size", "location"]
    assert drawn(html)[5:10] == ["00", "1", "10", "1.5 kB", f"{catalog.warehouse}/t/p=00"]
    assert listing._repr_html_() == html
    assert repr(listing).startswith("partitions of default.t, one by one: list() gives them all")
    assert repr(listing) == repr(listing)  # it consumes nothing
    values = [next(listing).values["p"] for _ in range(25)]
    assert values == [f"{number:02}" for number in range(25)]
    html = listing._repr_html_()
    assert drawn(html)[5::5] == ["25", "26", "27", "28", ODD]
    assert "<script>" not in html
    assert len(list(listing)) == 5
    assert "(none)" in listing._repr_html_()


def test_files_and_versions_are_drawn(catalog: Catalog) -> None:
    """Files with rows that are not known, and versions."""
    assert drawn(catalog.files("t", f"p = '{ODD}'")._repr_html_())[3:] == [
        f"{catalog.warehouse}/t/p=<script>&/b.parquet",
        "?",
        "1.5 kB",
    ]
    cells = drawn(catalog.history("t")._repr_html_())
    assert [cells[7], cells[9], cells[10]] == ["1", "append", "30"]


def test_a_table_is_drawn(catalog: Catalog) -> None:
    """Its columns, and what else is known of it."""
    html = catalog.table("t")._repr_html_()
    assert "<script>" not in html
    cells = drawn(html)
    assert cells[:12] == [
        "column",
        "type",
        "partition",
        "comment",
        "id",
        "bigint",
        "",
        ODD,
        "p",
        "string",
        "1",
        "",
    ]
    facts = dict(zip(cells[12::2], cells[13::2], strict=True))
    assert (facts["partitions"], facts["files"], facts["rows"], facts["comment"]) == ("30", "30", "?", ODD)


def test_a_plan_is_drawn(catalog: Catalog) -> None:
    """As its text, by values."""
    assert "p &gt;= &#x27;27&#x27;" in catalog.plan("t", "p >= '27' AND p < '29'")._repr_html_()


def test_a_listing_reads_no_more_than_it_draws() -> None:
    """Drawing a listing of a million numbers reads twenty-one of them."""
    read = []

    def things() -> Iterator[int]:
        for number in range(1_000_000):
            read.append(number)
            yield number

    listing = Listing("numbers", things(), lambda number: {"number": number})
    assert len(drawn(listing._repr_html_())) == 21
    assert len(read) == 21


def test_a_prompt_shows_what_a_person_reads(catalog: Catalog) -> None:
    """A catalog names its tables, a table its columns and sums, and a plan's text has no quotes."""
    table = catalog.tables()[0]
    assert table in repr(catalog)
    assert repr(catalog.table(table)).startswith(f"{table}: version ")
    assert "Column(" not in repr(catalog.table(table))
    assert "operation" in repr(catalog.history(table)).split("\n")[1]
    assert repr(catalog.scan(table).explain()) == catalog.scan(table).explain()
    assert repr(Report(())) == str(Report(()))
    catalog.close()
