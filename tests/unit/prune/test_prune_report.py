"""What a report says, in which words, and that it travels."""

import html.parser
import json
import re

import pytest

from parquetry.prune.render_text import size_text
from parquetry.prune.report import Report
from parquetry.prune.scan_report import NotBy, ScanReport, Step

HASH = NotBy("hash(v) = 3", "function on the column")
SCAN = ScanReport(
    "lake.db.t",
    (
        Step(
            "partitions",
            2,
            1823,
            ("p IN (1, 2)",),
            (HASH, NotBy("v > 5", "column v is not a partition column")),
        ),
        Step("files", 3, 4, ("v > 5",), (HASH,)),
        Step("bytes", 1_200_000, 3_400_000, ("a", "b")),
    ),
)


def test_the_text_has_a_line_per_scan_and_per_condition_that_never_served():
    assert str(Report((SCAN, ScanReport("lake.db.u", (Step("files", 7, 7), Step("bytes", 10, 10)))))) == (
        "lake.db.t: partitions 2 of 1,823 (p IN (1, 2)) · files 3 of 4 (v > 5)"
        " · 1.2 MB of 3.4 MB (columns a, b)\n"
        "  not by hash(v) = 3: function on the column\n"
        "lake.db.u: files 7 of 7 · 10 B of 10 B"
    )
    assert str(Report(())) == "no scans"


def test_conditions_are_joined_so_that_they_read_as_one():
    scan = ScanReport("t", (Step("files", 1, 2, ("a = 1 OR b = 2", "c = 3")), Step("bytes", 1, 2, ("a",))))
    assert str(Report((scan,))) == "t: files 1 of 2 ((a = 1 OR b = 2) AND c = 3) · 1 B of 2 B (column a)"


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
    assert size_text(number) == text


def test_the_dict_is_exactly_this_and_comes_back():
    plain = Report((SCAN,)).to_dict()
    assert plain == {
        "scans": [
            {
                "table": "lake.db.t",
                "steps": [
                    {
                        "name": "partitions",
                        "kept": 2,
                        "of": 1823,
                        "by": ["p IN (1, 2)"],
                        "not_by": [
                            {"condition": "hash(v) = 3", "reason": "function on the column"},
                            {"condition": "v > 5", "reason": "column v is not a partition column"},
                        ],
                    },
                    {
                        "name": "files",
                        "kept": 3,
                        "of": 4,
                        "by": ["v > 5"],
                        "not_by": [{"condition": "hash(v) = 3", "reason": "function on the column"}],
                    },
                    {"name": "bytes", "kept": 1_200_000, "of": 3_400_000, "by": ["a", "b"], "not_by": []},
                ],
            }
        ]
    }
    assert Report.from_dict(json.loads(json.dumps(plain))) == Report((SCAN,))


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
    evil = "<script>alert('&')</script>"
    scan = ScanReport(evil, (Step("files", 1, 2, (evil,), (NotBy(evil + "x", evil),)),))
    elements = parsed(Report((scan,)))
    assert "script" not in elements.tags
    assert elements.text.count(evil) == 4
    markup = Report((SCAN,))._repr_html_()
    assert not any(word in markup for word in ("http", "url(", "<link", "@import", "rgb", "#"))
    assert set(re.findall(r"(?:color|background):(\w+)", markup)) == {"inherit", "none", "currentColor"}


def test_html_draws_shares_as_bars():
    styles = [style for style in parsed(Report((SCAN,))).styles if "width:" in style and "%" in style]
    assert [style.rpartition("width:")[2] for style in styles] == ["1.0%", "75.0%", "35.3%"]
    nothing = ScanReport("t", (Step("partitions", 0, 10), Step("files", 0, 0)))
    styles = [style for style in parsed(Report((nothing,))).styles if "width:" in style and "%" in style]
    assert [style.rpartition("width:")[2] for style in styles] == ["0.0%", "0.0%"]
    assert "2 of 1,823" in parsed(Report((SCAN,))).text


def test_steps_are_found_by_name():
    assert SCAN.step("files").kept == 3
    assert SCAN.step("buckets") is None
