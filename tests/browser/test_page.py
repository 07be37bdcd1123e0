"""The page in a real browser: its parts, the keyboard, screen readers, small screens, and odd names."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest

from parquetry.catalog import Catalog
from parquetry.metastore import Metastore
from parquetry.serving import OpenedMetastore
from parquetry.ui.answers import Answers
from parquetry.ui.application import PageApplication
from parquetry.ui.recorded import LayoutAdvice, Sources
from parquetry.workload import QueryCondition, QueryRecord, ReadCount, TableRead
from tests.support.page.browser import Browser
from tests.support.page.lakes import ODD_TABLE
from tests.support.page.served import served

ORDERS = "#/t/shop.orders"
LOOKED = "document.querySelector('.needs') && !document.body.innerText.includes('Looking')"
READY = "document.querySelector('#partitions svg') && document.querySelector('#versions table') && document.querySelector('.plan')"


def show(browser: Browser, address: str, place: str, ready: str) -> None:
    """Open a view, and wait until a script is true."""
    browser.open(f"{address}/{place}")
    browser.until(ready)


def test_tables_and_what_they_need(browser: Browser, address: str, metastore: Metastore) -> None:
    """All tables are listed with their numbers, and what needs attention has the words of `status`."""
    show(browser, address, "", LOOKED)
    text = browser.text()
    catalog = Catalog(metastore)
    for name in catalog.tables():
        table = catalog.table(name)
        assert name.partition(".")[2] in text
        assert f"{table.rows:,}" in text if table.rows is not None else "?" in text
    for need in catalog.status():
        assert need.detail in text
        assert need.statement in text
    browser.press("/")
    browser.type("visit")
    browser.until("document.querySelectorAll('#tables tbody tr:not(.group)').length === 1")
    assert browser.problems == []


def test_a_table_has_all_its_parts(browser: Browser, address: str) -> None:
    """The map has a column for each partition, the time line a bar for each version, and nothing fails."""
    show(browser, address, ORDERS, READY)
    assert browser.evaluate("document.querySelectorAll('#partitions svg .bar').length") == 80
    assert browser.evaluate("document.querySelectorAll('#versions svg g').length") == 7
    assert "DELETE FROM lake.shop.orders" in browser.text("#versions")
    assert "(hidden)" in browser.text("#definition")
    assert "hunter2" not in browser.evaluate("document.documentElement.outerHTML")
    assert "pruning-history" in browser.text("#queries")
    browser.evaluate(
        "[...document.querySelectorAll('#partitions button')].find(b => b.innerText === 'More partitions').click()"
    )
    browser.until("document.querySelectorAll('#partitions tbody tr').length === 80")
    assert browser.problems == []


def test_a_condition_is_planned_while_it_is_typed(browser: Browser, address: str) -> None:
    """Each pause plans the text: ranges, keys, the funnel, or an error with its position."""
    show(browser, address, ORDERS, READY)
    browser.press("/")
    browser.type("day = '2026-01-03' AND region")
    browser.until("document.querySelector('#filter .error')")
    assert browser.evaluate("document.querySelector('#where').getAttribute('aria-invalid')") == "true"
    browser.type(" = 'eu'")
    browser.until("document.querySelector('.ranges')?.innerText.includes('get day')")
    text = browser.text("#filter")
    assert "get day = 2026-01-03, region = 'eu'" in text
    assert "1 partition found, 1 key examined" in text
    assert "1 of 80" in text
    browser.until("document.querySelector('#said').innerText.includes('partitions 1 of 80')")
    kept = browser.evaluate("location.hash")
    show(browser, address, kept, READY)
    assert (
        browser.evaluate("document.querySelector('#where').value") == "day = '2026-01-03' AND region = 'eu'"
    )
    browser.until("document.querySelector('.ranges')?.innerText.includes('get day')")


def test_a_newer_text_is_planned_after_a_slow_answer(browser: Browser, address: str) -> None:
    """One plan is under way at a time, and the last text has the last word."""
    show(browser, address, ORDERS, READY)
    browser.evaluate(
        "(() => { const ask = window.fetch; window.open_ = 0; window.most = 0; window.fetch = async (...given) => {"
        "window.most = Math.max(window.most, ++window.open_); await new Promise(done => setTimeout(done, 150));"
        "try { return await ask(...given) } finally { window.open_-- } } })()"
    )
    browser.press("/")
    for part in ("region ", "= ", "'eu'", " AND id < 9"):
        browser.type(part)
        time.sleep(0.3)
    browser.until("document.querySelector('#filter .parquetry-funnel')?.innerText.includes('id < 9')")
    assert browser.evaluate("window.most") == 1


def test_names_and_values_are_never_markup(browser: Browser, address: str) -> None:
    """A table, a column, values, a comment, a user and a statement that look like markup are texts."""
    browser.call("Page.enable")
    show(browser, address, f"#/t/{'web.' + ODD_TABLE}".replace("<", "%3C").replace(">", "%3E"), READY)
    text = browser.text()
    for odd in (
        ODD_TABLE,
        "<b>p</b>",
        "<i>a</i>",
        "<u>eve</u>",
        "<img src=x onerror=alert(1)>",
        "<script>alert(2)</script>",
    ):
        assert odd in text
    assert (
        browser.evaluate(
            "document.querySelectorAll('main b:not(.needs b), main i, main u, main img, main script').length"
        )
        == 0
    )
    browser.press("/")
    browser.type("`<b>p</b>` = '<img src=y onerror=alert(3)>'")
    browser.until("document.querySelector('.ranges')?.innerText.includes('onerror=alert(3)')")
    show(browser, address, "#/reports/odd.json", "document.querySelector('.drawn .parquetry-funnel')")
    assert "<img src=x onerror=alert(1)>" in browser.text(".drawn")
    show(browser, address, "", LOOKED)
    assert browser.evaluate("document.querySelectorAll('img, main script').length") == 0
    assert browser.problems == []


def test_scripts_of_the_page_itself_cannot_run(browser: Browser, address: str) -> None:
    """Even markup that got into the page would run nothing: the browser keeps to the policy."""
    show(browser, address, ORDERS, READY)
    browser.evaluate("(() => { const odd = document.createElement('div'); odd.innerHTML = '<img src=x onerror=\"window.ran = 1\">';"
                     "const code = document.createElement('script'); code.textContent = 'window.ran = 2'; document.body.append(odd, code) })()")  # fmt: skip
    browser.until("true")
    time.sleep(0.2)
    assert browser.evaluate("window.ran ?? 0") == 0
    assert any("Content Security Policy" in problem for problem in browser.problems)


def test_a_report_is_a_funnel_and_a_graph(browser: Browser, address: str) -> None:
    """A saved report shows each scan's steps with reasons, and an arrow from each table that gave values."""
    show(browser, address, "#/reports", "document.querySelector('main table')")
    browser.evaluate(
        "[...document.querySelectorAll('main table a')].find(a => a.innerText === 'star.json').click()"
    )
    browser.until("document.querySelector('.parquetry-graph svg')")
    text = browser.text("main")
    assert "run-time values day_id IN (…)" in text
    assert "31 of 1,823" in text
    assert browser.evaluate("document.querySelectorAll('.parquetry-edge-pruned').length") == 2
    assert browser.evaluate("document.querySelectorAll('.parquetry-edge-refused').length") == 1
    assert browser.problems == []


@pytest.mark.parametrize("place", ["", ORDERS, "#/reports/star.json", "#/queries"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_telephone_scrolls_down_alone(browser: Browser, address: str, place: str, dark: bool) -> None:
    """At 360 pixels no view is wider than the screen, and each text has the contrast of WCAG AA (4.5)."""
    browser.resize(360, 740, dark=dark)
    ready = {"": LOOKED, ORDERS: READY}.get(
        place,
        "document.querySelector('main h1') && !document.querySelector('main').innerText.includes('…\\n')",
    )
    show(browser, address, place, ready)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    assert browser.evaluate(_CONTRAST) == []


_CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const light = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
    return 'white';
  };
  const poor = [];
  for (const element of document.querySelectorAll('body *')) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (!element.getClientRects().length || element.closest('.visually-hidden, thead')) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(element.closest('svg') ? style.fill : style.color), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push(`${element.tagName} ${element.className.baseVal ?? element.className} ${element.textContent.slice(0, 40)} ${ratio.toFixed(1)}`);
  }
  return poor;
})()
"""


def test_the_keyboard_reaches_everything(browser: Browser, address: str) -> None:
    """Tab goes through links, sections, field, slider and buttons in the order of the page, each visibly."""
    show(browser, address, ORDERS, READY)
    browser.evaluate("document.body.focus()")
    seen, invisible = [], []
    for _ in range(60):
        browser.press("Tab")
        name = browser.evaluate(
            "(() => { const at = document.activeElement; return at === document.body ? null :"
            " [at.tagName, at.type ?? '', at.id || at.innerText || at.getAttribute('aria-label')].join(' ') })()"
        )
        if name is None:
            break
        seen.append(name)
        if browser.evaluate(
            "getComputedStyle(document.activeElement).outlineStyle === 'none' && !document.activeElement.matches('.skip')"
        ):
            invisible.append(name)
    assert invisible == []
    assert seen[0].startswith("A  Skip to the content")
    order = [next(number for number, name in enumerate(seen) if part in name)
             for part in ("Parquetry", "Tables", "Needs attention", "text where", "range", "More partitions")]  # fmt: skip
    assert order == sorted(order)


def test_the_map_is_read_cell_by_cell(browser: Browser, address: str) -> None:
    """Arrow keys move from cell to cell, each has its words, and Enter lists partitions from there."""
    show(browser, address, ORDERS, READY)
    browser.evaluate("document.querySelector('#partitions input[type=range]').focus()")
    browser.press("Home")
    words = "document.querySelector('#partitions input[type=range]').getAttribute('aria-valuetext')"
    first = browser.evaluate(words)
    assert first.startswith("day=2026-01-01/region=ap to day=2026-01-01/region=ap: 4")
    browser.press("ArrowRight")
    assert browser.evaluate(words).startswith("day=2026-01-01/region=eu")
    browser.press("Enter")
    browser.until("document.querySelector('#partitions tbody tr').innerText.startsWith('2026-01-01\\teu')")


def test_a_screen_reader_finds_its_way(browser: Browser, address: str) -> None:
    """It finds landmarks, headings, tables with heads, pictures with texts, and names for all fields."""
    show(browser, address, ORDERS, READY)
    parts = browser.accessible_once("What is read")
    assert (
        browser.evaluate(
            "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))"
        )
        == 0
    )
    roles = [role for role, _ in parts]
    for role in (
        "banner",
        "main",
        "navigation",
        "region",
        "table",
        "columnheader",
        "rowheader",
        "slider",
        "textbox",
        "status",
    ):
        assert role in roles, role
    headings = {name for role, name in parts if role == "heading"}
    assert {
        "shop.orders",
        "Needs attention",
        "Plan a condition",
        "Key ranges",
        "Versions",
        "Advice",
    } <= headings
    levels = browser.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map(each => Number(each.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(later - level <= 1 for level, later in pairwise(levels)), "none is passed over"
    pictures = [name for role, name in parts if role in ("image", "img")]
    assert any(
        "80 partitions in the order of their keys, from day=2026-01-01/region=ap" in name for name in pictures
    )
    assert any(name.startswith("Rows added and removed by versions 0 to 6") for name in pictures)
    nameless = [
        (role, name)
        for role, name in parts
        if role in ("textbox", "slider", "button", "link", "table", "region", "img", "image") and not name
    ]
    assert nameless == []


def test_recorded_queries_and_advice_are_shown(browser: Browser, metastore: Metastore) -> None:
    """With a history, a table has its queries, and the adviser is asked when the button is pressed."""
    read = TableRead(
        "shop.orders",
        3,
        (QueryCondition("id = <b>?</b>", ("id",)),),
        files=ReadCount(3, 691),
        not_more=("<i>x</i>",),
    )
    calls: list[str] = []

    def advise(_: Metastore, table: str) -> list[LayoutAdvice]:
        calls.append(table)
        return [
            LayoutAdvice(
                "sort by id", "advised", 9_000_000, 1_000_000, 50_000, 451_000_000, 57, "ALTER TABLE …"
            )
        ]

    sources = Sources(lambda *_: [QueryRecord((read,), time=1_790_000_000_000, seconds=0.25)], advise)
    with served(PageApplication(Answers(OpenedMetastore(metastore), sources))) as address:
        show(
            browser,
            address,
            ORDERS,
            "document.querySelector('#queries table') && document.querySelector('#advice button')",
        )
        text = browser.text("#queries")
        assert "id = <b>?</b>" in text
        assert "3 of 691" in text
        assert "<i>x</i>" in text
        assert calls == []
        browser.evaluate("document.querySelector('#advice button').click()")
        browser.until("document.querySelector('#advice table')")
        assert "57 queries" in browser.text("#advice")
        assert calls == ["shop.orders"]
        show(browser, address, "#/queries", "document.querySelector('main table')")
        assert "shop.orders" in browser.text("main table")
    assert browser.problems == []


def test_a_token_is_asked_for_and_kept_in_the_tab(
    browser: Browser, metastore: Metastore, reports: Path
) -> None:
    """The page asks for the token, or takes it from behind #token=, and never has it in the address."""
    with served(
        PageApplication(Answers(OpenedMetastore(metastore), reports=reports), "s3cret word")
    ) as address:
        show(browser, address, "", "document.querySelector('#token')")
        browser.type("wrong")
        browser.press("Enter", "\r")
        browser.until("document.querySelector('#token') && !document.querySelector('#token').value")
        browser.type("s3cret word")
        browser.press("Enter", "\r")
        browser.until(LOOKED)
        browser.evaluate("sessionStorage.clear()")
        show(browser, address, "#token=s3cret%20word", LOOKED)
        assert browser.evaluate("location.href") == f"{address}/#/"


def test_a_server_that_has_ended_is_named(browser: Browser, metastore: Metastore) -> None:
    """When the server is gone, the page says so."""
    with served(PageApplication(Answers(OpenedMetastore(metastore)))) as address:
        show(browser, address, "", LOOKED)
    browser.evaluate(f"location.hash = {json.dumps(ORDERS)}")
    browser.until("document.querySelector('.error')?.innerText.includes('does not answer')")
