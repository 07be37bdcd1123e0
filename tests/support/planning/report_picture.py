"""docs/images/report.svg: the report that the README's quick start prints.

Its test draws it (`tests/spark/reports/test_readme.py`).
"""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

from rich.console import Console

PICTURE = Path(__file__).parents[3] / "docs" / "images" / "report.svg"


def draw(printed: str) -> str:
    """Return what a quick start printed as an SVG."""
    console = Console(record=True, width=116, file=io.StringIO())
    console.print(">>> query.show()\n>>> print(parquetry.report(query))", highlight=False)
    console.print(printed.rstrip(), highlight=True, markup=False)
    return console.export_svg(title="parquetry.report")


def text(svg: str) -> str:
    """Return what stands in a picture, whichever version of Rich drew it."""
    return "".join(html.unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", svg))
