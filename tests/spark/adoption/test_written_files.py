"""No recorded statistic of a Parquet file contradicts its values, for any writer."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow
import pytest

from parquetry.data_files import FileRecord, Trust
from parquetry.data_files.footers.footer_reader import ArrowFooters
from tests.support import written_files
from tests.support.files_beside import ArrowReads, compare_folder, files_in, recorded

ODD_FILES = Path(__file__).parents[2] / "fixtures" / "odd-files"


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, FileRecord]]:
    folder = tmp_path_factory.mktemp("written")
    found = {}
    for path in written_files.parquet_files(folder):
        record = recorded(ArrowFooters(), path, "parquet")
        assert isinstance(record, FileRecord)
        found[path.stem] = path, record
    return found


def test_records_agree_with_the_values(records: dict[str, tuple[Path, FileRecord]]) -> None:
    """Rows, NULLs, bounds and what is called exact: of each writer, for each type."""
    with ArrowReads() as arrow:
        for path, record in records.values():
            assert arrow.differences(path, "parquet", record) == [], path.name


@pytest.mark.parametrize(
    ("writer", "trust"),
    [
        ("arrow", Trust.EXACT),
        ("arrow-rs", Trust.EXACT),
        ("duckdb", Trust.EXACT),
        ("polars", Trust.BOUNDS),
        ("old-cpp", Trust.BOUNDS),
    ],
)
def test_known_writers_are_believed(
    writer: str, trust: Trust, records: dict[str, tuple[Path, FileRecord]]
) -> None:
    """A number has bounds, and is exact only if the writer is known to be."""
    found = (records[writer][1].columns or {})["all_there"]
    assert (found.min, found.max, found.nulls, found.trust) == (1, 4, 0, trust)
    assert found.min_exact == (trust == Trust.EXACT)


def test_unknown_writers_are_not_believed(records: dict[str, tuple[Path, FileRecord]]) -> None:
    """For an unknown writer, a record has only sizes and the number of rows."""
    record = records["unknown"][1]
    assert record.rows == 4
    for found in (record.columns or {}).values():
        assert (found.min, found.max, found.nulls) == (None, None, None)
        assert found.size


def test_texts_that_may_be_shortened_are_not_exact(records: dict[str, tuple[Path, FileRecord]]) -> None:
    """Polars shortens them without a word, arrow-rs says so in the file, and DuckDB leaves them whole."""
    exact = {name: (record.columns or {})["long_text"].min_exact for name, (_, record) in records.items()}
    assert not exact["polars"]
    assert not exact["arrow-rs"]
    words = {name: (record.columns or {})["word"].min_exact for name, (_, record) in records.items()}
    assert (words["polars"], words["arrow-rs"], words["arrow"], words["duckdb"]) == (False, True, True, True)


def test_old_decimals_in_bytes_have_no_bounds(records: dict[str, tuple[Path, FileRecord]]) -> None:
    """parquet-cpp of before Arrow compared them as signed bytes; integers it compared rightly."""
    columns = records["old-cpp"][1].columns or {}
    assert (columns["long_decimal"].min, columns["word"].min) == (None, None)
    assert columns["whole"].min == -(2**31)


def test_files_of_other_projects_agree_with_their_values() -> None:
    """Statistics agree with the values in the Parquet files of the fixtures and of PyArrow."""
    shipped = Path(pyarrow.__file__).parent / "tests" / "data" / "parquet"
    for folder in (ODD_FILES, shipped):
        assert [found for found in compare_folder(folder, with_spark=False) if found[1]] == []


def test_the_comparison_finds_what_is_wrong(tmp_path: Path) -> None:
    """A record of another file differs in rows, NULLs and bounds."""
    (path, *_) = written_files.parquet_files(tmp_path)
    record = recorded(ArrowFooters(), path, "parquet")
    assert isinstance(record, FileRecord)
    columns = dict(record.columns or {})
    columns["all_there"] = msgspec.structs.replace(columns["all_there"], min=2, nulls=4)
    wrong = msgspec.structs.replace(record, rows=5, columns=columns)
    with ArrowReads() as arrow:
        found = arrow.differences(path, "parquet", wrong)
    assert "all_there: minimum 2 recorded, 1 read" in found
    assert "all_there: 4 NULLs recorded, 0 read" in found
    assert "all_there: 5 rows recorded, 4 read" in found
    assert files_in(tmp_path)
