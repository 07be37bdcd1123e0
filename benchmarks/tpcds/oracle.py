"""The oracle: Spark alone on exactly the files with rows that the joins and conditions of a star keep.

Of three facts these are the rows that match each other, too, which are known only after the query has run.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.sql import SparkSession

from benchmarks.tpcds.layouts import FACTS, BenchmarkLake
from benchmarks.tpcds.queries import sources


class Oracle:
    """The oracle: it knows the files of a layout that each star needs."""

    def __init__(self, lake: BenchmarkLake, layout: str) -> None:
        self._lake = lake
        self._layout = layout
        self._session = lake.exact()
        self._finding = lake.exact()
        for fact in FACTS:
            rows = lake.listed(layout, fact, self._finding)
            rows.selectExpr("*", f"_metadata.file_path AS {fact}_file").createOrReplaceTempView(fact)

    def files(self, text: str) -> dict[str, list[str]]:
        """Return the files of each fact that a star needs, by the fact's name."""
        part = sources(text)
        facts = [fact for fact in FACTS if fact in part]
        names = ", ".join(f"collect_set({fact}_file)" for fact in facts)
        found = self._finding.sql(f"SELECT {names} {part}").collect()[0]
        return {
            fact: sorted(unquote(urlparse(path).path) for path in paths)
            for fact, paths in zip(facts, found, strict=True)
        }

    def session_of_files(self, files: dict[str, list[str]]) -> SparkSession:
        """Return a session where the facts' names mean these files."""
        for fact, paths in files.items():
            self._lake.some(self._layout, fact, paths, self._session).createOrReplaceTempView(fact)
        return self._session


def size(files: dict[str, list[str]]) -> tuple[int, int]:
    """Return how many files these are, and their bytes."""
    paths = [path for some in files.values() for path in some]
    return len(paths), sum(Path(path).stat().st_size for path in paths)
