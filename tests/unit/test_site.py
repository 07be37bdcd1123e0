"""The site finds in the project what it needs, shown without building it: `make site` does that, and checks
all links.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from parquetry import ConfigurationError
from scripts.site import pages
from tests.support.pages.blocks import blocks_of

DOCS = pages.ROOT / "docs"
NAV = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", (pages.ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
TEXTS = [*(pages.ROOT / name for name in pages.PAGES), *sorted(DOCS.glob("*.md"))]
WIDTH = 108
"""Characters of code that fit."""


def test_the_menu_names_every_page_once() -> None:
    """A page of docs/ that the menu lacks would not be found, and so with the pages that the build adds."""
    assert sorted(NAV) == sorted(
        [*(path.name for path in DOCS.glob("*.md")), *pages.PAGES.values(), "api.md"]
    )


@pytest.mark.parametrize("name", [name for names in pages.API.values() for name in names])
def test_the_reference_shows_what_there_is(name: str) -> None:
    """Each name of the Python reference can be imported as it is shown, and has a docstring. A name that
    needs PySpark says so if it is missing.
    """
    try:
        found = importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except ConfigurationError as error:
            assert f"{name} needs PySpark, which is not installed" in str(error)  # noqa: PT017 - so it has to say
            return
    assert found.__doc__


@pytest.mark.parametrize(
    ("text", "folder", "expected"),
    [
        ("[SQL](docs/sql.md#tables)", "", "[SQL](sql.md#tables)"),
        ("![demo](docs/images/demo.svg)", "", "![demo](images/demo.svg)"),
        (
            '<source srcset="docs/images/a.svg"> `src="docs/b"`',
            "",
            '<source srcset="images/a.svg"> `src="docs/b"`',
        ),
        ("[Why](ARCHITECTURE.md)", "", "[Why](architecture.md)"),
        ("[Start](../README.md#quick-start)", "docs", "[Start](index.md#quick-start)"),
        ("[SQL](sql.md)", "docs", "[SQL](sql.md)"),
        (
            "[here](#limits), [there](https://example.org)",
            "docs",
            "[here](#limits), [there](https://example.org)",
        ),
        ("[the reader](../tests/unit/reader.py)", "docs", "the reader"),
        (
            "`[SQL](docs/sql.md)`\n```\n[SQL](docs/sql.md)\n```",
            "",
            "`[SQL](docs/sql.md)`\n```\n[SQL](docs/sql.md)\n```",
        ),
    ],
)
def test_links_lead_to_pages_of_the_site(text: str, folder: str, expected: str) -> None:
    """Links between pages are rewritten, links to other files become text, and code stays."""
    assert pages.in_site(text, folder) == expected


def test_nothing_is_fetched_from_elsewhere() -> None:
    """The site takes no fonts and no script from other servers, and search works from a file."""
    assert "font: false" in (pages.ROOT / "mkdocs.yml").read_text()
    page = type("Page", (), {"url": "sql.html"})()
    html = f'<script src="{pages._SHIM_ELSEWHERE}"></script>'
    assert pages.on_post_page(html, page, None) == '<script src="assets/iframe-worker.js"></script>'
    assert (
        pages.on_post_template(html, "404.html", None) == '<script src="/assets/iframe-worker.js"></script>'
    )
    assert "window.Worker" in (pages.ROOT / "scripts" / "site" / "iframe-worker.js").read_text()


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_code_fits_a_window_of_1366_points(page: Path) -> None:
    """No line of code is longer than the site shows beside its menus. Output stays as it was printed, and
    scrolls.
    """
    style = (pages.ROOT / "scripts" / "site" / "site.css").read_text()
    assert f"Code of {WIDTH} characters" in style
    assert "wrap: anywhere" not in style
    assert [
        line
        for block in blocks_of(page.read_text("utf-8"))
        if block.mark != "output" and block.language != "text"
        for line in block.text.splitlines()
        if len(line) > WIDTH
    ] == []


def test_guides_are_in_groups() -> None:
    """The menu has a group for each thing to do, of at most eight pages."""
    groups = re.findall(
        r"^  - ([^:\n]+):\n((?:      - .*\n)+)", (pages.ROOT / "mkdocs.yml").read_text(), re.MULTILINE
    )
    counts = {name: names.count("\n") for name, names in groups}
    assert {"Start", "Lay out", "Read", "Run", "Connect"} <= counts.keys()
    assert max(counts.values()) <= 8


@pytest.mark.parametrize("word", ["GDPR", "metrics", "cron", "Airflow", "Jupyter", "permissions", "systemd"])
def test_the_search_finds(word: str) -> None:
    """A word that people look for is on a page of the docs, apart from signs as the search divides texts."""
    separator = re.search(r"separator: '(.+)' #", (pages.ROOT / "mkdocs.yml").read_text())
    assert separator
    assert any(
        word.lower() in re.split(separator[1], page.read_text("utf-8").lower()) for page in DOCS.glob("*.md")
    )


def test_a_phone_has_a_picture_of_its_own() -> None:
    """The README shows the narrow chart in narrow windows, and docs/images has both charts."""
    names = re.findall(r'(?:src|srcset)="docs/(images/[^"]+)"', (pages.ROOT / "README.md").read_text("utf-8"))
    assert names == ["images/demo-narrow.svg", "images/demo.svg"]
    for name in names:
        assert (DOCS / name).read_text("utf-8").startswith("<svg")
