"""Files: what their partition's values and their statistics say about the conditions that partitions leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from parquetry.metastore.model import DataFile
from parquetry.predicate.match import Match
from parquetry.prune.condition import Condition
from parquetry.prune.files import FileMatcher
from parquetry.prune.report import Step
from parquetry.prune.rule import Left, PartitionFiles, Rule, Scan
from parquetry.prune.tally import Tally


class FileRule(Rule):
    """Keeps a file unless its statistics rule a condition out. Where no condition is open, no file is looked at."""

    name = "files"
    kept_text = "files read"
    of_text = "files of the partitions read"

    def narrow(self, scan: Scan, left: Left) -> tuple[Left, Step | None]:
        """Keep the files that can hold an answer."""
        of = sum(len(part.files) for part in left.parts)
        asked = [condition for condition in scan.conditions if not condition.decided_by(scan.partition_by)]
        if not asked:
            return left, Step(self.name, of, of)
        matcher = FileMatcher(scan.snapshot.metadata, {name for each in asked for name in each.about})
        tally = Tally()
        predicates = [condition.predicate for condition in asked]
        parts, kept, undecided = [], 0, 0
        for partition, files in left.parts:
            match = matcher.enter(partition.values)
            chosen = []
            for file in files:
                verdicts = [match(predicate, file) for predicate in predicates]
                if tally.cut(asked, verdicts):
                    continue
                undecided += Match.MIGHT in verdicts
                chosen.append(file)
            kept += len(chosen)
            parts.append(PartitionFiles(partition, chosen))
        idle = [each for each in asked if each not in tally and not each.within(scan.partition_by)]
        reason = _reasons(idle, matcher, [file for part in left.parts for file in part.files] if idle else [])
        narrowed = replace(left, parts=parts, certain=left.certain and undecided == 0)
        return narrowed, tally.step(self, kept, of, asked, reason)

    def unread(self, step: Step) -> Step:
        """Return the step of a scan whose files all stayed closed."""
        return replace(step, kept=0, by=("answered by the metastore",), not_by=(), origins=())


def _reasons(
    idle: Sequence[Condition], matcher: FileMatcher, files: Sequence[DataFile]
) -> Callable[[Condition], str | None]:
    """Return the rule that says why a condition that cut no file did not; None where there is nothing to say."""
    unknown = set(matcher.without_statistics(files)) if files else set()

    def reason(condition: Condition) -> str | None:
        if not files or condition not in idle:
            return None
        if condition.not_understood is not None:
            return condition.not_understood
        missing = sorted(condition.about & unknown)
        if missing:
            return f"no statistics for {'column' if len(missing) == 1 else 'columns'} {', '.join(missing)}"
        return "every file may hold a match"

    return reason
