"""The arrangement of a new table's files: buckets, directories for heavy values, the order of partitions."""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.config import CLUSTERED_BY, SKEWED_LOCATIONS, Settings
from parquetry.ddl import ClusteredBy
from parquetry.definition import bucketing, record_skew
from parquetry.errors import BucketError, PropertyError
from parquetry.identifiers import join_name
from parquetry.metastore import TableMetadata
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import questions

BUCKET_TRANSFORMS = ("bucket", "sorted_bucket")
"""Names of the transforms in PARTITIONED BY that stand for buckets."""
CLUSTER_TRANSFORM = "cluster_by"
"""Name of the transform that stands for CLUSTER BY."""


def skewed(metadata: TableMetadata, lake: Lake, label: str) -> TableMetadata:
    """Return the metadata with the heavy values from its properties.

    Raises:
        SkewError: the values cannot be used.
        LocationTakenError: the location for one of them belongs to another, managed table.
    """
    skew, of_partition = record_skew(metadata, lambda: lake.engine.time_zone)
    if of_partition is not None:
        raise PropertyError(
            f"Table property {SKEWED_LOCATIONS!r} names a partition, and a new table has none: leave PARTITION out."
        )
    lake.locations.require_free_cells(label, skew.arrangement)
    return skew


def bucketed(
    metadata: TableMetadata, label: str, partitioning: Sequence[questions.Transform]
) -> TableMetadata:
    """Return the metadata with the buckets from its properties, or from `bucket(8, id)` in PARTITIONED BY.

    Raises:
        BucketError: the buckets cannot be used, or are given twice.
        PropertyError: a property about them cannot be used.
    """
    transforms = [each for each in partitioning if each.name in BUCKET_TRANSFORMS]
    said = [each.text for each in transforms] + ["CLUSTERED BY"] * (CLUSTERED_BY in metadata.properties)
    if len(said) > 1:
        raise BucketError(
            f"The buckets of table {label} are said more than once: {', '.join(said)}. Give one."
        )
    if transforms:
        metadata = bucketing.declare_buckets(metadata, _clustered_by(transforms[0]))
    return bucketing.record_buckets(label, metadata)


def _clustered_by(transform: questions.Transform) -> ClusteredBy:
    """Return the clause that means the same as a transform.

    Raises:
        BucketError: it names a field of a struct.
    """
    at = next(i for i, argument in enumerate(transform.arguments) if "lit" in argument)
    before, behind = (
        [argument["col"] for argument in part]
        for part in (transform.arguments[:at], transform.arguments[at + 1 :])
    )
    columns, sorted_by = (behind, []) if transform.name == "bucket" else (before, behind)
    for path in (*columns, *sorted_by):
        if len(path) > 1:
            raise BucketError(
                f"{transform.text} names {join_name(path)}, a field of a struct: rows go into buckets by whole columns."
            )
    names, order = (tuple(path[0] for path in part) for part in (columns, sorted_by))
    return ClusteredBy(names, tuple((name, False) for name in order), int(transform.arguments[at]["lit"]))


def descending_columns(settings: Settings, partition_by: Sequence[str]) -> tuple[bool, ...]:
    """Return for each partition column whether its keys are descending; empty if none is.

    Raises:
        PropertyError: the setting names a column that is no partition column.
    """
    down: set[str] = set()
    for name, descending in settings["partition-order"] or ():
        if name.lower() not in {column.lower() for column in partition_by}:
            raise PropertyError(
                f"Table property 'partition-order' names {name!r}, which is not a partition column; those are "
                f"{', '.join(partition_by) or '(none)'}."
            )
        if descending:
            down.add(name.lower())
    return tuple(name.lower() in down for name in partition_by) if down else ()
