"""The bridge's packages have layers, and a package imports only from packages below it.

Scala's compiler has no layers, so two packages could import each other; this test forbids that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from parquetry.config import SPARK_SERIES

BRIDGE = Path(__file__).resolve().parents[2] / "bridge"
ROOT = "org.apache.spark.sql.parquetry"

PACKAGES = {
    "process": "a planner in a Python process that this JVM starts",
    "protocol": "questions to the planner, its answers and errors, typed once",
    "versions": "what differs between the versions of Spark: a folder for each, with the same names",
    "storage": "files that are not on a local disk, by the session's own Hadoop file systems",
    "table": "a table and its columns, as all packages know them",
    "metadata": "metadata tables, and rows that the planner gives page by page",
    "hash": "the hashes of buckets as SQL functions",
    "values": "conditions by values that a join finds",
    "predicates": "conditions: put so that sources are given them, or evaluated over values that the planner knows",
    "readers": "Spark's readers, and the files that they are given",
    "merging": "files of a bucket that are read as one, or of which only a part of the rows is read",
    "scan": "what a query reads of a table",
    "filescans": "scans in the form of Spark's own scan of files",
    "joingraph": "what a plan joins, and where the keys of its joins come from",
    "rowlayout": "where the rows of a plan lie: derived, told to Spark, and checked at last",
    "buckets": "joins by buckets without a shuffle",
    "ordering": "joins and windows that use the order of files",
    "runtime": "filters by values that joins find at run time",
    "skew": "joins whose heavy keys are joined apart",
    "results": "scans of which a result needs only some rows, or a summary",
    "audit": "claims about rows, checked by the rows themselves",
    "datafiles": "files that are written where they will stay",
    "changes": "the difference of a table's versions as rows",
    "streaming": "streams from tables and into them",
    "write": "INSERT and its overwrites",
    "rows": "DELETE, UPDATE and MERGE",
    "catalog": "Spark's catalog, and tables as it loads them",
    "statements": "statements that Spark has for its own tables alone",
    "reports": "what is told of a query's scans and joins",
    "": "what a session's configuration names, and where the rules are registered",
}
"""The packages from the lowest to the highest, with what each is for."""

ELSEWHERE = {"hive", "formats"}
"""Folders whose classes are in other packages: of Spark's, where alone they see what they use, and of
formats, where Spark looks for them.
"""

MAX_FOLDER_LINES = 3_000
"""Lines of a package's own files: a package has one task."""


def _sources() -> Iterator[tuple[str, Path, str]]:
    for path in sorted(BRIDGE.rglob("*.scala")):
        yield _folder(path).split("/")[0], path, path.read_text()


def _folder(path: Path) -> str:
    folder = path.relative_to(BRIDGE).parent.as_posix()
    return "" if folder == "." else folder


def test_folders_are_packages() -> None:
    """Each folder is the package of its name.

    A file that must be in a package of Spark's says so in its first line.
    """
    for folder, path, text in _sources():
        first = next(line for line in text.splitlines() if line.startswith("package "))
        package = f"{ROOT}.{folder}".rstrip(".")
        if folder not in ELSEWHERE and path.name != "UnavailableValues.scala":
            assert first == f"package {package}", path
            assert folder in PACKAGES, path


def test_packages_import_downwards() -> None:
    """No source names a package that is above its own, nor the top one."""
    floors = list(PACKAGES)
    for folder, path, text in _sources():
        if folder in ELSEWHERE:
            continue
        body = text.split("\n", 1)[1]
        for used in re.findall(rf"import {re.escape(ROOT)}\.([a-z]\w*)\.", body):
            assert floors.index(used) < floors.index(folder), (
                f"{path.name} ({folder}) imports {used}, which is above"
            )
        assert not re.search(rf"import {re.escape(ROOT)}\.[A-Z_{{]", body), (
            f"{path.name} imports the top package"
        )


def test_no_folder_is_crowded() -> None:
    """A folder has three files at least, and a limited number of lines."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for _, path, text in _sources():
        folder = _folder(path)
        files[folder] += folder not in ELSEWHERE
        lines[folder] += len(text.splitlines())
    assert {folder: n for folder, n in files.items() if 0 < n < 3} == {}
    assert {folder: n for folder, n in lines.items() if n > MAX_FOLDER_LINES} == {}


def test_every_version_has_the_same_names() -> None:
    """Each series of Spark has a folder, and its files have the classes of the newest series' files.

    No file is a copy of the next newer series' file.
    """
    folders = {path.name: path for path in (BRIDGE / "versions").iterdir()}
    assert set(folders) == set(SPARK_SERIES)
    names = {
        series: {
            (path.name, name)
            for path in folder.glob("*.scala")
            for name in re.findall(r"^(?:class|object|trait) \w+", path.read_text(), re.M)
        }
        for series, folder in folders.items()
    }
    newest, *others = SPARK_SERIES
    files = {file for file, _ in names[newest]}
    for series in others:
        own = {file for file, _ in names[series]}
        assert own <= files, series
        assert names[series] == {each for each in names[newest] if each[0] in own}, series
    texts = {name: [] for name in files}
    for series in SPARK_SERIES:
        for path in sorted(folders[series].glob("*.scala")):
            assert path.read_text() not in texts[path.name], path
            texts[path.name].append(path.read_text())


def test_every_rule_is_in_the_table() -> None:
    """The table of rules in `ParquetryExtensions` has exactly the registered rules, in their order."""
    text = (BRIDGE / "ParquetryExtensions.scala").read_text()
    table, code = text.split("class ParquetryExtensions")
    listed = re.findall(r"^ \* .{29} (\w+) {2,}\S", table.split("{{{")[1].split("}}}")[0], re.M)[1:]
    found = re.findall(
        r"extensions\.inject.*?=>\s(?:new\s)?(?:prepared\()?(?:ofOurs\(|gaining\()?(\w+)", code
    )
    late = (BRIDGE / "RegisterLateRules.scala").read_text()
    registered = re.findall(r"Rule\[LogicalPlan\]\]\(([\w, ]+)\)", late)[0].split(", ")
    last = found.index("AuditStrategy")
    assert listed == list(dict.fromkeys([*found[:last], *registered, *found[last:]]))


def test_an_open_change_of_spark_reaches_one_file() -> None:
    """Only `RuntimeFilteredScan` names Spark's inner interface for runtime filters, and it has the methods of
    today and of SPARK-30628.
    """
    inner = ("SupportsRuntimeCatalystFiltering", "planInputPartitionsWithRuntimeFilters")
    users = {
        path.relative_to(BRIDGE).as_posix()
        for path in BRIDGE.rglob("*.scala")
        if any(name in path.read_text() for name in inner)
    }
    newest = f"versions/{next(iter(SPARK_SERIES))}/RuntimeFilteredScan.scala"
    assert users == {newest}
    methods = re.findall(
        r"^  (.*def \w+)\(filters: Array\[Expression\]\)", (BRIDGE / newest).read_text(), re.M
    )
    assert methods == ["def narrowBy", "def filter", "def planInputPartitionsWithRuntimeFilters"]
