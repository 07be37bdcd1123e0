"""The reports in tests/golden/reports have the recorded text, and no pruning loses a matching row."""

from __future__ import annotations

import json

from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import opaque_parts
from parquetry.prune.report.report import Report
from parquetry.prune.select import select_files
from tests.support.goldens import GOLDENS, check_golden
from tests.support.planning.report_goldens import ReportExample, read_examples, report_lines, with_answers

FOLDER = GOLDENS / "reports"


def test_selections_are_reported_as_written_and_lose_no_row() -> None:
    """Files, text and dict equal the golden file, and each file that may have a matching row is selected."""
    path = FOLDER / "selections.txt"
    check_golden(path, with_answers(path, {each.line: _selected(each) for each in read_examples(path)}))


def test_dicts_become_the_text_above_them_and_come_out_the_same() -> None:
    """A report is made of each dict of the golden file, by way of JSON."""
    path = FOLDER / "texts.txt"
    answers = {}
    for example in read_examples(path):
        report = example.report()
        assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report
        answers[example.line] = report_lines(report)
    check_golden(path, with_answers(path, answers))


def _selected(example: ReportExample) -> list[str]:
    assert example.table is not None
    conditions = example.conditions()
    selection = select_files(example.table.snapshot(), conditions, example.read())
    names = [file.file.path for file in selection.files]
    asked = [condition.predicate for condition in conditions if not opaque_parts(condition.predicate)]
    for name in example.table.files:
        match = any(all(evaluate(node, row) is True for node in asked) for row in example.table.rows(name))
        assert name in names or not match, f"{example.title}: {name} is not read"
    return [f"= {', '.join(names) or 'no files'}", *report_lines(Report((selection.report,)))]
