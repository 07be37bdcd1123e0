"""The reads, joins and shuffles in a physical plan of Spark, as event logs and sessions give it.

Tables of all formats are read: by Spark's own scans of files, and by other sources' descriptions of scans.
Columns are followed by their numbers from a join down to the scans.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import msgspec

from parquetry.workload.catalyst_text import ATTRIBUTE, conditions_in, split_list
from parquetry.workload.model import QueryCondition, QueryJoin, ReadCount, TableRead
from parquetry.workload.reads import without_null_tests
from parquetry.workload.redaction import mentioned_columns


class PlanMetric(msgspec.Struct, frozen=True):
    """A metric of a node, and the accumulator that has its value."""

    name: str
    id: int = msgspec.field(name="accumulatorId")


class PlanInfo(msgspec.Struct, frozen=True):
    """A node of a plan, as Spark's `SparkPlanInfo` has it."""

    name: str = msgspec.field(name="nodeName")
    text: str = msgspec.field(name="simpleString", default="")
    children: tuple[PlanInfo, ...] = ()
    metadata: dict[str, str] = {}
    metrics: tuple[PlanMetric, ...] = ()

    def nodes(self) -> Iterator[PlanInfo]:
        """Yield the node and all below it, but not what filled a cache."""
        yield self
        if self.name != "InMemoryTableScan":
            for child in self.children:
                yield from child.nodes()


_SCAN = re.compile(r"(?:Scan|BatchScan|FileScan) ?(?P<source>.*)", re.DOTALL)
_ROWS = re.compile(
    r"Scan (?:ExistingRDD|OneRowRelation|JDBCRelation|hive system)\b.*|.*\.(?:partitions|files|history|queries|snapshots)"
)
_OUTPUT = re.compile(r"\[(?P<columns>(?:[^\[\]]*#\d+L?[^\[\]]*)?)\]")
_FIELDS = re.compile(
    r"(?P<key>DataFilters|PartitionFilters|PushedFilters|ReadSchema|Location|Format|Batched|PushedAggregation|PushedGroupBy): "
)
_FILTERS = re.compile(
    r"(?:pushed filters: \[|\[filters=)(?P<filters>.*?)(?:\](?= ·| RuntimeFilters|$)|, groupedBy=)"
)
_JOIN = re.compile(r"\w*Join\w* \[(?P<left>[^\]]*)\], \[(?P<right>[^\]]*)\]")
_ALIAS = re.compile(r"\w+#(?P<old>\d+)L? AS [^,\]#]+#(?P<new>\d+)")
_SCHEMA_FIELD = re.compile(r"(?P<name>[^:,<>]+):(?P<type>[^,<>(]+(?:\([^)]*\))?)")
_FOLDERS = re.compile(r"\w*\(\d+ paths?\)\[(?P<paths>.*?)(?:\]|, \.\.\.)|\[(?P<path>[^,\]]*)")
_FILES = {"files read", "number of files read"}
_BYTES = {"bytes of the columns read", "size of files read"}
_TOTALS = {"partitions read": "partitions of the table", "bytes of the columns read": "bytes of the table"}
_OF_OTHERS = ("run-time values ", "values known in planning ", "the table's ")
"""The beginnings of conditions that the query itself has not."""
_HIDDEN = ("_file", "_metadata")
_OUTPUT_ROWS = "number of output rows"


@dataclass(slots=True)
class _Scan:
    """A scan of a table in a plan."""

    node: PlanInfo
    above: PlanInfo | None
    table: str
    fields: Mapping[str, str]
    joins: list[QueryJoin]

    def columns(self) -> dict[str, str]:
        """Return the columns that it gives, by their numbers, as far as the plan shows them."""
        found = _OUTPUT.search(self.node.text)
        texts = [found["columns"] if found else ""]
        texts += [self.fields.get(key, "") for key in ("PartitionFilters", "DataFilters")]
        return {each["id"]: each["name"] for text in texts for each in ATTRIBUTE.finditer(text)}


def reads_of(plan: PlanInfo, value: Callable[[int], int | None] = lambda _: None) -> tuple[TableRead, ...]:
    """Return the reads of tables in a plan.

    Args:
        plan: the plan that ran, or would run.
        value: returns the value of an accumulator, or None if it has none.
    """
    scans = list(_scans(plan, None))
    _add_joins(plan, scans)
    return tuple(_read(scan, value) for scan in scans)


def count_shuffles(plan: PlanInfo) -> int:
    """Return the number of exchanges in a plan."""
    return sum(node.name == "Exchange" for node in plan.nodes())


def _scans(node: PlanInfo, above: PlanInfo | None) -> Iterator[_Scan]:
    found = _SCAN.fullmatch(node.name)
    if found and not node.name.startswith("Scan In-memory") and not _ROWS.fullmatch(node.name):
        fields = dict(node.metadata) or _fields(node.text)
        table = _table(found["source"], fields)
        if table:
            yield _Scan(node, above, table, fields, [])
            return
    if node.name == "InMemoryTableScan":
        return
    passes = node.name in ("ColumnarToRow", "InputAdapter") or node.name.startswith("WholeStageCodegen")
    for child in node.children:
        yield from _scans(child, node if node.name == "Filter" else above if passes else None)


def _fields(text: str) -> dict[str, str]:
    """Return the fields in the description of a scan: `DataFilters: […], Format: parquet, …`."""
    found = list(_FIELDS.finditer(text))
    ends = [*(each.start() for each in found[1:]), len(text)]
    return {
        each["key"]: text[each.end() : end].rstrip().removesuffix(",")
        for each, end in zip(found, ends, strict=False)
    }


def _table(source: str, fields: Mapping[str, str]) -> str | None:
    """Return the table of a scan as its catalog names it, or the folder that it reads, or None."""
    words = source.split(" ", 1)
    name = words[1] if len(words) > 1 and "." not in words[0] else source
    parts = [part.strip("`") for part in re.findall(r"`[^`]*`|[^.`]+", name.strip())]
    if len(parts) > 1 and "/" not in name:
        return ".".join(parts[-2:])
    folders = _FOLDERS.search(fields.get("Location", ""))
    if folders is None:
        return None
    path = (folders["paths"] or folders["path"] or "").split(", ")[0]
    return unquote(path.removeprefix("file:")) if path.startswith("file:") else path or None


def _read(scan: _Scan, value: Callable[[int], int | None]) -> TableRead:
    node, fields = scan.node, scan.fields
    values = {metric.name: value(metric.id) for metric in node.metrics}
    types = {
        each["name"].strip().lower(): each["type"]
        for each in _SCHEMA_FIELD.finditer(
            fields.get("ReadSchema", "").removeprefix("struct<").removesuffix(">")
        )
    }
    columns = tuple(name for name in dict.fromkeys(scan.columns().values()) if name not in _HIDDEN)
    rows = values.get(_OUTPUT_ROWS)
    if scan.above is not None:
        rows = next((value(each.id) for each in scan.above.metrics if each.name == _OUTPUT_ROWS), rows)
    return TableRead(
        scan.table,
        conditions=without_null_tests(list(_conditions(scan, types)), [each.column for each in scan.joins]),
        joins=tuple(dict.fromkeys(scan.joins)),
        columns=columns or None,
        partitions=_count(values, {"partitions read", "number of partitions read"}),
        files=_count(values, _FILES),
        bytes=_count(values, _BYTES),
        rows=rows,
    )


def _count(values: Mapping[str, int | None], names: set[str]) -> ReadCount | None:
    """Return how much was read. Of a table that is not ours, the total is not known."""
    for name in names:
        read = values.get(name)
        if read is not None:
            total = values.get(_TOTALS.get(name, ""))
            return ReadCount(read, read if total is None else total)
    return None


def _conditions(scan: _Scan, types: Mapping[str, str]) -> Iterator[QueryCondition]:
    texts = [scan.fields[key] for key in ("PartitionFilters", "DataFilters") if scan.fields.get(key)]
    for text in texts:
        yield from conditions_in(text, types)
    if texts:
        return
    offered = _FILTERS.search(scan.node.text)
    for part in split_list(offered["filters"]) if offered else ():
        if not part.startswith(_OF_OTHERS):
            yield QueryCondition(part, mentioned_columns(part))
    if offered is None and scan.above is not None:
        yield from conditions_in(scan.above.text.removeprefix("Filter "), types)


def _add_joins(plan: PlanInfo, scans: list[_Scan]) -> None:
    """Give each scan the joins of its columns."""
    owners: dict[str, list[tuple[_Scan, str]]] = defaultdict(list)
    for scan in scans:
        for number, name in scan.columns().items():
            owners[number].append((scan, name))
    aliases = {
        found["new"]: found["old"]
        for node in plan.nodes()
        for found in _ALIAS.finditer(node.text)
        if "Join" not in node.name
    }

    def origins(key: str) -> list[tuple[_Scan, str]]:
        found = list(ATTRIBUTE.finditer(key))
        if len(found) != 1:
            return []
        number, fields = found[0]["id"], found[0]["fields"]
        for _ in range(len(aliases)):
            if number in owners or number not in aliases:
                break
            number = aliases[number]
        return [(scan, name + fields) for scan, name in owners.get(number, [])]

    for node in plan.nodes():
        found = _JOIN.match(node.text)
        if found is None:
            continue
        for left, right in zip(split_list(found["left"]), split_list(found["right"]), strict=False):
            for mine, other in ((origins(left), origins(right)), (origins(right), origins(left))):
                for scan, column in mine:
                    far = (
                        QueryJoin(column, other[0][0].table, other[0][1])
                        if other
                        else QueryJoin(column, None, None)
                    )
                    scan.joins.append(far)
