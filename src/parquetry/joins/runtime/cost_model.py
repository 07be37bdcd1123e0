"""The limits of the cost model of runtime filters, each with its unit and the reason for its value."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """All limits of the cost model of runtime filters.

    ## What it is

    A runtime filter takes the values of a join's build side and prunes the scan on the probe side. It costs
    time: to run the build side a second time, to collect its values, to plan the scan again, and to pass
    values to readers. It gains the partitions, files and row groups that it prunes. The modules `judge`,
    `build_costs`, `dense_keys` and `row_group_ranges` weigh cost against gain, with the numbers of
    `estimates`. All thresholds that they compare with are here, the bridge's as well: the planner sends them
    once for each session (`planner/protocol/terms.py`).

    ## Example

    `d LEFT JOIN f ON f.k = d.k`. Spark does not broadcast `d`, so `d` must run a second time for its keys.
    Costs are bytes to read, and each file to open counts as `file_opening_bytes`, 256 KiB. Run `d` again if

        (bytes of d + files of d × 256 KiB) × second_run_gain <= bytes of f + files of f × 256 KiB

    | d                | f                   | cost × 2               | gain                     | verdict     |
    |------------------|---------------------|------------------------|--------------------------|-------------|
    | 6 MiB in 4 files | 100 MiB, 200 files  | (6 + 1) × 2 = 14 MiB   | 100 + 50 = 150 MiB       | `collected` |
    | 6 MiB in 4 files | 10 MiB in 8 files   | (6 + 1) × 2 = 14 MiB   | 10 + 2 = 12 MiB          | `refused`   |

    In the second row, reading `d` again costs 7 MiB, more than half of the 12 MiB that it may save at most. A
    `d` of more than 10 MiB is refused in both rows, by the default of `runtime-pruning-max-build-size`. If
    Spark broadcasts `d`, the filter takes the values from the broadcast, and `broadcast_factor` is the limit.

    ## What it is not

    It is not an optimizer: it never changes the order or type of a join, only adds filters. It does not
    predict seconds. A wrong estimate costs time, never rows, since each filter keeps every row that may
    match.

    It holds no settings. Users may change `runtime-pruning-max-build-size` and `runtime-pruning-max-wait`.

    ## Why not otherwise

    Limits in the modules that use them would be spread over Python and Scala, and some would be written
    twice. Costs in seconds would depend on machine and storage, whereas the metastore has bytes and files
    before a query runs. Histograms would improve estimates, but files have only a minimum and a maximum of
    each column.

    References: Spark's dynamic partition pruning (`PartitionPruning`), which compares bytes in the same way;
    DuckDB's `join_order/cost_model.cpp`.

    Attributes:
        set_values: values of one set that are looked up one by one. A larger set is used by its least and
            greatest value. The question to the planner has 8 bytes for each number.
        tuples: tuples of one join that are looked up. More tuples are used as one set for each column. Ten
            thousand tuples take 0.15 s of planning, as long as a hundred thousand values of a set.
        broadcast_factor: how many times `runtime-pruning-max-build-size` a broadcast may have for its values
            to be used. A broadcast may be larger than other build sides, since it does not run again.
        second_run_gain: how many times the build side's cost the probe side must have for a second run.
        reduced_build_gain: the same if other runtime filters are expected to reduce the build side; more,
            since the reduced size is an estimate.
        file_opening_bytes: bytes that opening a file counts as. Columns of small files are tiny, and opening
            takes the time.
        scattered_rows: rows of a build side; with more, its values are assumed to be in every file that spans
            their column's range.
        scattered_span: share of a column's range that a file spans on average; above it, values count as
            scattered.
        narrow_span: share of a column's range that a file spans on average; up to it, many values still prune
            files.
        key_range_share: greatest share of the build side's files that may remain for the range of its keys to
            be used.
        uncounted_keys: rows of a small table whose number of distinct keys is not known; with more, each
            row counts as a key of its own.
        dense_key_share: least share of the numbers in their range that keys must have to count as dense.
        key_ranges: ranges that readers get for one set; each row group is compared with each range.
        looked_up_values: values of one set that readers look up; a probe of a row group's Bloom filter takes
            some 50 ns.
        sparse_numbers: numbers in a set's range for each of its values; if there are more, the set is looked
            up. A row group with a hundred numbers from the whole range almost certainly has a value of a
            denser set.
        row_group_bytes: bytes of a file; a file with no more is assumed to have one row group.
        likely_rows: expected matches in a file; with as many, the file is assumed to match. If values are
            evenly distributed, e ** -5 of such files (0.7 %) have none.
        likely_repeated_rows: the same limit if each value of a file is in ten of its rows.
        condition_rows: rows of a file that are read in the time that a reader takes for a condition, a
            millisecond. Files with one row group and fewer rows, on average, get no sets.
        value_rows: more such rows for each value of a set. Each file's reader writes its condition into its
            settings, compressed, and reads it back: 5 ms for 2,744 values and a hundred ranges.
        likely_files: share of the files that must be likely to match for a filter to be ineffective.
        listed_partitions: partitions of a table; with fewer, files are listed while the query is planned.
            With as many or more, they are listed only after runtime values arrive (deferred listing).
        end_partitions: partitions at the beginning of a large table that serve to estimate the bytes of its
            columns; one partition at its end does as well.
        sampled_files: files that are examined to judge all files of a table.
        unordered_files: so few files count as ordered, with any values.
        order_correlation: Pearson correlation of the files' order with their values; from here on they count
            as ordered.
        key_statistics_files: greatest number of a table's files that are examined, once for each version, for
            the order of a key.
        joined_tables: tables in a group of inner joins; in larger groups, build sides reduced by other tables
            are not tried. Each equality of two columns gives some candidates, each with a plan of its own.
            Chosen, not measured.
        condition_joins: joins between a build side and a condition that reduces it. Each is one more join
            that runs for the values. Chosen, not measured: it reaches from a customer to the region of the
            address.
        planning_rounds: times that the bridge searches one plan for candidates again, after plan-time values
            have made a scan smaller. Each round is one more question. In a chain of tables, where the
            partitions of one give the values for the next, each table takes one round.
        nested_filters: filters inserted into the plan of one of Spark's own filters. Its build side may have
            many joins, whose sides have filters again: TPC-DS q25 nested ten, and planning ran out of memory.
        evaluated_rows: rows of partition values over which Spark evaluates a key while it plans. With more,
            the key has no plan-time values. They are evaluated one by one while the user waits. Chosen, not
            measured.
        cached_bytes_read: bytes of data cached in memory that are read as fast as one byte of a file. Spark's
            own dynamic pruning uses the same factor of five, also for data cached on disk.
        listed_values: values that a report or EXPLAIN lists one by one, and that become conditions of an
            expression. Of more values it shows the number and both ends. A longer line is not read, and each
            value of an expression would need its own implied condition.
        expanded_tuples: tuples of an IN list that become conditions on columns, which prune files. Rows are
            then tested by one condition after the other, whereas Spark looks a tuple up in a set.
        native_files: files of a scan; with more, no native engine reads them. Its scan lists each file by
            itself before the query runs, and tests each by runtime values. Chosen, not measured.
        boxes: rows that become conditions one by one, of a build side whose values bound columns
            (`f.day BETWEEN d.first AND d.last`). If there are more, neighbours become one condition.
    """

    set_values: int = 1_000_000
    tuples: int = 10_000
    broadcast_factor: int = 10
    second_run_gain: int = 2
    reduced_build_gain: int = 5
    file_opening_bytes: int = 1 << 18
    scattered_rows: int = 10_000
    scattered_span: float = 0.9
    narrow_span: float = 0.5
    key_range_share: float = 0.5
    uncounted_keys: int = 10_000
    dense_key_share: float = 0.5
    key_ranges: int = 100
    looked_up_values: int = 10_000
    sparse_numbers: int = 20
    native_files: int = 10_000
    row_group_bytes: int = 32 << 20
    likely_rows: int = 5
    likely_repeated_rows: int = 50
    condition_rows: int = 1_000
    value_rows: int = 2
    likely_files: float = 0.9
    listed_partitions: int = 100
    end_partitions: int = 2
    sampled_files: int = 100
    unordered_files: int = 2
    order_correlation: float = 0.9
    key_statistics_files: int = 100_000
    joined_tables: int = 12
    condition_joins: int = 3
    planning_rounds: int = 10
    nested_filters: int = 8
    evaluated_rows: int = 100_000
    cached_bytes_read: int = 5
    listed_values: int = 20
    expanded_tuples: int = 100
    boxes: int = 100


LIMITS = Limits()
