"""All files of statements are read, and printed so that runners without loops and variables of sections read
them.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from parquetry.config import SPARK_SERIES
from tests.support.statements.__main__ import plain
from tests.support.statements.records import label_of, read

LABELS = {
    "spark",
    *(f"spark-{series}" for series in SPARK_SERIES),
    *(label_of(missing.feature) for lacking in SPARK_SERIES.values() for missing in lacking),
}
FILES = sorted((Path(__file__).parents[3] / "spark").rglob("*.test"))


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_each_file(path: Path, tmp_path: Path) -> None:
    """Each section has a claim and labels that exist; the printed file has its records, turn by turn."""
    sections = read(path)
    assert all(section.claim for section in sections)
    conditions = {
        label for section in sections for record in section.records for _, label in record.conditions
    }
    assert conditions <= LABELS
    lines = [line for section in sections for line in plain(section)]
    (tmp_path / "plain.test").write_text("\n".join(lines), encoding="utf-8")
    (printed,) = read(tmp_path / "plain.test")
    turns = [
        record
        for section in sections
        for record in section.records * math.prod(len(loop.turns) for loop in section.loops)
    ]
    assert [(record.kind, record.types, record.sort, record.label) for record in printed.records] == [
        (record.kind, record.types, record.sort, record.label) for record in turns
    ]
    for mine, given in zip(printed.records, turns, strict=True):
        assert (mine.sql == given.sql) or "${" in given.sql
        assert (mine.expected is None) == (given.expected is None)
