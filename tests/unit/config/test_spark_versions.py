"""Each feature that a series of Spark lacks has a test that shows what happens without it, and no test names
an unknown feature.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from parquetry.config import PREVIEW, SPARK_SERIES, series_of
from tests.support.join_tables import reading as join_tables
from tests.support.statements.records import label_of, read

_TESTS = Path(__file__).parents[2]
KNOWN = {missing.feature for lacking in SPARK_SERIES.values() for missing in lacking}


def named(function: str) -> dict[str, set[str]]:
    """Return the features that calls of a function name in tests, each with the modules that name it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(_TESTS.rglob("*.py")):
        text = path.read_text()
        if f"{function}(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Attribute(attr="mark") | ast.Name(id="series"), attr=name),
                    args=[ast.Constant(value=str(feature)), *_],
                ) if name == function:
                    found[feature].add(path.relative_to(_TESTS).as_posix())
    return found


def required_by_files() -> set[str]:
    """Return the features that files of statements and table files require, in lines or in conditions."""
    sections = [section for path in _TESTS.rglob("*.test") for section in read(path)]
    labels = {label for section in sections for record in section.records for _, label in record.conditions}
    joins = [section for path in _TESTS.rglob("*.table") for section in join_tables.read(path).sections]
    required = [words for section in (*sections, *joins) for words in section.requires]
    features = {words for words in required if not words.startswith("spark ")}
    return features | {feature for feature in KNOWN if label_of(feature) in labels}


def test_each_feature_is_shown_where_it_is_lacking() -> None:
    """A test with the marker `lacks` runs on each series that lacks a feature, and on no other: also with
    `make test-core`.
    """
    lacks = named("lacks")
    assert set(lacks) == KNOWN
    for module in set().union(*lacks.values()):
        assert "pytestmark = pytest.mark.core\n" in (_TESTS / module).read_text(), module


def test_each_feature_is_shown_where_it_is_there() -> None:
    """A test with the marker `needs`, or one that asks `series.has`, runs where a series has a feature. None
    names an unknown feature, which would never leave out a test. So it is in files of statements.
    """
    assert set(named("needs")) | set(named("has")) | required_by_files() == KNOWN


def test_the_newest_series_lacks_nothing() -> None:
    """A series lacks what each newer one lacks, and the words for it are a sentence's part and a reason."""
    newest, *older = SPARK_SERIES.values()
    assert newest == ()
    features = [{missing.feature for missing in lacking} for lacking in older]
    for newer, old, lacking in zip(features, features[1:], older[1:], strict=False):
        assert newer < old
        assert len(old) == len(lacking)
    for missing in (each for lacking in older for each in lacking):
        assert missing.words == f"{missing.text}: {missing.reason}"
        assert not missing.words.endswith(".")


def test_a_preview_is_taken_for_a_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make preview` names a version that is of no series yet, and the series whose sources it gets."""
    newest = next(iter(SPARK_SERIES))
    assert series_of("99.1.0.dev2") is None
    monkeypatch.setenv(PREVIEW, f"99.1.0.dev2={newest}")
    assert series_of("99.1.0.dev2") == newest
    assert series_of("99.1.0") == newest  # Spark's own name of it
    assert series_of("99.1.1") is None
    monkeypatch.setenv(PREVIEW, "99.1.0.dev2=1.0")
    assert series_of("99.1.0.dev2") is None
