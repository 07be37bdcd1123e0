"""Keys of a join are taken together if one build side gives their values, and they place the table's rows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from parquetry.joins.runtime.candidates import Candidate, PlanTimeValues, Verdict
from parquetry.joins.runtime.judge import decide
from parquetry.joins.runtime.outcomes import CandidateOutcome, reports
from parquetry.joins.runtime.tuples import PlacementColumns, placement_columns
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.skew_map import SkewMap
from parquetry.metastore.storage.model import TableColumn, TableMetadata
from tests.unit.joins.runtime.test_candidates import LIMIT, build, candidate

BY_PARTITIONS = PlacementColumns(frozenset(("day", "y", "h")))


def key(column: str, **changed: Any) -> Candidate:
    """Return the candidate of one key of a join whose broadcast has the values."""
    facts = {
        "column": column,
        "tuple_column": column,
        "build": build(key=column),
        "shared": True,
        "plan": 2,
        "form": "column",
    }
    return candidate(**facts | changed)


def groups(candidates: list[Candidate], by: PlacementColumns = BY_PARTITIONS) -> list[tuple[str, int | None]]:
    verdicts = decide(candidates, [LIMIT] * len(candidates), placing=lambda _: by)
    return [(verdict.how, verdict.tuple) for verdict in verdicts]


def numbers(candidates: list[Candidate], by: PlacementColumns = BY_PARTITIONS) -> list[int | None]:
    return [number for _, number in groups(candidates, by)]


def test_keys_of_one_build_side() -> None:
    """Two or three keys of one join, side and plan make one tuple; a single key makes none.

    Other joins, sides and plans have tuples of their own.
    """
    assert groups([key("day"), key("y")]) == [("collected", 0), ("collected", 0)]
    assert numbers([key("day"), key("Y"), key("h"), key("v")]) == [0, 0, 0, None]
    assert numbers([key("day"), key("v")]) == [None, None]
    assert numbers([key("day"), key("y", join=5)]) == [None, None]
    assert numbers([key("day"), key("y", scan=5)]) == [None, None]
    assert numbers([key("day"), key("y", plan=5)]) == [None, None]
    star = [key("day"), key("day", join=5, plan=6, source=6), key("y"), key("y", join=5, plan=6, source=6)]
    assert numbers(star) == [0, 1, 0, 1]
    assert numbers([key("day"), key("y"), key("day", join=5, plan=6, source=6)]) == [0, 0, None]


def test_keys_computed_from_data_columns() -> None:
    """A key computed from data columns takes part in tuples beside a key that places rows, and not alone."""
    day, computed, other = key("day"), key("(v + 1)", form="function"), key("(w + 1)", form="function")
    assert numbers([day, computed]) == [0, 0]
    assert numbers([day, computed, other]) == [0, 0, 0]
    assert numbers([computed, other]) == [None, None]
    assert numbers([key("v"), computed]) == [None, None]
    assert groups([day, key("hash(v)", form="computed")])[1] == ("refused", None)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"tuple_column": None}, [None, None]),  # computed in a way that is not understood
        ({"filterable": False}, [None, None]),
        ({"shared": False}, [None, None]),  # of another kind
        ({"together": 3}, [None, None]),
        ({"form": "widened"}, [0, 0]),
        ({"form": "partitions"}, [0, 0]),
        ({"known": PlanTimeValues(3, True, False)}, [0, 0]),  # all of them come at run time as well
        ({"known": PlanTimeValues(3, False, True)}, [None, None]),
        ({"placed": "shared"}, [0, 0]),  # in place of Spark's own
        ({"placed": "shared", "build": build(key="y", size=LIMIT * 20)}, [None, None]),
    ],
)
def test_other_forms(changed: dict[str, Any], expected: list[int | None]) -> None:
    """A key joins another if its values come at run time, from the same plan, and are understood."""
    assert numbers([key("day"), key("y", **changed)]) == expected


def test_known_values_alone_wait_for_nothing() -> None:
    """If the values of all keys are known at plan time, no second run is planned."""
    known = {"known": PlanTimeValues(3, True, False)}
    assert groups([key("day", **known), key("y", **known)]) == [("known", None), ("known", None)]


def test_null_safe_keys() -> None:
    """Spark makes two keys of `<=>`: both are of one column, which is no tuple by itself."""
    halves = [
        key("coalesce(day, 0)", tuple_column="day", form="partitions"),
        key("(day IS NULL)", tuple_column="day", form="partitions"),
    ]
    assert numbers(halves) == [None, None]
    assert numbers([*halves, key("y")]) == [0, 0, 0]


def test_columns_that_place_rows() -> None:
    """All columns of the buckets, skewed columns with directories, partition columns, by logical names."""
    columns = (
        TableColumn("A", "long"),
        TableColumn("b", "long"),
        TableColumn("p", "long"),
        TableColumn("v", "long"),
    )
    metadata = TableMetadata(columns, ("p",), "parquet", "file:/t")
    arranged = ArrangementSpec(SkewMap(("b", "v"), ((1, 2),), directories=True), BucketSpec(("A", "b"), 8))
    found = placement_columns(replace(metadata, arrangement=arranged))
    assert found.used_together(frozenset("ap")) == frozenset()
    assert found.used_together(frozenset("abpx")) == frozenset("abp")
    assert found.used_together(frozenset("avpx")) == frozenset("vp")
    plain = placement_columns(replace(metadata, arrangement=ArrangementSpec(SkewMap(("b", "v"), ((1, 2),)))))
    assert plain.used_together(frozenset("abvp")) == frozenset()


def test_the_report_says_tuples() -> None:
    """A line for all keys together."""
    told = CandidateOutcome(
        key("(day, y)", form="tuple", build=build(key="(day, y)")), Verdict("shared", tuple=0)
    )
    (line,) = reports([told])
    assert line.to_dict()["tuples"] is True
    assert "(day, y): no run-time tuples of dim.(day, y)" in str(line)  # the query has not run
