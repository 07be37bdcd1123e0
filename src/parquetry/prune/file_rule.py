"""Files: what their partition's values and their statistics say about the conditions that partitions leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress

from parquetry.predicate.match import Match, match
from parquetry.prune.condition import Condition
from parquetry.prune.files import FileKnowledge
from parquetry.prune.rule import Left, PartitionFiles, Rule, Scan
from parquetry.prune.scan_report import Step
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
        knowledge = FileKnowledge(scan.snapshot.metadata, left.parts)
        tally = Tally()
        answers = tally.judge(asked, [match(condition.filter, knowledge) for condition in asked]).tolist()
        kept = of - answers.count(Match.CANNOT)
        certain = left.certain and Match.MIGHT not in answers
        idle = [each for each in asked if each not in tally and not each.within(scan.partition_by)]
        narrowed = replace(left, parts=_kept(left.parts, answers), certain=certain)
        return narrowed, tally.step(self, kept, of, asked, _reasons(idle, knowledge))

    def unread(self, step: Step) -> Step:
        """Return the step of a scan whose files all stayed closed."""
        return replace(step, kept=0, by=("answered by the metastore",), not_by=(), origins=())


def _kept(parts: Sequence[PartitionFiles], answers: Sequence[int]) -> list[PartitionFiles]:
    """Return partitions with those of their files that are kept; the answers are about one after the other."""
    chosen, done = [], 0
    for partition, files in parts:
        chosen.append(PartitionFiles(partition, list(compress(files, answers[done : done + len(files)]))))
        done += len(files)
    return chosen


def _reasons(idle: Sequence[Condition], knowledge: FileKnowledge) -> Callable[[Condition], str | None]:
    """Return the rule that says why a condition that cut no file did not; None where there is nothing to say."""
    about = {name for condition in idle for name in condition.about}
    unknown = set(knowledge.without_statistics(about)) if knowledge.count else set()

    def reason(condition: Condition) -> str | None:
        if not knowledge.count or condition not in idle:
            return None
        if condition.not_understood is not None:
            return condition.not_understood
        missing = sorted(condition.about & unknown)
        if missing:
            return f"no statistics for {'column' if len(missing) == 1 else 'columns'} {', '.join(missing)}"
        return "every file may hold a match"

    return reason
