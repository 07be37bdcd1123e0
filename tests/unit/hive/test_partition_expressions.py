"""Expressions that Hive's clients wrote select partitions through the served calls."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hive_metastore import ttypes

from tests.support.clients.hive import client, served
from tests.support.hive.expressions.recording import VERSIONS, recorded
from tests.support.readers.python_tables import PythonLake

DAYS = ["1969-12-31", "2023-12-31", "2024-01-01", "2024-02-29", "2024-12-31", None]
SELECTED = {
    "d = date '2024-01-01'": ["2024-01-01"],
    "d between date '2024-01-01' and date '2024-12-31'": ["2024-01-01", "2024-02-29", "2024-12-31"],
    "d not in (date '2024-01-01')": ["1969-12-31", "2023-12-31", "2024-02-29", "2024-12-31"],
}
"""Conditions on days, and the partitions that they select."""
NOT_READ = b"\x00\x01\x02org.apache.hadoop.hive.ql.plan"


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_expressions(tmp_path: Path, version: str) -> None:
    """The bytes of each version of Hive select by keys, and other bytes give all partitions, with a flag."""
    tmp_path.chmod(0o755)
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"d": "date", "a": "long"}, ["d"])
    for day in DAYS:
        lake.put("t", f"d={day or '__HIVE_DEFAULT_PARTITION__'}/f.parquet", pa.table({"a": [1]}))
    lake.sync("t")
    asked = {each.text: each.data for each in recorded() if each.hive == version and each.zone == "UTC"}
    with served(lake.folder) as port, client(port) as hms:
        for text, days in SELECTED.items():
            request = ttypes.PartitionsByExprRequest("default", "t", asked[text], None, -1)
            answer = hms.get_partitions_by_expr(request)
            assert (sorted(each.values[0] for each in answer.partitions), answer.hasUnknownPartitions) == (
                days,
                False,
            )
        request = ttypes.PartitionsByExprRequest("default", "t", NOT_READ, None, -1)
        answer = hms.get_partitions_by_expr(request)
        assert (len(answer.partitions), answer.hasUnknownPartitions) == (len(DAYS), True)


@pytest.mark.parametrize("version", VERSIONS)
def test_texts_compared_with_numbers(tmp_path: Path, version: str) -> None:
    """A text column that is compared with a number selects what Hive does, and all texts that may be one."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"s": "string", "v": "long"}, ["s"])
    for text in ("10", "010", "10.0", "9", "x", "2024-01-01", "__HIVE_DEFAULT_PARTITION__"):
        lake.put("t", f"s={text}/f.parquet", pa.table({"v": [1]}))
    lake.sync("t")
    (found,) = (
        each for each in recorded() if (each.hive, each.text) == (version, "s >= 10") and not each.folded
    )

    def selected(most: int = -1) -> tuple[list[str], bool]:
        answer = hms.get_partitions_by_expr(
            ttypes.PartitionsByExprRequest("default", "t", found.data, None, most)
        )
        return [each.values[0] for each in answer.partitions], answer.hasUnknownPartitions

    with served(lake.folder) as port, client(port) as hms:
        assert selected() == (["010", "10", "10.0"], False)
        assert selected(2) == (["010", "10"], False)
        lake.put("t", "s=1e1/f.parquet", pa.table({"v": [1]}))
        lake.sync("t")
        assert selected() == (["010", "10", "10.0", "1e1"], True)
