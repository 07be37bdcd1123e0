"""Measure the planner's answers, question by question, while a trace is taken.

`Planner` hands each answer to the recorder of this process, if there is one.
`parquetry.spark.serving.trace` brings one, and puts what it has recorded together with the bridge's times.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from parquetry.planner.protocol import questions

TRACE_VARIABLE = "PARQUETRY_TRACE"
"""Environment variable: the file that a process adds its questions to."""
MAX_TRACED_QUESTIONS = 100_000
"""Questions that a recorder keeps; later ones are not recorded."""
_PACKAGE = str(Path(__file__).parents[1])
_lock = threading.Lock()
_recorder: list[Recorder] = []


class AnsweredQuestion(msgspec.Struct, frozen=True):
    """A question, and what its answer took in the planner.

    Attributes:
        number: of the question in the bridge's trace, or 0 if the bridge does not trace.
        op: name of the question.
        table: database and name of the table that it is about, or an empty text.
        path: what of the bridge asked it, the outermost first.
        seconds: elapsed, without the way between bridge and planner.
        cpu_seconds: of the processor.
        question_characters: the length of the question.
        answer_characters: the length of the answer.
        functions: microseconds of the functions that answered it, by the functions on the way to each joined
            by `;`. Empty unless functions are traced.
    """

    number: int
    op: str
    table: str
    path: list[str]
    seconds: float
    cpu_seconds: float
    question_characters: int
    answer_characters: int
    functions: dict[str, int] = {}


class Measured:
    """The time of one answer, complete after `Recorder.measure`.

    Attributes:
        seconds: elapsed.
        cpu_seconds: of the processor.
        functions: as `AnsweredQuestion.functions`.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.functions: dict[str, int] = {}


class Recorder:
    """Records questions and their answers' times. Several threads may use it.

    Args:
        functions: whether to measure the planner's functions, too. This makes it several times as slow.
        sink: takes each record as it is made, in place of keeping it.
    """

    def __init__(
        self, *, functions: bool = False, sink: Callable[[AnsweredQuestion], None] | None = None
    ) -> None:
        self._functions = functions
        self._sink = sink
        self._records: list[AnsweredQuestion] = []
        self._lock = threading.Lock()

    @contextmanager
    def measure(self) -> Iterator[Measured]:
        """Measure what runs in this context, in this thread."""
        measured = Measured()
        calls, others = _Calls() if self._functions else None, sys.getprofile()
        wall, processor = time.perf_counter(), time.thread_time()
        if calls is not None:
            sys.setprofile(calls)
        try:
            yield measured
        finally:
            if calls is not None:
                sys.setprofile(others)
            measured.seconds = time.perf_counter() - wall
            measured.cpu_seconds = time.thread_time() - processor
            measured.functions = {} if calls is None else calls.microseconds()

    def record(
        self, question: questions.Question | None, measured: Measured, asked: int, answered: int
    ) -> None:
        """Record a question that has been answered.

        Args:
            question: that was asked, or None if it could not be decoded.
            measured: its time.
            asked: the number of characters of the question.
            answered: the number of characters of the answer.
        """
        trace = None if question is None else question.trace
        record = AnsweredQuestion(
            number=0 if trace is None else trace.number,
            op="" if question is None else str(question.__struct_config__.tag),
            table=_table(question),
            path=[] if trace is None else trace.path,
            seconds=measured.seconds,
            cpu_seconds=measured.cpu_seconds,
            question_characters=asked,
            answer_characters=answered,
            functions=measured.functions,
        )
        with self._lock:
            if self._sink is not None:
                self._sink(record)
            elif len(self._records) < MAX_TRACED_QUESTIONS:
                self._records.append(record)

    def take(self) -> list[AnsweredQuestion]:
        """Return what was recorded since the last call."""
        with self._lock:
            records, self._records = self._records, []
        return records


def recorder() -> Recorder | None:
    """Return the recorder of this process, or None if no trace is taken."""
    return _recorder[-1] if _recorder else None


def record_by(one: Recorder) -> None:
    """Have all planners of this process record their answers."""
    with _lock:
        _recorder.append(one)


def stop_recording(one: Recorder) -> None:
    """Stop recording by a recorder; the one before it records again."""
    with _lock:
        _recorder.remove(one)


def record_process(environment: Mapping[str, str]) -> bool:
    """Have this process add each answered question to the file that PARQUETRY_TRACE names, as a line of JSON.

    Args:
        environment: variables of the process.

    Returns:
        Whether the variable is set.
    """
    path = environment.get(TRACE_VARIABLE)
    if not path or _recorder:
        return bool(path)

    def write(record: AnsweredQuestion) -> None:
        with open(path, "ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")

    record_by(Recorder(sink=write))
    return True


def _table(question: questions.Question | None) -> str:
    match question:
        case questions.LoadTable(namespace=namespace, name=name):
            return ".".join([*namespace, name])
        case questions.PlanJoins():
            return ""
    table = getattr(question, "table", None)
    return f"{table.database}.{table.table}" if isinstance(table, questions.TableRef) else ""


class _Calls:
    """A profile function of one thread: adds up the time that each of the planner's functions takes itself.

    Functions of other packages count for the planner's function that calls them.
    """

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(_PACKAGE):
            return
        now = time.perf_counter()
        if self._stack:
            path = ";".join(self._stack)
            self._seconds[path] = self._seconds.get(path, 0.0) + now - self._since
        if event == "call":
            module = Path(frame.f_code.co_filename).stem
            self._stack.append(f"{module}.{frame.f_code.co_name}")
        elif self._stack:
            self._stack.pop()
        self._since = time.perf_counter()

    def microseconds(self) -> dict[str, int]:
        """Return the time of each function itself, by the functions on the way to it joined by `;`."""
        return {path: round(1e6 * seconds) for path, seconds in self._seconds.items()}
