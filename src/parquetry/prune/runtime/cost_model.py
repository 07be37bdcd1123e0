"""The limits by which run-time filters are judged, planned and passed on: each with its unit, what it weighs, and why it is so large.

A run-time filter costs its build side's values: to run the side once more, to collect them, to plan the scan anew, to hand them to
readers. It gains the files, row groups and partitions that it leaves out. The rules that weigh one against the other are
`judge`, `build_costs`, `dense_keys` and `row_group_ranges`; `estimates` has what they reckon with.
The numbers that they compare with are all here, also the bridge's: it gets them once, when the planner is put into a session
(`planner/protocol/terms.py`). What users may want to move is a setting and not here: `runtime-pruning-max-build-size`, `runtime-pruning-max-wait`.
"""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """All limits of the cost model.

    Attributes:
        set_values: values of one set that are looked up one by one; of more, the least and the greatest count. The question has 8 bytes for
            each number.
        tuples: tuples of one join that are looked up; of more, the set of each column counts. Ten thousand take 0.15 s of planning, as
            long as a hundred thousand values of a set.
        broadcast_factor: times `runtime-pruning-max-build-size` that a broadcast may have for its values to be taken: it is not run again.
        second_run_gain: times the bytes of a build side that the probe side must have for the build side to run once more.
        reduced_build_gain: the same for a build side of which other run-time filters are expected to leave little: that is an estimate.
        file_opening_bytes: bytes as which the opening of a file counts: columns of small files are tiny, and opening takes the time.
        scattered_rows: rows of a build side from which on its values are taken to be in every file that spans the range of their column.
        scattered_span: share of the whole range that files span on average, from which on their values are taken to lie everywhere.
        narrow_span: share of the range that files may span at most for many values to leave some of them out.
        key_range_share: share of the build side's files that may remain at most for the range of its keys to be used.
        dense_key_values: keys that cost next to nothing to collect, so that nobody asks whether they leave something out.
        dense_key_share: share of the numbers in their range that keys must have to be taken for all that there are.
        key_ranges: ranges of one set that readers get: every row group is compared with each.
        looked_up_values: values of one set that readers look up: a probe of a row group's Bloom filter takes some 50 ns.
        sparse_numbers: numbers in the range of a set for each of its values, from which on the set is looked up: a row group with a
            hundred numbers from the whole range has one of a denser set as good as certainly.
        row_group_bytes: bytes of a file that is taken to have one row group.
        likely_rows: expected matches in a file, from which on it is taken to have one: where values lie evenly, e ** -5 of such files
            have none.
        likely_repeated_rows: the same where each value of a file is in ten of its rows.
        likely_files: share of the files that must be likely to match for a filter to be of no use.
        listed_partitions: partitions of a table, of which fewer are listed while a query is planned; the files of more are listed once the
            values of its joins have come.
        end_partitions: partitions at the beginning of a large table by which the bytes of its columns are estimated; one at its end is, too.
        sampled_files: files by which those of a table are judged.
        unordered_files: files that are in some order, whatever they hold.
        order_correlation: Pearson's correlation of files' order and their values, from which on one is taken to grow with the other.
        key_statistics_files: files of a table that are looked through, once a version, for how a key lies in them.
        joined_tables: tables that inner joins bring together, of which each build side is tried as the others narrow it. Each equality of
            two columns gives some candidates, each with a plan of its own. The number was chosen, not measured.
        condition_joins: joins between a build side and a condition that narrows it. Each is one join more that runs for the values. Chosen,
            not measured: it reaches from a customer to the region of the address.
        planning_rounds: times that candidates are looked for again in one plan, as values known in planning have made a scan smaller. Each
            is one question more; where the partitions of a table tell those of the next, each table of the chain takes one.
        nested_filters: filters put into the plan of one filter of Spark's own. Its side may have many joins, whose sides have filters again:
            TPC-DS q25 had ten in each other, and planning ran out of memory.
        evaluated_rows: rows of partitions' values over which Spark evaluates a key while it plans; of more, the key is not known before the
            query runs. They are evaluated one by one while the user waits. Chosen, not measured.
        cached_bytes_read: bytes of data cached in memory that are read as fast as one byte of a file. Spark's own dynamic pruning weighs
            data that is cached on disk, too, by the same fifth.
        listed_values: values that a report or EXPLAIN lists one by one, and that an expression's condition is made of; of more, their number
            and both ends. A longer line is not read, and what each value of an expression implies for columns has to be found.
        expanded_tuples: tuples of an IN list that become conditions on columns, by which files are left out. Rows are then tested by one
            condition after the other, where Spark looks a tuple up in a set.
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
    dense_key_values: int = 10_000
    dense_key_share: float = 0.5
    key_ranges: int = 100
    looked_up_values: int = 10_000
    sparse_numbers: int = 20
    row_group_bytes: int = 32 << 20
    likely_rows: int = 5
    likely_repeated_rows: int = 50
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


LIMITS = Limits()
