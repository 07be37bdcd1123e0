"""Sections of files of statements become tests with markers and cases, and unknown words are errors."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tests.support.statements.collecting import make_test
from tests.support.statements.records import FormError, read

RECORD = "statement ok\nSELECT 1\n"


def sections(folder: Path, text: str) -> list[object]:
    path = folder / "file.test"
    path.write_text(text)
    return [make_test(section) for section in read(path)]


def test_markers_and_cases(tmp_path: Path) -> None:
    """Features, series and tags are markers; the loops around a section are its parameters."""
    head = "require views\nrequire spark >= 4.1\ntags core unaudited\n\n"
    loops = "foreach format parquet orc\n\nforeach x | y\n  1 | 2\n  3 | 4\n\n"
    (test,) = sections(tmp_path, f"{head}{loops}subtest one\n# It works.\n\n{RECORD}\nendloop\n\nendloop\n")
    assert (test.__name__, test.__doc__) == ("one", "It works.")
    assert [*inspect.signature(test).parameters] == ["request", "spark", "db", "format", "x", "y"]
    marks = [(mark.name, mark.args) for mark in test.pytestmark]
    assert marks[:2] == [("needs", ("views",)), ("since", ("4.1", "the file says why"))]
    assert [name for name, _ in marks[2:]] == ["core", "unaudited", "parametrize", "parametrize"]
    assert [args for _, args in marks[4:]] == [
        ("format", ["parquet", "orc"]),
        ("x,y", (("1", "2"), ("3", "4"))),
    ]


@pytest.mark.every_case
@pytest.mark.parametrize("words", ["require viewz", "require spark > 4.1", "tags corre"])
def test_unknown_words(tmp_path: Path, words: str) -> None:
    """A misspelt feature, series or tag is an error that names the file."""
    with pytest.raises(FormError, match=rf"file\.test:1: .*{words.split()[1]}"):
        sections(tmp_path, f"{words}\n\n{RECORD}")
