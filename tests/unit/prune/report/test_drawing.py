"""How a report is drawn, and how sizes are written; its text and its dict are in tests/golden/reports."""

import html.parser
import re

import pytest

from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import IneffectiveCondition, ScanReport, Step
from parquetry.texts import size_text

HASH = IneffectiveCondition("hash(v) = 3", "function on the column")
SCAN = ScanReport(
    "lake.db.t",
    (
        Step(
            "partitions",
            2,
            1823,
            ("p IN (1, 2)",),
            (HASH, IneffectiveCondition("v > 5", "column v is not a partition column")),
        ),
        Step("files", 3, 4, ("v > 5",), (HASH,)),
        Step("bytes", 1_200_000, 3_400_000, ("a", "b")),
    ),
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_250, "1.2 kB"),
        (99_949, "99.9 kB"),
        (99_951, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (8_100_000_000, "8.1 GB"),
        (5 * 10**21, "5000 EB"),
    ],
)
def test_sizes_are_human(number, text):
    """Three digits at most and decimal units, rounded up into the next unit where they fill one."""
    assert size_text(number) == text


class Elements(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text, self.styles = [], [], "", []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        self.styles.append(dict(attrs).get("style") or "")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(report):
    elements = Elements()
    elements.feed(report._repr_html_())
    elements.close()
    assert not elements.open
    return elements


def test_html_is_escaped_whole_and_needs_nothing_from_elsewhere():
    """A table's name or a condition cannot add markup, and the page's colours are used."""
    evil = "<script>alert('&')</script>"
    scan = ScanReport(evil, (Step("files", 1, 2, (evil,), (IneffectiveCondition(evil + "x", evil),)),))
    elements = parsed(Report((scan,)))
    assert "script" not in elements.tags
    assert elements.text.count(evil) == 4
    markup = Report((SCAN,))._repr_html_()
    assert not any(word in markup for word in ("http", "url(", "<link", "@import", "rgb", "#"))
    assert set(re.findall(r"(?:color|background):(\w+)", markup)) == {"inherit", "none"}
    assert set(re.findall(r'(?:fill|stroke)="(\w+)"', markup)) == {"none", "currentColor"}
    assert 'style="' not in Report((SCAN,)).to_html(styled=False), "a page may forbid styles"


def bars(report):
    """Return the per cents that bars say, and their widths as part of a full bar."""
    said = re.findall(r'aria-label="([\d.]+) % kept"', report._repr_html_())
    widths = re.findall(r'<rect x="1" y="1" width="([\d.]+)"', report._repr_html_())
    return [
        (float(percent), round(float(width) / 1.18, 1)) for percent, width in zip(said, widths, strict=True)
    ]


def test_html_draws_shares_as_bars():
    """A bar is as wide as the share that is kept; where there was nothing to keep it is empty."""
    assert bars(Report((SCAN,))) == [(0.1, 1.0), (75.0, 75.0), (35.3, 35.3)]
    nothing = ScanReport("t", (Step("partitions", 0, 10), Step("files", 0, 0)))
    assert bars(Report((nothing,))) == [(0.0, 0.0), (0.0, 0.0)]
    assert "2 of 1,823" in parsed(Report((SCAN,))).text


def test_steps_are_found_by_name():
    """A step that the scan does not have is None."""
    assert SCAN.step("files").kept == 3
    assert SCAN.step("buckets") is None


def test_bytes_are_of_the_whole_table():
    """The text also has the size of the selected files with all columns.

    HTML's bar compares with the whole table.
    """
    scan = ScanReport("t", (Step("bytes", 2_100, 84_000, ("amount",), whole=8_700),))
    assert str(Report((scan,))) == "t: 2.1 kB of 84 kB (column amount; these files have 8.7 kB)"
    assert bars(Report((scan,))) == [(2.5, 2.5)]
    nothing = ScanReport("t", (Step("bytes", 0, 84_000, whole=8_700),))
    assert str(Report((nothing,))) == "t: 0 B of 84 kB (no column; these files have 8.7 kB)"
    assert Report.from_dict(Report((scan,)).to_dict()) == Report((scan,))
