"""The steps of pruning in their order; selection, reports, drawings and metrics follow this list."""

from __future__ import annotations

import msgspec

from parquetry.prune.report.scan import ScanReport
from parquetry.prune.rule import Rule
from parquetry.prune.rules.buckets import BucketRule
from parquetry.prune.rules.bytes import BytesRule
from parquetry.prune.rules.directories import DirectoryRule
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.partitions import PartitionRule
from parquetry.prune.rules.results.answered import AnsweredRule
from parquetry.prune.rules.results.first_rows import FirstRowsRule

ARRANGEMENT_STEPS: tuple[Rule, ...] = (DirectoryRule(), BucketRule())
"""The rules that go by where rows are placed within a partition."""
STEPS: tuple[Rule, ...] = (
    PartitionRule(),
    *ARRANGEMENT_STEPS,
    FileRule(),
    FirstRowsRule(),
    AnsweredRule(),
    BytesRule(),
)
"""Each rule narrows what earlier rules kept; the first reads the metastore."""


def reported() -> tuple[Rule, ...]:
    """Return the rules that have a step of their own in the report, in order."""
    return tuple(rule for rule in STEPS if not rule.continues)


def unread(report: ScanReport) -> ScanReport:
    """Return the report of a scan that did not take place, since the metastore answered alone."""
    rules = {rule.name: rule for rule in reported()}
    return msgspec.structs.replace(
        report, steps=tuple(rules[step.name].unread(step) for step in report.steps)
    )
