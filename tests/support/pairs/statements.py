"""The statement of each pair: a mechanism that reads less, and where it meets another one.

A mechanism has a statement over a source, `{t}`, and a statement that gives values of `x` for a join above.
A meeting makes the source of one, or a query around one:

    top-k           SELECT k, v FROM {t} ORDER BY k DESC LIMIT 3
    time travel     {t} is `f VERSION AS OF 1`
    IN              SELECT … FROM g WHERE p IN (SELECT x FROM (SELECT p x FROM {t} ORDER BY k DESC LIMIT 3))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

_NOT_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A way to read less.

    Attributes:
        name: of the mechanism.
        query: a statement over `{t}`.
        values: a statement over `{t}` whose column `x` has values of the column `p`.
        home: the table that `{t}` is by itself.
        settings: of the session.
        sampled: whether each source is a sample by bucket.
        twice: whether joins of the statement are taken apart, so that each table is read twice.
    """

    name: str
    query: str
    values: str
    home: str = "f"
    settings: dict[str, str] = field(default_factory=dict)
    sampled: bool = False
    twice: bool = False


MECHANISMS = (
    Mechanism(
        "LIMIT",
        "SELECT count(k) FROM (SELECT k FROM {t} LIMIT 5)",
        "SELECT p x FROM {t} WHERE p = 3 LIMIT 5",
    ),
    Mechanism(
        "top-k",
        "SELECT k, v FROM {t} ORDER BY k DESC LIMIT 3",
        "SELECT p x FROM {t} ORDER BY k DESC LIMIT 3",
    ),
    Mechanism(
        "OFFSET",
        "SELECT k FROM {t} ORDER BY k LIMIT 3 OFFSET 2",
        "SELECT p x FROM {t} ORDER BY k LIMIT 3 OFFSET 2",
    ),
    Mechanism(
        "min and max",
        "SELECT min(k), max(k) FROM {t}",
        "SELECT int(max(k) DIV 24) x FROM {t}",
    ),
    Mechanism(
        "min and max where files match in part",
        "SELECT min(k), max(k) FROM {t} WHERE v > 5",
        "SELECT int(max(k) DIV 24) x FROM {t} WHERE v > 5",
    ),
    Mechanism(
        "count",
        "SELECT count(*), count(v) FROM {t}",
        "SELECT int(count(*) DIV 48) x FROM {t}",
    ),
    Mechanism("DISTINCT", "SELECT DISTINCT p FROM {t}", "SELECT DISTINCT p x FROM {t} WHERE p < 3"),
    Mechanism(
        "constant files",
        "SELECT p, sum(a) FROM {t} GROUP BY p",
        "SELECT p x, sum(a) FROM {t} WHERE p < 3 GROUP BY p",
    ),
    Mechanism(
        "skip scan",
        "SELECT sum(v) FROM {t} WHERE p = 3",
        "SELECT p x FROM {t} WHERE p = 3 AND v > 0",
    ),
    Mechanism(
        "one-sided bucket join",
        "SELECT sum(x.v), sum(y.v) FROM {t} x JOIN {n} y ON x.k = y.k",
        "SELECT x.p x FROM {t} x JOIN {n} y ON x.k = y.k WHERE x.v < 20",
        settings=_NOT_BROADCAST,
    ),
    Mechanism(
        "hot bucket",
        "SELECT count(*), sum(y.v) FROM {t} x JOIN {n} y ON x.k = y.k",
        "SELECT y.p x FROM {t} x JOIN {n} y ON x.k = y.k",
        home="h",
        settings=_NOT_BROADCAST | {"parquetry.hot-bucket-rows": "50"},
    ),
    Mechanism(
        "skew join",
        "SELECT count(*), sum(y.w) FROM {t} x JOIN {r} y ON x.s = y.s",
        "SELECT x.p x FROM {t} x JOIN {r} y ON x.s = y.s WHERE x.v < 20",
        home="l",
        settings=_NOT_BROADCAST | {"parquetry.skew-join": "always"},
        twice=True,
    ),
    Mechanism(
        "tuples",
        "SELECT sum(x.v) FROM {t} x JOIN {e} y ON x.p = y.p AND x.a = y.a",
        "SELECT x.p x FROM {t} x JOIN {e} y ON x.p = y.p AND x.a = y.a",
    ),
    Mechanism(
        "boxes",
        "SELECT sum(x.v) FROM {t} x JOIN {e} y ON x.k BETWEEN y.low AND y.high",
        "SELECT x.p x FROM {t} x JOIN {e} y ON x.k BETWEEN y.low AND y.high",
    ),
    Mechanism(
        "TABLESAMPLE",
        "SELECT count(*), sum(v) FROM {t}",
        "SELECT p x FROM {t} WHERE p < 3",
        home="b",
        sampled=True,
    ),
)

Kind = Literal["source", "values", "twice", "cache", "stream"]


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where a mechanism meets another one.

    Attributes:
        name: of the other mechanism.
        kind: the form of `text`. It is a source, a query of the mechanism's `{values}`, a query that names
            its statement `{query}` twice, or one of its `{cached}` rows. In a `stream`, `{g}` is a stream.
        text: the source or the query, with `{home}` for the mechanism's table.
        table: the table in place of the mechanism's own.
        version: the version of the mechanism's table.
    """

    name: str
    kind: Kind
    text: str
    table: str | None = None
    version: bool = False


_JOINED = "SELECT count(*), sum(g.v) FROM {g} g JOIN ({values}) y ON g.p = y.x"
MEETINGS = (
    Meeting("alone", "source", "{home}"),
    Meeting("run-time values", "source", "(SELECT x.* FROM {home} x JOIN {d} y ON x.p = y.p WHERE y.c = 'c1')"),
    Meeting("plan-time values", "source", "(SELECT x.* FROM {home} x JOIN {m} y ON x.p = y.p WHERE y.c = 'c1')"),
    Meeting("buckets", "source", "(SELECT * FROM {home} WHERE k IN (7, 31, 100))", table="b"),
    Meeting("directories", "source", "(SELECT * FROM {home} WHERE s = 's2')", table="l"),
    Meeting("time travel", "source", "{home}", version=True),
    Meeting("view", "source", "{home}"),
    Meeting("UNION ALL", "source", "(SELECT * FROM {home} UNION ALL SELECT * FROM {o})"),
    Meeting("CTE, twice", "twice", "WITH m AS ({query}) SELECT * FROM m UNION ALL SELECT * FROM m"),
    Meeting("cache(), twice", "cache", "SELECT * FROM {cached} UNION ALL SELECT * FROM {cached}"),
    Meeting("values of a build side", "values", _JOINED),
    Meeting("scalar subquery", "values", "SELECT count(*), sum(v) FROM {g} WHERE p = (SELECT max(x) FROM ({values}))"),
    Meeting("IN", "values", "SELECT count(*), sum(v) FROM {g} WHERE p IN (SELECT x FROM ({values}))"),
    Meeting(
        "EXISTS", "values", "SELECT count(*), sum(v) FROM {g} g WHERE EXISTS (SELECT 1 FROM ({values}) y WHERE y.x = g.p)"
    ),
    Meeting("stream", "stream", "SELECT g.k, g.v FROM {g} g JOIN ({values}) y ON g.p = y.x"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """A mechanism, and where it meets another one."""

    mechanism: Mechanism
    meeting: Meeting

    @property
    def name(self) -> str:
        """Return the pair's name."""
        return f"{self.mechanism.name} / {self.meeting.name}"

    @property
    def home(self) -> str:
        """Return the table that the mechanism reads."""
        home, other = self.mechanism.home, self.meeting.table
        return home if other is None or (home, other) == ("h", "b") else other

    @property
    def _source(self) -> str:
        """Return the mechanism's source, with its table as `{f}`, `{f:version}` or `{f:view:sample}`."""
        form = "version" if self.meeting.version else "view" if self.meeting.name == "view" else ""
        sample = "sample" if self.mechanism.sampled else ""
        home = "{" + ":".join([self.home, *filter(None, (form, sample))]) + "}"
        return self.meeting.text.replace("{home}", home) if self.meeting.kind == "source" else home

    @property
    def query(self) -> str:
        """Return the mechanism's own statement over the pair's source."""
        return self.mechanism.query.replace("{t}", self._source)

    @property
    def text(self) -> str:
        """Return the statement, with tables in braces; of a cache, `{cached}` is its data."""
        if self.meeting.kind == "source":
            return self.query
        values = self.mechanism.values.replace("{t}", self._source)
        return self.meeting.text.replace("{query}", self.query).replace("{values}", values)

    @property
    def tables(self) -> list[str]:
        """Return the table of each scan that the statement names, in order; of a cache, of its query."""
        text = self.query if self.meeting.kind == "cache" else self.text
        names = [each.partition(":")[0].partition("}")[0] for each in text.split("{")[1:]]
        return names * (2 if self.mechanism.twice else 1) * (2 if self.meeting.kind == "twice" else 1)


PAIRS = {
    pair.name: pair
    for pair in (Pair(mechanism, meeting) for mechanism in MECHANISMS for meeting in MEETINGS)
    if pair.name != "OFFSET / stream"  # Spark refuses it
}
