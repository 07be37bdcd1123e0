"""Delta's own library on Spark, without our jar, reads the published logs of tables, and writes to none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.errors import UnsupportedError
from parquetry.metastore import Transaction, commit
from parquetry.publishing import publish_delta
from tests.support.effort import alternating
from tests.support.other_sparks.session import OtherSpark, OtherSparkError, delta_on_spark
from tests.support.readers.cases import CASES, NAMES_ALONE
from tests.support.readers.python_tables import PythonLake
from tests.support.readers.values import comparable

PUBLISHED = 17
"""The cases that are published."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherSpark]:
    """A session of Spark with Delta."""
    with delta_on_spark(tmp_path_factory.mktemp("other")) as running:
        yield running


def test_each_published_table_is_read(session: OtherSpark, tmp_path: Path) -> None:
    """It reads the rows that our Spark reads, also under a filter; a sample filters half of the tables."""
    wrong, published = {}, 0
    filtered = alternating([name for name, case in CASES.items() if case.filter is not None], second=False)
    for number, (name, case) in enumerate(CASES.items()):
        lake = PythonLake(tmp_path / str(number))
        case.make(lake)
        try:
            publish_delta(lake.table("t"))
        except UnsupportedError:
            continue
        published += 1
        table = f"delta.`{lake.folder / 'default.db' / 't'}`"
        given = comparable(session.rows(f"SELECT * FROM {table}").to_pylist())
        if given != comparable(case.rows or NAMES_ALONE[name]):
            wrong[name] = str(given)
        if name in filtered and case.filter is not None:
            where, numbers = case.filter
            rows = session.rows(f"SELECT * FROM {table} WHERE {where}").to_pylist()
            if comparable(rows) != comparable([case.rows[n] for n in numbers]):
                wrong[f"{name} {where}"] = str(rows)
    assert wrong == {}
    assert published == PUBLISHED


def test_versions_are_read_and_nothing_is_written(session: OtherSpark, tmp_path: Path) -> None:
    """A commit of the log is a version of the table. An INSERT is refused, and the log stays as it was."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"p": "integer", "a": "long"}, ["p"])
    lake.write("t", "p=1/f.parquet", [{"a": 1}])
    lake.write("t", "p=2/f.parquet", [{"a": 2}, {"a": 3}])
    transaction = Transaction(lake.table("t"), "drop")
    transaction.drop((1,))
    commit(transaction)
    publish_delta(lake.table("t"))
    table = f"delta.`{lake.folder / 'default.db' / 't'}`"
    counts = [session.rows(f"SELECT * FROM {table} VERSION AS OF {n}").num_rows for n in range(4)]
    assert counts == [0, 1, 3, 2]
    with pytest.raises(OtherSparkError, match="parquetry-readonly"):
        session.rows(f"INSERT INTO {table} VALUES (3, 4)")
    assert session.rows(f"SELECT * FROM {table}").num_rows == 2
    log = lake.folder / "default.db" / "t" / "_delta_log"
    assert sorted(path.name for path in log.glob("*.json")) == [f"{number:020d}.json" for number in range(4)]
