"""Records of runtime filters: where they could be used, the decision on each, and the values that came.

A `Candidate` is a place in a query where values of one side of a join could prune files of a table on the
other side. Each candidate gets a `Verdict` before the query runs (`judge`). After the build side has run,
there are `Gathered` values. The bridge finds the candidates and inserts the filters. `select` prunes files by
the values.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from parquetry.prune import How, ScanReport, node_words


class PlanNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node of the plan between a join and a scan.

    Attributes:
        node: its name, or the type of a join.
        side: for a join, the side of the scan.
        keyed: whether the node groups rows by the join's key.
        deterministic: whether it computes the same each time.
    """

    node: str
    side: str = ""
    keyed: bool = False
    deterministic: bool = True


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scan of one of our tables within the build side of a join.

    Attributes:
        scan: its number in the query.
        bytes: the bytes read if the build side runs for its values.
        files: the files opened then.
    """

    scan: int
    bytes: int
    files: int


class Build(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The build side of a join: its values become a runtime filter.

    Attributes:
        name: the name of its first table, or words for another source of rows.
        key: the join key whose values are collected, as SQL.
        size: the size of its rows in bytes, by Spark's estimate, or None if not known.
        cost: the bytes read if it runs for the values, or None if not known.
        files: the files opened then.
        deterministic: whether Spark considers it deterministic.
        python: whether a Python function computes the key.
        unrepeatable: the first non-deterministic node, which may give other rows in a second run, or None.
        rows: the estimated rows of the key's table that satisfy the query's conditions, or None if not known.
        parts: the scans of our tables in it, which other runtime filters may prune.
        where: conditions of the query on the tables that it reads, as SQL.
        whole: whether it is one of our tables, with no other conditions than its scan's.
        ends_of: the number of the scan whose files' statistics could give the key's least and greatest value,
            or None.
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

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "name", node_words(self.name))


class PlanTimeValues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Key values that the metastore has before the query runs: values of partition columns.

    Attributes:
        count: the number of values.
        complete: whether they are exactly the values at run time, so that a runtime filter adds nothing.
        useful: whether they may prune something that is not pruned yet.
    """

    count: int
    complete: bool
    useful: bool


Form = Literal["column", "widened", "partitions", "function", "ranges", "tuple", "computed"]


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scan of one of our tables (the probe side), and the build side of a join whose values could prune it.

    Attributes:
        scan: the scan's number in the query.
        report: the report of the scan without runtime values.
        bytes: the bytes that the scan reads without runtime values.
        column: the column or expression that is compared with the values, as SQL.
        form: the form of `column`, one of these:
            `column`: a plain column;
            `widened`: a column cast to a type that has each of its values, so the values can be cast back;
            `partitions`: computed from partition columns alone, so Spark can evaluate it for each partition;
            `function`: computed from columns by functions whose results are known by the bounds of files;
            `ranges`: a condition with the least and the greatest of the build side's values;
            `tuple`: several columns;
            `computed`: anything else.
        filterable: whether the scan can prune by values of `column`.
        join: the join's number in the query.
        type: the type of the join.
        side: the side of the scan: `left`, `right`, or `inner` for one of several inner joins.
        steps: the nodes from the join down to the scan.
        equality: whether the values must be equal.
        null_aware: whether the join comes from NOT IN.
        build: the build side.
        source: the number of the plan part that the values come from.
        narrowed: whether that part is reduced to the rows that match its own neighbours in the join.
        shared: whether Spark will broadcast the build side, and the filter can reuse that broadcast.
        outside: whether Spark will broadcast it, but the filter cannot reuse the broadcast, since Spark's own
            filters within that side take values of other joins.
        placed: Spark's own filter for the same values: one that only uses a broadcast (`shared`), or
            `always`; or None.
        known: the plan-time values, or None.
        read_once: whether Spark would, without this filter, read the scan once for several places of the
            query.
        held: the number of values of the scan's partitions, or None if the column is not a partition column
            or the partitions are not listed yet.
        together: the number of a group of candidates, or None if it stands alone. Either all or none of a
            group are used, since Spark reads their scans once for several places of the query.
        tuple_column: the column of the values if they could be part of tuples: a plain or widened one, or one
            of the two keys that Spark makes from `<=>`. For a computed key, its SQL. None if they could not.
        plan: the number of the plan that gives the values; all keys of one plan have the same number.
    """

    scan: int
    report: ScanReport
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
        """Return whether the join's broadcast has the values: none that are cast back, and no ranges."""
        return self.shared and self.form not in ("widened", "ranges")

    @property
    def remaining_files(self) -> int | None:
        """Return how many files the scan would read without the values, or None if not known."""
        return self._kept_by("files")

    @property
    def remaining_partitions(self) -> int | None:
        """Return how many partitions the scan would read without the values, or None if not known."""
        return self._kept_by("partitions")

    def _kept_by(self, name: str) -> int | None:
        step = self.report.step(name)
        return None if step is None else step.kept

    @property
    def table(self) -> str:
        """Return the name of the scan's table."""
        return self.report.table


class Verdict(msgspec.Struct, frozen=True):
    """The decision on a candidate.

    Attributes:
        how: the source of the values, one of these:
            `shared`: the join's broadcast;
            `collected`: the join's broadcast, or a second run of the build side if there is none;
            `ends`: the least and the greatest value in the statistics of the build side's files;
            `spark`: Spark's own filter;
            `known`: plan-time values, which are enough;
            `replaced`: none, since another candidate has the same values or fewer;
            `refused`: none.
        reason: the reason of a refusal.
        tuple: the number of the group whose values come as tuples, or None if they come alone.
    """

    how: How
    reason: str = ""
    tuple: int | None = None

    @property
    def used(self) -> bool:
        """Return whether the candidate's values are used."""
        return self.how not in ("refused", "replaced")


class Gathered(msgspec.Struct, frozen=True):
    """The values that came while the query ran.

    Attributes:
        values: the number of values, or None if the query has not run yet or did not wait for them.
        shared: whether they came from a broadcast.
        missed: the milliseconds after which a filter timed out, or None if it did not.
        unused: the reason why an arrived filter is ineffective.
        scan: `read` if the plan has the filtered scan; `reused` if another place of the query reads the same
            data for it; `gone` if no part of the plan reads it.
    """

    values: int | None
    shared: bool
    missed: int | None = None
    unused: str | None = None
    scan: Literal["read", "reused", "gone"] = "read"
