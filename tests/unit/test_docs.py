"""The pages that are generated from the code say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parquetry.config import SPARK_SERIES
from parquetry.config.reference import reference
from parquetry.metastore import ColumnStatistics, FileRecord, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from scripts import errors_page
from tests.support.stores.metastores import metadata

ROOT = Path(__file__).parents[2]


def test_configuration_reference_is_current() -> None:
    """docs/configuration.md is what the registry of settings writes."""
    assert (ROOT / "docs" / "configuration.md").read_text() == reference(), "run `make docs`"


def test_the_page_of_errors_is_current() -> None:
    """docs/errors.md is what the classes of errors and the bridge's sources say."""
    assert (ROOT / "docs" / "errors.md").read_text() == errors_page.page(), "run `make docs`"


def test_each_condition_has_a_remedy() -> None:
    """Each condition that Python or the bridge raises is on the page of errors once, and no other is."""
    listed = [code for section in errors_page.REMEDIES.values() for code in section]
    assert sorted(listed) == sorted({*errors_page.codes_of_python(), *errors_page.codes_of_bridge()})
    assert set(errors_page.BRIDGE_ONLY).isdisjoint(errors_page.codes_of_python())


def test_figures_of_the_readme_are_measured() -> None:
    """Each number in the words of a link from the README's designs begins a number of the page that it leads
    to.
    """
    designs = (ROOT / "README.md").read_text().partition("## Quick start")[0]
    links = re.findall(r"\[([^\]]*\d[^\]]*)\]\((docs/[\w-]+\.md)", designs)
    assert len(links) == 4
    for words, page in links:
        measured = re.findall(r"[\d.]+", (ROOT / page).read_text())
        for number in re.findall(r"\d+(?:\.\d+)?", words):
            assert any(each.startswith(number) for each in measured), (words, page)


def test_figures_of_the_benchmarks_are_measured() -> None:
    """Each number in the first table of the benchmarks stands on the page that its row names."""
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    rows = re.findall(r"^\| (.*) \| \[[^\]]*\]\(([\w-]*(?:\.md)?)#[\w-]+\) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for cells, target in rows:
        measured = (ROOT / "docs" / target).read_text() if target else page.partition("## TPC-DS")[2]
        for number in re.findall(r"\d+\.\d+|\d{3,}", cells.partition(" | ")[2]):
            assert number in measured, (number, target)


PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    """A link to a file of the project leads to one, and an anchor to a heading of its page."""
    wrong = []
    links = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)", _CODE.sub("", page.read_text()))
    for target, anchor in links:
        path = page.parent / target if target else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            wrong.append(f"{target}#{anchor}")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_are_whole(page: Path) -> None:
    """A table of a page has a line below its heads: what comes after an empty line is shown as text."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE):
        heads, _, rest = table.partition("\n")
        assert re.match(r"\|(?: *:?-+:? *\|)+(\n|$)", rest), heads


def test_files_that_the_architecture_names_exist() -> None:
    """A path in ARCHITECTURE.md, or in its tables, is one of the product, the bridge or the tests. Each step
    of a walk names one.
    """
    text = (ROOT / "ARCHITECTURE.md").read_text()
    tables = (ROOT / "docs" / "where-things-are.md").read_text()
    named = re.findall(r"`([\w./-]+(?:/[\w-]+/|\.py|\.scala|\.jsonl))`", text + tables)
    assert len(named) > 150
    roots = (ROOT, ROOT / "src" / "parquetry")
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []
    walks = text[text.index("## Walk 1") : text.index("## Six modules")]
    steps = re.findall(r"^\d+\. (.*(?:\n   .*)*)", walks, re.MULTILINE)
    assert len(steps) > 50
    assert [step for step in steps if len(re.findall(r"`[\w./]+\.(?:py|scala)`", step)) != 1] == []


def test_versions_and_what_they_lack_are_listed() -> None:
    """docs/versions.md has a column for each series of Spark. It gives the reason for each feature that the
    series lacks, once, and no other reason.
    """
    page = (ROOT / "docs" / "versions.md").read_text()
    head = f"| feature | {' | '.join(SPARK_SERIES)} |\n"
    table = page[page.index(head) :].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    for column, (series, lacking) in enumerate(SPARK_SERIES.items(), 1):
        said = [row[column].partition("no: ")[2].partition(";")[0] for row in rows if "no: " in row[-1]]
        assert sorted(filter(None, said)) == sorted(missing.reason for missing in lacking), series


def test_who_can_read_a_metastore_is_said_to_see_minimum_and_maximum(tmp_path: Path) -> None:
    """A metastore alone gives the minimum and maximum values of a file that its reader cannot open.

    Its files have at most the rights of the folder. The docs say both.
    """
    warehouse = tmp_path / "lake"
    warehouse.mkdir()
    warehouse.chmod(0o750)
    with open_metastore(str(warehouse), create=True) as metastore:
        transaction = Transaction(
            metastore.create_table("default", "t", metadata(location=f"{warehouse}/t")), "append"
        )
        statistics = {"id": ColumnStatistics(10, 0, 17, 4711)}
        transaction.append((1, "a"), [FileRecord("not-there.parquet", 10, 2, 1, statistics)])
        commit(transaction)
    with open_metastore(str(warehouse)) as metastore:
        ((file,),) = (part.files for part in metastore.table("default", "t").partitions())
        assert file.columns is not None
        assert (file.columns["id"].min, file.columns["id"].max) == (17, 4711)
    modes = [path.stat().st_mode & 0o777 for path in warehouse.rglob("*") if path.is_file()]
    assert modes
    assert all(mode | 0o640 == 0o640 for mode in modes)
    page = (ROOT / "docs" / "configuration.md").read_text().replace("\n", " ")
    (sentence,) = re.findall(r"Anyone who can read a metastore [^.]*\.[^.]*\.", page)
    assert "minimum and maximum values of files" in sentence
    assert "including files that he may not read" in sentence
    assert "the rights of the warehouse's folder" in sentence
    anchor = "who-may-read-and-who-may-ask"
    assert f"concepts.md#{anchor}" in page
    headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / "concepts.md").read_text(), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
