"""What is known of values that a join finds at run time: where they could be used, what becomes of them, and how many there were.

`Candidate`s are all places where values of one side of a join could leave out files of a table on the other; each gets a `Verdict`
before the query runs (`judge`); and as the small side has run, there are `Gathered` values. The bridge finds the
candidates, and puts filters where it is told to. What the values leave out is the business of `select`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.prune.report import How, ScanReport


class PlanNode(msgspec.Struct, frozen=True):
    """A node between a join and a scan.

    Attributes:
        node: its name; of a join its type.
        side: of a join, that on which the scan is.
        keyed: whether the join's key is one by which the node puts rows together.
        deterministic: whether it computes the same each time.
    """

    node: str
    side: str = ""
    keyed: bool = False
    deterministic: bool = True


class Part(msgspec.Struct, frozen=True):
    """A scan of one of our tables that a side of a join reads.

    Attributes:
        scan: its number among those of the query.
        bytes: that are read if the side runs for its values.
        files: that are opened then.
    """

    scan: int
    bytes: int
    files: int


class Build(msgspec.Struct, frozen=True):
    """The side of a join that values come from.

    Attributes:
        name: of its first table.
        key: whose values these are, as SQL.
        size: of its rows, in bytes, as Spark estimates it; None: not known.
        cost: how many bytes are read if it runs for the values; None: not known.
        files: how many files are opened then.
        deterministic: whether Spark takes it for that.
        python: whether a Python function computes the key.
        unrepeatable: what of it may give other rows if it runs once more; None: nothing.
        rows: how many rows of the table that the key is of are likely to satisfy the query's conditions; None: not known.
        parts: the scans of our tables among what it reads: of these, other values may leave out most.
        where: conditions of the query on what it reads, as SQL.
        whole: whether it is one table of ours, with no other conditions than its scan is planned for.
        ends_of: number of the scan of which files' statistics could stand for the key's least and greatest value; None: there is none.
    """

    name: str
    key: str
    size: int | None = None
    cost: int | None = None
    files: int = 0
    deterministic: bool = True
    python: bool = False
    unrepeatable: str | None = None
    rows: int | None = None
    parts: tuple[Part, ...] = ()
    where: tuple[str, ...] = ()
    whole: bool = False
    ends_of: int | None = None


class PlanTimeValues(msgspec.Struct, frozen=True):
    """Values that are known before anything runs: of partition columns, from the metastore.

    Attributes:
        count: how many there are.
        complete: whether all of them are there at run time, so that nothing more is to be learnt then.
        useful: whether they may leave something out that they have not left out yet.
    """

    count: int
    complete: bool
    useful: bool


Form = Literal["column", "widened", "partitions", "ranges", "tuple", "computed"]


class Candidate(msgspec.Struct, frozen=True):
    """A scan of one of our tables, and a side of a join whose values could leave something out of it.

    Attributes:
        scan: the scan's number among those of the query.
        report: of the scan before any values are known, as `ScanReport.to_dict` gives it.
        bytes: that the scan reads then.
        column: that the values are of, as SQL.
        form: of what the values are: a `column` as it is; one that is `widened`, cast to a type which has each of its values, so that
            the other side's can be cast back; computed of `partitions`' values alone, so that Spark can do it for each; of `ranges`, a
            condition in which the least and the greatest of the other side's values stand; a `tuple` of several columns; or else
            `computed`.
        filterable: whether the scan can make use of its values.
        join: the join's number among those of the query.
        type: of the join.
        side: on which the scan is: `left`, `right`, or, of several inner joins, `inner`.
        steps: from the join down to the scan.
        equality: whether the values must be equal.
        null_aware: whether the join is that of NOT IN.
        build: the other side.
        source: number of what the values come from.
        narrowed: whether of that only those rows are left that have matches in its own neighbours.
        shared: whether Spark is to broadcast the other side, and will find its broadcast where the values are taken.
        outside: whether it is to broadcast it, but not to find it: filters of its own within that side have values of other joins.
        placed: Spark's own filter of the same: one that takes the values from a broadcast alone (`shared`), or `always`.
        known: what is known of the values in planning.
        read_once: whether Spark would read the scan once for several places of the query, were it not for these values.
        held: how many values the scan's partitions have; None: the values are not those of partitions, or these are not listed yet.
        together: number of candidates of which all are to be used or none: for scans that Spark reads once for several places of the
            query, with the values of all of these; None: it stands alone.
        tuple_column: the column that the values are of, if they could be part of tuples: as it is, widened, or by one of the two keys
            that Spark makes of `<=>`; None: they could not.
        plan: number of the plan that gives the values, the same for all keys that it gives the values of.
    """

    scan: int
    report: dict[str, Any]
    bytes: int | None
    column: str
    form: Form
    filterable: bool
    join: int
    type: str
    side: str
    steps: tuple[PlanNode, ...]
    equality: bool
    null_aware: bool
    build: Build
    source: int
    narrowed: bool
    shared: bool
    placed: Literal["shared", "always"] | None = None
    known: PlanTimeValues | None = None
    read_once: bool = False
    outside: bool = False
    held: int | None = None
    together: int | None = None
    tuple_column: str | None = None
    plan: int = -1

    @property
    def serves_itself(self) -> bool:
        """Return whether the join's broadcast has the values: where they must be cast back, or are the ends of ranges, it does not."""
        return self.shared and self.form not in ("widened", "ranges")

    @property
    def remaining_files(self) -> int | None:
        """Return how many files the scan would read without the values; None: not known."""
        return self._kept_by("files")

    @property
    def remaining_partitions(self) -> int | None:
        """Return how many partitions the scan would read without the values; None: not known."""
        return self._kept_by("partitions")

    def _kept_by(self, name: str) -> int | None:
        step = ScanReport.from_dict(self.report).step(name)
        return None if step is None else step.kept

    @property
    def table(self) -> str:
        """Return the name of the scan's table."""
        return str(self.report["table"])


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of a candidate.

    Attributes:
        how: `shared`, values of the join's broadcast are used; `collected`, the same, but where there is no broadcast the other side
            runs once more; `ends`, the least and the greatest value that statistics of the other side's files tell; `spark`, Spark itself sees to it; `known`, what is known in planning is enough; `replaced`, another candidate
            has these values or fewer; `refused`.
        reason: of a refusal.
        tuple: number of those whose values are to come as tuples; None: they come alone.
    """

    how: How
    reason: str = ""
    tuple: int | None = None

    @property
    def used(self) -> bool:
        """Return whether values come of it."""
        return self.how not in ("refused", "replaced")


class Gathered(msgspec.Struct, frozen=True):
    """What became known of the values as the query ran.

    Attributes:
        values: how many there were; None: the query has not run yet, or did not wait for them.
        shared: whether they are those of a broadcast.
        missed: after how many milliseconds they were given up, as they were not there; None: they were not.
        unused: why values that have come leave nothing out.
        scan: `read` if the plan has the scan that they are for; `reused` if another place of the query reads the same for it; `gone` if
            nothing reads it.
    """

    values: int | None
    shared: bool
    missed: int | None = None
    unused: str | None = None
    scan: Literal["read", "reused", "gone"] = "read"
