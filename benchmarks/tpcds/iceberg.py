"""Apache Iceberg on a PySpark that it supports, in an environment of its own: its reads of the core stars.

The times of the queries are measured, too. Iceberg has no runtime for Spark 4.3 yet, so PySpark differs. Its
facts are partitioned by `truncate(30, date)`. The files counted are the files that tasks got after the values
of joins had come. The bytes of columns are counted in these files' row groups, by the footers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console

from benchmarks.files.iceberg import PYSPARK, VERSION, MissingIcebergError, environment, run_command
from benchmarks.tpcds.counting import ReadCounts, total
from benchmarks.tpcds.layouts import FACTS, LAYOUTS
from demo.tpcds import DERIVED, Raw

NAME = f"Iceberg {VERSION} on Spark {PYSPARK}"
_SIDE = Path(__file__).with_name("iceberg_side.py")


@dataclass(frozen=True, slots=True)
class IcebergAnswer:
    """The outcome of a query on Iceberg: its rows as texts, what was read, the seconds of each round."""

    rows: list[list[str]]
    read: ReadCounts
    seconds: list[float]


def ask(
    folder: Path, raw: Raw, queries: Mapping[int, str], settings: Mapping[str, str], rounds: int
) -> dict[int, IcebergAnswer] | None:
    """Return what Iceberg makes of queries, or None and say why, if it cannot be had.

    Args:
        folder: of the data; the environment is made beside it.
        raw: the rows.
        queries: by number.
        settings: of Spark.
        rounds: that are timed, after one.
    """
    console = Console(highlight=False)
    facts = LAYOUTS["l2"]
    (folder / "iceberg-tpcds").mkdir(exist_ok=True)
    try:
        made = environment(folder.parent, console)
        question = folder / "iceberg-tpcds.json"
        asked = {
            "tables": [table for table in raw.rows if table not in {*FACTS, *DERIVED}],
            "facts": {fact: FACTS[fact] for fact in facts},
            "raw": str(raw.folder),
            "queries": queries,
            "settings": dict(settings),
            "runtime": str(made.runtime),
            "warehouse": str(folder / "iceberg-tpcds"),
            "rounds": rounds,
        }
        question.write_text(json.dumps(asked), encoding="utf-8")
        console.print(f"{NAME} answers")
        output = run_command([str(made.python), "-P", str(_SIDE), str(question)])
    except MissingIcebergError as error:
        console.print(f"Iceberg was left out: {error}", soft_wrap=True, markup=False)
        return None
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return {int(number): _answer(each) for number, each in found.items()}


def texts(rows: Sequence[Sequence[object]]) -> list[list[str]]:
    """Return rows as the other side tells them, sorted."""
    return sorted([[f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in rows])


def _answer(reply: Mapping[str, Any]) -> IcebergAnswer:
    reads = [_read(scan["columns"], scan["parts"]) for scan in reply["scans"]]
    return IcebergAnswer(sorted(reply["rows"]), total([ReadCounts(), *reads]), reply["seconds"])


def _read(columns: Sequence[str], parts: Sequence[tuple[str, int, int]]) -> ReadCounts:
    groups = [
        group
        for path, start, length in parts
        for group in _groups(path.removeprefix("file:"))
        if start <= group.middle < start + length
    ]
    files = len({path for path, _, _ in parts})
    size = sum(length for _, _, length in parts)
    column_bytes = sum(group.columns.get(column, 0) for group in groups for column in columns)
    return ReadCounts(0, 0, files, size, files, size, len(groups), len(groups), column_bytes)


@dataclass(frozen=True, slots=True)
class _Group:
    """A row group: where its middle is in the file, and the bytes of each column."""

    middle: int
    columns: dict[str, int]


@cache
def _groups(path: str) -> list[_Group]:
    footer = pq.read_metadata(path)
    groups = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        chunks = [group.column(i) for i in range(group.num_columns)]
        starts = [
            chunk.data_page_offset
            if chunk.dictionary_page_offset is None
            else min(chunk.data_page_offset, chunk.dictionary_page_offset)
            for chunk in chunks
        ]
        size = sum(chunk.total_compressed_size for chunk in chunks)
        columns = {chunk.path_in_schema.split(".")[0]: chunk.total_compressed_size for chunk in chunks}
        groups.append(_Group(min(starts) + size // 2, columns))
    return groups
