"""The answers to the page's requests, as plain lists and dicts.

A heavy answer is made once for a version of a table, even if several requests come at once, and kept while it
is among the last ones. Only two are made at a time, so the memory of the server stays bounded.
"""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from parquetry._version import __version__
from parquetry.catalog import Catalog, find_table, full_name
from parquetry.errors import TableNotFoundError
from parquetry.identifiers import parse_name
from parquetry.metastore import Metastore
from parquetry.serving import OpenedMetastore
from parquetry.texts import plain
from parquetry.ui.attention import needs_answer
from parquetry.ui.filters import plan_answer
from parquetry.ui.listing import file_page, partition_page
from parquetry.ui.recorded import Sources, advice_answer, queries_answer
from parquetry.ui.reports import report_answer, reports_answer
from parquetry.ui.survey import MAX_CELLS, Survey
from parquetry.ui.timeline import old_versions_answer, version_page

MAX_TABLES = 200
"""Tables on a page of the list."""
_MAX_KEPT_ANSWERS = 64
_NEEDS_KEPT_S = 300
"""Seconds until the needs of a version of a table, and advice for it, are looked for again."""
_MAX_AT_ONCE = 2
"""Heavy answers that are made at once: each may hold the files of a table."""
_SECRET = re.compile(
    r"secret|password|passwd|token|credential|private.?key|access.?key|signature", re.IGNORECASE
)
_HIDDEN = "(hidden)"
_USER = re.compile(r"(?<=://)[^/@]*@")


class Parameters:
    """The parameters of a request, checked.

    Args:
        given: texts by name.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def text(self, name: str) -> str | None:
        """Return a text, or None if it is not given or empty."""
        return self._given.get(name) or None

    def required(self, name: str) -> str:
        """Return a text that must be given.

        Raises:
            ValueError: it is not given.
        """
        value = self.text(name)
        if value is None:
            raise ValueError(f"Parameter {name} is missing: give one.")
        return value

    def number(self, name: str, default: int) -> int:
        """Return a number from 0 on.

        Raises:
            ValueError: it is none.
        """
        value = self.text(name)
        if value is None:
            return default
        if not value.isascii() or not value.isdigit() or len(value) > 18:
            raise ValueError(f"Parameter {name} is {value[:40]!r}: give a number from 0 on.")
        return int(value)

    def key(self, name: str) -> bytes:
        """Return a key of a partition, which is empty if it is not given.

        Raises:
            ValueError: it is not hexadecimal.
        """
        value = self.text(name) or ""
        try:
            return bytes.fromhex(value)
        except ValueError:
            raise ValueError(f"Parameter {name} is {value[:40]!r}: give a key of this page.") from None


class Answers:
    """The answers for a warehouse.

    Args:
        opened: its metastore.
        sources: of queries and advice.
        reports: the folder of saved reports, or None.
    """

    def __init__(
        self, opened: OpenedMetastore, sources: Sources | None = None, reports: Path | None = None
    ) -> None:
        self._opened = opened
        self._sources = sources or Sources()
        self._reports = reports
        self._kept = KeptAnswers()
        self._by_path: dict[str, Callable[[Metastore, Parameters], Any]] = {
            "warehouse": self._warehouse,
            "tables": self._tables,
            "table": self._table,
            "needs": self._needs,
            "cells": self._cells,
            "partitions": self._partitions,
            "files": self._files,
            "versions": self._versions,
            "plan": self._plan,
            "queries": self._queries,
            "advice": self._advice,
            "reports": lambda _, __: reports_answer(self._reports),
            "report": lambda _, given: report_answer(self._reports, given.required("name")),
        }

    def knows(self, path: str) -> bool:
        """Return whether there is an answer for a path."""
        return path in self._by_path

    def answer(self, path: str, given: Mapping[str, str]) -> Any:
        """Return the answer to a request.

        Args:
            path: the name of the answer, such as `tables`.
            given: the parameters, by name.

        Raises:
            ParquetryError: there is no such table, or the condition cannot be read, or the store cannot.
            ValueError: a parameter has another form.
        """
        metastore, _ = self._opened.current()
        return self._by_path[path](metastore, Parameters(given))

    def _warehouse(self, metastore: Metastore, _given: Parameters) -> Any:
        databases = [
            {"name": name, "tables": sum(1 for _ in metastore.tables(name))} for name in metastore.databases()
        ]
        location = _USER.sub("", metastore.warehouse)
        return {"location": location, "version": __version__, "databases": databases}

    def _tables(self, metastore: Metastore, given: Parameters) -> Any:
        after, word = given.text("after"), (given.text("like") or "").lower()
        limit = max(1, min(given.number("limit", MAX_TABLES), MAX_TABLES))
        catalog = Catalog(metastore)
        names = [name for name in catalog.tables() if word in name and (after is None or name > after)]
        rows = []
        for name in names[:limit]:
            try:
                table = catalog.table(name)
            except TableNotFoundError:  # dropped since it was listed
                continue
            rows.append(
                {
                    "table": name,
                    "database": parse_name(name)[0],
                    "partitions": table.partitions,
                    "files": table.files,
                    "rows": table.rows,
                    "bytes": table.bytes,
                    "version": table.version,
                    "time": int(table.committed_at.timestamp() * 1000),
                    "operation": table.operation,
                    "partition_by": list(table.partition_by),
                }
            )
        return {"rows": rows, "next": names[limit - 1] if len(names) > limit else None}

    def _table(self, metastore: Metastore, given: Parameters) -> Any:
        table = Catalog(metastore).table(given.required("table"))
        table = dataclasses.replace(
            table,
            location=_USER.sub("", table.location),
            properties={
                name: _HIDDEN if _SECRET.search(name) else value for name, value in table.properties.items()
            },
        )
        snapshot = find_table(metastore, table.name)
        return {
            "table": table.name,
            "version": table.version,
            "time": int(table.committed_at.timestamp() * 1000),
            "partitions": table.partitions,
            "files": table.files,
            "rows": table.rows,
            "bytes": table.bytes,
            "partition_by": list(table.partition_by),
            "columns": [plain(dataclasses.asdict(column)) for column in table.columns],
            "facts": [[name, text] for name, text in table.facts().items() if name != "table"],
            "old": self._kept.get(
                ("old", int(time.monotonic() // _NEEDS_KEPT_S), *snapshot.identity),
                lambda: old_versions_answer(snapshot),
            ),
        }

    def _needs(self, metastore: Metastore, given: Parameters) -> Any:
        snapshot = find_table(metastore, given.required("table"))
        anyway = given.text("anyway") is not None
        # What is due depends on the time as well.
        key = ("needs", anyway, int(time.monotonic() // _NEEDS_KEPT_S), *snapshot.identity)
        return self._kept.get(key, lambda: needs_answer(metastore, snapshot, anyway=anyway))

    def _cells(self, metastore: Metastore, given: Parameters) -> Any:
        snapshot = find_table(metastore, given.required("table"))
        cells = given.number("cells", MAX_CELLS)
        return self._kept.get(("cells", cells, *snapshot.identity), lambda: Survey(snapshot, cells).answer())

    def _partitions(self, metastore: Metastore, given: Parameters) -> Any:
        snapshot = find_table(metastore, given.required("table"))
        after = given.text("after") is not None
        start = given.key("after" if after else "from")
        return partition_page(snapshot, given.text("where"), start, given.number("limit", 100), after=after)

    def _files(self, metastore: Metastore, given: Parameters) -> Any:
        snapshot = find_table(metastore, given.required("table"))
        return file_page(snapshot, given.key("key"), given.number("first", 0), given.number("limit", 100))

    def _versions(self, metastore: Metastore, given: Parameters) -> Any:
        snapshot = find_table(metastore, given.required("table"))
        before = None if given.text("before") is None else given.number("before", 0)
        return version_page(snapshot, before, given.number("limit", 60))

    def _plan(self, metastore: Metastore, given: Parameters) -> Any:
        snapshot = find_table(metastore, given.required("table"))
        where = given.text("where") or ""
        return self._kept.get(("plan", where, *snapshot.identity), lambda: plan_answer(snapshot, where))

    def _queries(self, metastore: Metastore, given: Parameters) -> Any:
        table = given.text("table")
        if table is not None:
            snapshot = find_table(metastore, table)
            table = full_name(snapshot.database, snapshot.name)
        return queries_answer(self._sources, metastore, table)

    def _advice(self, metastore: Metastore, given: Parameters) -> Any:
        snapshot = find_table(metastore, given.required("table"))
        name, now = full_name(snapshot.database, snapshot.name), given.text("now") is not None
        return self._kept.get(
            ("advice", now, int(time.monotonic() // _NEEDS_KEPT_S), *snapshot.identity),
            lambda: advice_answer(self._sources, metastore, name, now=now),
        )


class KeptAnswers:
    """The last heavy answers."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[object, ...], Any] = OrderedDict()
        self._making: dict[tuple[object, ...], threading.Lock] = {}
        self._lock = threading.Lock()
        self._free = threading.Semaphore(_MAX_AT_ONCE)

    def get(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        """Return an answer, made if it is not kept. The same answer is made once at a time."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
            mine = self._making.setdefault(key, threading.Lock())
        with mine:
            with self._lock:
                if key in self._answers:
                    return self._answers[key]
            try:
                with self._free:
                    made = make()
                with self._lock:
                    self._answers[key] = made
                    while len(self._answers) > _MAX_KEPT_ANSWERS:
                        self._answers.popitem(last=False)
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return made
