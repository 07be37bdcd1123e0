"""Rules for tables with directories of skewed values: each rule, when it holds, and what relaxes it."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from parquetry.definition.list_bucketing_rules import RULES, Occasion, Subject, require_allowed
from parquetry.errors import ListBucketingError, LoadIntoSkewedError, SkewError

FINE = Subject(label="db.t", directories=True)
BREAKING = {
    "load-data": (FINE, "load"),
    "buckets": (Subject(label="db.t", directories=True, buckets=True), "define"),
    "format": (Subject(label="db.t", directories=True, file_format="textfile"), "concatenate"),
    "external": (Subject(label="db.t", directories=True, external=True), "define"),
    "create-as": (FINE, "create as"),
    "unpartitioned": (Subject(label="db.t", directories=True, partitioned=False), "overwrite"),
    "insert-into": (FINE, "append"),
    "default-directory": (FINE, "name partition"),
}


def test_there_is_a_case_for_each_rule() -> None:
    """Rules without a case would not be tried."""
    assert list(BREAKING) == [rule.name for rule in RULES]


@pytest.mark.parametrize("name", BREAKING)
def test_a_rule_is_told_by_its_name_with_what_lifts_it(name: str) -> None:
    """The message names the rule, the table and the property that relaxes the rule.

    For a rule that cannot be relaxed it says what to do instead.
    """
    subject, occasion = BREAKING[name]
    with pytest.raises(SkewError) as raised:
        require_allowed(subject, occasion)  # type: ignore[arg-type]
    rule = next(each for each in RULES if each.name == name)
    assert f"table db.t (rule {name}). {rule.instead}" in raised.value.message
    assert ("'list-bucketing-rules' = 'relaxed'" in raised.value.message) == rule.liftable
    assert isinstance(raised.value, LoadIntoSkewedError if name == "load-data" else ListBucketingError)


@pytest.mark.parametrize("name", BREAKING)
def test_relaxed_lifts_what_can_be_done(name: str) -> None:
    """Loading, and files that cannot be merged, stay refused."""
    subject, occasion = BREAKING[name]
    relaxed = Subject(
        label="db.t", directories=True, buckets=subject.buckets, external=subject.external,
        partitioned=subject.partitioned, file_format=subject.file_format, relaxed=True,
    )  # fmt: skip
    if name in ("load-data", "format"):
        with pytest.raises(SkewError):
            require_allowed(relaxed, occasion)  # type: ignore[arg-type]
    else:
        require_allowed(relaxed, occasion)  # type: ignore[arg-type]


def test_without_directories_no_rule_holds() -> None:
    """No rule holds for a table without directories of skewed values, on any occasion."""
    for occasion, flag in itertools.product(get_args(Occasion), (True, False)):
        subject = Subject(
            label="db.t",
            directories=False,
            buckets=flag,
            external=flag,
            partitioned=not flag,
            file_format="csv",
        )
        require_allowed(subject, occasion)
