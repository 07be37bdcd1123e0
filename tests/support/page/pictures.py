"""The pictures of the page in the documentation: `python -m tests.support.page.pictures` takes them anew.

They are of the warehouse of `make_lake`, whose versions are spread over months.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from parquetry.metastore.storage import clock
from parquetry.serving import OpenedMetastore
from parquetry.ui.answers import Answers
from parquetry.ui.application import PageApplication
from tests.support.page.browser import Browser, running_browser
from tests.support.page.lakes import make_lake
from tests.support.page.reports import save_reports
from tests.support.page.served import served

IMAGES = Path(__file__).parents[3] / "docs" / "images"
CONDITION = "day >= '2026-04-01' AND region = 'eu' AND id > 440000"
_MONTHS_MS = 150 * 86_400_000
_TABLE = "document.querySelector('.plan') && document.querySelector('#partitions table') && document.querySelector('#partitions svg')"
_SHOTS = {
    "ui-tables": ("#/", 1180, 700, False, "document.querySelector('.needs') && !document.body.innerText.includes('Looking')"),
    "ui-table": (f"#/t/shop.orders?where={CONDITION}", 1180, 1130, False, _TABLE),
    "ui-table-dark": (f"#/t/shop.orders?where={CONDITION}", 1180, 1130, True, _TABLE),
    "ui-report": ("#/reports/star.json", 1180, 840, False, "document.querySelector('.parquetry-graph svg')"),
}  # fmt: skip
"""Name of the picture: place of the page, width, height, whether it is dark, and what it waits for."""


def take_pictures(folder: Path) -> None:
    """Take all pictures into a folder."""
    with tempfile.TemporaryDirectory() as made:
        warehouse = Path(made, "lake")
        with patch.object(clock, "now_ms", _spread(clock.now_ms)):
            metastore = make_lake(warehouse)
        reports = Path(made, "reports")
        reports.mkdir()
        application = PageApplication(Answers(OpenedMetastore(metastore), reports=save_reports(reports)))
        with served(application) as address, running_browser() as browser:
            for name in _SHOTS:
                (folder / f"{name}.png").write_bytes(_picture(browser, address, name))
        metastore.close()


def _picture(browser: Browser, address: str, name: str) -> bytes:
    place, width, height, dark, ready = _SHOTS[name]
    browser.resize(width, height, dark=dark)
    browser.open(f"{address}/{place}")
    browser.until(ready)
    browser.evaluate("document.getElementById('warehouse').textContent = '/data/lake'")
    return browser.picture()


def _spread(now: Callable[[], int]) -> Callable[[], int]:
    """Return a clock that goes from months ago to now, faster than time does, and ever slower."""
    left = float(_MONTHS_MS)

    def spread() -> int:
        nonlocal left
        left *= 0.93
        return now() - int(left)

    return spread


if __name__ == "__main__":
    take_pictures(IMAGES)
