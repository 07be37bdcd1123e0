"""Take a profile of a session's questions to the planner: a table and folded stacks.

The bridge measures its rules, and the time from a question to its answer. The planner measures
each answer (`planner.tracing`). Both are put together by the questions' numbers.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

from parquetry.planner import TRACE_VARIABLE, AnsweredQuestion, Recorder, record_by, stop_recording


class Trace:
    """The profile of what a session asks the planner within a `with` block; see `parquetry.trace`.

    It is complete after the block. All sessions of the process are in it.

    Args:
        tracing: the object `Tracing` of the bridge, or None for times that were written to a file.
        functions: whether to measure the planner's functions.

    Attributes:
        rows: a dict for each question, in the order of the answers. `question` is its name, `table` is its
            table, and `asked_by` is the part of the bridge that asked it. `ms` is the time until the answer
            was there, and `planner_ms` the part of the planner. `planner_cpu_ms` and `bridge_cpu_ms` are of
            the processor. `question_characters` and `answer_characters` are the lengths of both texts.
            `spark.createDataFrame(trace.rows)` makes a DataFrame.
        rules: a dict for each rule of Parquetry that looked at a plan with one of its tables: `rule`, `runs`,
            `ms` and `cpu_ms`, with the questions that it asked.
    """

    def __init__(self, tracing: Any, *, functions: bool) -> None:
        self._bridge = tracing
        self._recorder = Recorder(functions=functions)
        self._answers: list[AnsweredQuestion] = []
        self._steps: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []
        self.rules: list[dict[str, Any]] = []

    def __enter__(self) -> Trace:
        """Begin to measure."""
        self._bridge.switch(True)
        record_by(self._recorder)
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop measuring."""
        stop_recording(self._recorder)
        steps = json.loads(self._bridge.take())["steps"]
        self._bridge.switch(TRACE_VARIABLE in os.environ)
        self.put(self._recorder.take(), steps)

    def put(self, answers: list[AnsweredQuestion], steps: list[dict[str, Any]]) -> None:
        """Take what the planner and the bridge have measured.

        Args:
            answers: of the planner.
            steps: of the bridge, as `bridge/protocol/Tracing.scala` writes them.
        """
        self._answers, self._steps = answers, steps
        trips = {step["number"]: step for step in steps if step["op"]}
        self.rows = [_row(each, trips.get(each.number)) for each in answers]
        self.rules = _rules([step for step in steps if not step["op"]])

    def stack_lines(self) -> list[str]:
        """Return a line for each stack, with the microseconds that it took by itself.

        Tools that draw flame graphs read such lines, as speedscope does: `rule;question;planner 1200`.
        """
        return [f"{path} {time}" for path, time in sorted(self._stacks().items()) if time > 0]

    def _stacks(self) -> Counter[str]:
        """Return the microseconds of each stack itself, without those above it."""
        stacks: Counter[str] = Counter()
        trips = {step["number"]: step for step in self._steps if step["op"]}
        for step in self._steps:
            path = ";".join([*step["path"], *([step["op"]] if step["op"] else [])])
            stacks[path] += step["nanos"] // 1000
            if len(step["path"]) > 1 or step["op"]:  # it is a part of what called it
                stacks[";".join(step["path"][: None if step["op"] else -1])] -= step["nanos"] // 1000
        for each in self._answers:
            asked = ";".join([*each.path, each.op])
            stacks[f"{asked};planner"] += round(1e6 * each.seconds) - sum(each.functions.values())
            if each.number in trips:
                stacks[asked] -= round(1e6 * each.seconds)
            for function, time in each.functions.items():
                stacks[f"{asked};planner;{function}"] += time
        return Counter({path: time for path, time in stacks.items() if path and time > 0})

    def __str__(self) -> str:
        """Return the questions as a table, the longest first, and their sums."""
        lines = [f"{'ms':>9} {'planner':>9} {'CPU':>9}  question"]
        for row in sorted(self.rows, key=lambda row: -row["ms"]):
            about = " ".join(part for part in (row["question"], row["table"], f"({row['asked_by']})") if part)
            lines.append(f"{row['ms']:9.2f} {row['planner_ms']:9.2f} {row['planner_cpu_ms']:9.2f}  {about}")
        sums = [sum(row[name] for row in self.rows) for name in ("ms", "planner_ms", "planner_cpu_ms")]
        lines.append(" ".join(f"{each:9.2f}" for each in sums) + f"  {len(self.rows)} questions")
        return "\n".join(lines)


def _row(each: AnsweredQuestion, trip: dict[str, Any] | None) -> dict[str, Any]:
    planner = 1000 * each.seconds
    return {
        "question": each.op,
        "table": each.table,
        "asked_by": " › ".join(each.path),
        "ms": planner if trip is None else trip["nanos"] / 1e6,
        "planner_ms": planner,
        "planner_cpu_ms": 1000 * each.cpu_seconds,
        "bridge_cpu_ms": 0.0 if trip is None else trip["cpu"] / 1e6,
        "question_characters": each.question_characters,
        "answer_characters": each.answer_characters,
    }


def _rules(steps: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules, the longest first."""
    rules: dict[str, dict[str, Any]] = {}
    for step in steps:
        name = step["path"][-1]
        rule = rules.setdefault(name, {"rule": name, "runs": 0, "ms": 0.0, "cpu_ms": 0.0})
        rule["runs"] += 1
        rule["ms"] += step["nanos"] / 1e6
        rule["cpu_ms"] += step["cpu"] / 1e6
    return sorted(rules.values(), key=lambda rule: -rule["ms"])
