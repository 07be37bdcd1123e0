"""A case: its tables with their histories, what is asked of them, and where they differ from their models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from tests.support.random_histories import comparing, statements, writing
from tests.support.random_histories.queries import Queries, others, written
from tests.support.random_histories.tables.layouts import drawn_layout
from tests.support.random_histories.tables.settings import SETTINGS
from tests.support.random_histories.tables.shapes import drawn_shape, identifier
from tests.support.random_histories.tables.tables import Change, ModelledTable, RecordedVersion, Source
from tests.support.random_histories.tables.values import TEXTS, Draw, text
from tests.support.tables.bucketed_tables import settings

QUERIES_PER_CASE = 24
"""How many queries a case asks when its histories are over."""

_VALUE_ERRORS = ("PARQUETRY_VALUE", "DATATYPE_MISMATCH")
"""Conditions of errors that refuse values which rows in memory may have: a name that no folder can have."""


_FAILURES = (PySparkException, Py4JError)
"""Failures of statements and queries: with an error class, or with a Java exception that may have none."""

_NO_FAULT = ("no bucket", "not judged")
"""Answers of `verify` about partitions without buckets, or with the buckets that the table had before."""

_LONGEST, _SHORT = 2_000, 400
"""Characters kept of an error's text: in a difference, and for a statement that was refused."""


class ModelDifference(NamedTuple):
    """A difference between a table and its model.

    Attributes:
        seed: of the case.
        what: in one line.
        detail: the query, and the rows or the error.
        script: all statements before it, as SQL.
    """

    seed: int
    what: str
    detail: str
    script: str

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.what}\n{self.detail}\n\nafter\n{self.script}\n"


class _Over(Exception):
    """A table and its model have parted: what comes after would differ, too."""


class Case:
    """A case of a seed.

    Args:
        spark: a session with the catalog `lake`.
        seed: what makes the case.
        folder: where external tables may be.

    Attributes:
        seen: how often each kind of statement was done, how often any was refused, and what else was counted.
        refused: a statement that was refused, with its error, of each condition of errors.
    """

    def __init__(self, spark: SparkSession, seed: int, folder: Path) -> None:
        self.spark, self.seed, self.draw, self._folder = spark, seed, Draw(seed), folder
        self.seen: Counter[str] = Counter()
        self.refused: dict[str, str] = {}
        self._database = f"lake.h{seed}"
        self._tables: list[ModelledTable] = []
        self._script: list[str] = []
        self._found: list[ModelDifference] = []
        self._settings: dict[str, str] = {}

    def run(self) -> list[ModelDifference]:
        """Make the tables, ask the queries, and return where ours were wrong; the session stays as it was."""
        before = {key: self.spark.conf.get(key, None) for key in [*SETTINGS, writing.MODE]}
        self._run(f"CREATE NAMESPACE {self._database}")
        try:
            self._choose_settings(1)
            for number in range(self.draw.choice([1, 2, 2, 3])):
                self._history(number)
            if self._tables:
                self._ask()
                self._check()
        except _Over:
            pass
        finally:
            self.spark.sql(f"DROP NAMESPACE {self._database} CASCADE")
            for table in self._tables:
                table.drop_views(self.spark)
            for key, value in before.items():
                if value is None:
                    self.spark.conf.unset(key)
                else:
                    self.spark.conf.set(key, value)
        return self._found

    def _history(self, number: int) -> None:
        """Make a table, and have statements change it."""
        draw = self.draw
        like = draw.choice(self._tables) if self._tables and draw.often(0.35) else None
        if like and draw.often(0.5):
            layout = like.layout  # tables with the same buckets are joined in other ways
        else:
            layout = drawn_layout(draw, like.layout.shape if like else drawn_shape(draw))
        location = str(self._folder / f"h{self.seed}_{number}") if draw.often(0.15) else None
        layout = replace(layout, location=location)
        format = draw.choice(["parquet", "parquet", "orc"])
        name = f"{self._database}.t{number}"
        while (error := self._run(sql := layout.create(name, format))) is not None:
            self._count_refused(sql, error)
            if layout == layout.simpler():
                return
            layout = layout.simpler()
        table = ModelledTable(name, draw, format, layout, f"h{self.seed}_{number}")
        self._tables.append(table)
        empty = ", ".join(f"CAST(NULL AS {c.type}) AS {identifier(c.name)}" for c in layout.shape.all)
        table.keep(self.spark, f"SELECT {empty} WHERE false", layout.shape)
        self._remember(table)
        if location:
            self._step(table, "adopt", writing.adopt(table, location))
        self._step(table, "insert", writing.insert(table))
        for _ in range(draw.choice([1, 2, 4, 6])):
            self._choose_settings(0.1)
            self._step(table, *statements.drawn(table, others(self._now())))

    def _step(self, table: ModelledTable, kind: str, change: Change) -> None:
        """Change a table and its model, and compare them."""
        sources = self._now()
        sql, model = written(change.sql, sources, True), written(change.model, sources, False)
        self._set(change.settings)
        for statement in change.before:
            if (error := self._run(statement)) is not None:
                self._count_refused(statement, error)
                return
        error = self._run(sql)
        if error is not None:
            self._refused(change, sql, model, error)
            return
        self.seen[kind] += 1
        if change.forgets:
            table.versions.clear()
        table.name = change.name or table.name
        table.gone += [c.name for c in table.shape.all if c.name not in [n.name for n in change.shape.all]]
        try:
            table.keep(self.spark, model, change.shape)
        except AnalysisException as failed:
            self._differs(f"{kind} is done, and its model is not understood", f"{model}\n{failed}")
            raise _Over from None
        except _FAILURES:
            # ours computes nothing with the rows that it leaves out, so that these cannot make it fail
            self.seen["the model fails"] += 1
            raise _Over from None
        self._remember(table, change.replaces)
        self._same_columns(table, kind)
        names = table.shape.names()
        if not self._same(
            f"SELECT {names} FROM {table.name}", f"SELECT {names} FROM {table.view}", f"after {kind}"
        ):
            raise _Over

    def _remember(self, table: ModelledTable, replaced: bool = False) -> None:
        """Note which version the table has now; one that begins to count anew has lost those before."""
        number = self.spark.sql(f"SELECT max(version) FROM {table.name}.history").collect()[0][0]
        last = max((old.number for old in table.versions), default=-1)
        if replaced and number <= last:
            table.versions.clear()
        table.versions = [old for old in table.versions if old.number != number]
        table.versions.append(RecordedVersion(number, table.view, table.shape))

    def _now(self) -> list[Source]:
        return [table.source() for table in self._tables]

    def _ask(self) -> None:
        """Ask queries of the tables and of versions of them."""
        for _ in range(QUERIES_PER_CASE):
            self._choose_settings(0.1)
            sources = self._now()
            if self.draw.often(0.3):
                sources.append(self._version(self.draw.choice(self._tables)))
            query = Queries(self.draw, sources).query()
            self._same(written(query, sources, True), written(query, sources, False), "query")
        for table in self._tables:
            source = self._version(table)
            names = source.shape.names()
            self._same(
                f"SELECT {names} FROM {source.ours}", f"SELECT {names} FROM {source.model}", "time travel"
            )

    def _version(self, table: ModelledTable) -> Source:
        version = self.draw.choice(table.versions)
        return Source(f"{table.name} VERSION AS OF {version.number}", version.view, version.shape)

    def _check(self) -> None:
        """Have metastore and files be compared, and rows with their buckets."""
        for table in self._tables:
            for call in (f"fsck({text(table.plain)})", f"verify({text(table.plain)})"):
                told = self.spark.sql(f"CALL lake.system.{call}").collect()
                if wrong := [row for row in told if row[0] not in _NO_FAULT]:
                    self._differs(f"{call} tells of {len(wrong)} faults", str(wrong[:5]))

    def _same_columns(self, table: ModelledTable, kind: str) -> None:
        found = self.spark.table(table.name).dtypes
        wanted = [(c.name, "string" if c.type in TEXTS else c.type.lower()) for c in table.shape.all]
        if found != wanted:
            self._differs(f"other columns after {kind}", f"{found} instead of {wanted}")
            raise _Over

    def _same(self, ours: str, model: str, what: str) -> bool:
        """Compare what two queries give; both may fail."""
        self.seen["compared"] += 1
        try:
            wanted = comparing.rows(self.spark.sql(model))
        except _FAILURES:
            # what is left out unread cannot fail, so that ours may well give an answer
            self.seen["the model fails"] += 1
            return True
        try:
            found = comparing.rows(self.spark.sql(ours))
        except _FAILURES as failed:
            if self._fails_otherwise(model, _condition(failed)):
                self.seen["the model fails where less is known"] += 1
                return True
            self._differs(f"{what}: only ours fails", f"{ours}\n{str(failed)[:_LONGEST]}")
            return False
        told = comparing.difference(found, wanted)
        if told:
            self._differs(f"{what}: other rows", f"{ours}\n{told}")
        return told is None

    def _fails_otherwise(self, model: str, condition: str) -> bool:
        """Return whether the model fails, too, if Spark knows no more of its rows than of a table's.

        Spark remembers facts about rows in memory (a column has one value, the partitioning), so that a join
        may be empty before it begins. A join that finds one side empty may leave the other unread: a cast
        there fails, or does not.
        """
        names = set(re.findall(rf"\bh{self.seed}_\d+_\d+\b", model))
        for name in names:
            rows = self.spark.table(name)._jdf
            rdd = rows.queryExecution().toRdd()
            self.spark._jsparkSession.internalCreateDataFrame(rdd, rows.schema(), False).createTempView(
                f"unknown_{name}"
            )
        model = re.sub(rf"\bh{self.seed}_\d+_\d+\b", r"unknown_\g<0>", model)
        try:
            with settings(self.spark, {"spark.sql.adaptive.enabled": False}):
                comparing.rows(self.spark.sql(model))
        except _FAILURES as failed:
            return _condition(failed) == condition
        finally:
            for name in names:
                self.spark.catalog.dropTempView(f"unknown_{name}")
        return False

    def _refused(self, change: Change, sql: str, model: str, error: Exception) -> None:
        """Look at whether a statement is refused with reason."""
        condition = self._count_refused(sql, error)
        told = f"{sql}\n{str(error)[:_LONGEST]}"
        if "INTERNAL" in condition:
            self._differs("refused by an error of the program", told)
        elif change.computes and not condition.startswith(_VALUE_ERRORS):
            try:
                comparing.rows(self.spark.sql(model))
            except _FAILURES:
                return
            self._differs("refused, and plain Spark computes it", told)
        elif not change.computes and condition == type(error).__name__:
            self._differs("refused without a class of error", told)

    def _count_refused(self, sql: str, error: Exception) -> str:
        condition = _condition(error)
        self.seen[f"refused {condition}"] += 1
        self.refused.setdefault(condition, f"{sql[:_SHORT]} … {str(error)[:_SHORT]}")
        return condition

    def _run(self, sql: str) -> Exception | None:
        """Run a statement, and return the error that it ends with, or None."""
        try:
            self.spark.sql(sql).collect()
        except _FAILURES as error:
            self._script.append(f"-- refused: {sql}")
            refused: Exception = error
            return refused
        self._script.append(f"{sql};")
        return None

    def _choose_settings(self, share: float) -> None:
        self._set({key: self.draw.choice(some) for key, some in SETTINGS.items() if self.draw.often(share)})

    def _set(self, settings: Mapping[str, str]) -> None:
        for key, value in settings.items():
            if self._settings.get(key) != value:
                self.spark.conf.set(key, value)
                self._settings[key] = value
                self._script.append(f"SET `{key}` = {value};")

    def _differs(self, what: str, detail: str) -> None:
        self._found.append(ModelDifference(self.seed, what, detail, "\n".join(self._script)))


def _condition(error: Exception) -> str:
    """Return what Spark calls an error."""
    name = error.getCondition() if isinstance(error, PySparkException) else None
    return name or type(error).__name__
