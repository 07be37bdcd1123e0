"""Runs the records of a section on sessions of an engine, and says what is not as the file has it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.support.goldens import UPDATE
from tests.support.statements.answers import ANY_ROWS, difference, lines_of, text_of
from tests.support.statements.records import Record, lines_with, statements, substitute


class RecordError(AssertionError):
    """A record has another answer than the file.

    The message has the record's line, the statement, and the difference.
    """


class EngineError(Exception):
    """The engine refused a statement."""


@dataclass(frozen=True)
class Answer:
    """Rows of a query, and the kinds of its columns: I for integers, R for other numbers, T for the rest.

    `?` is a column whose kind the engine does not know.
    """

    types: str
    rows: Sequence[Sequence[Any]]


class Session(Protocol):
    """A session of an engine."""

    def run(self, sql: str, *, fetch: bool) -> Answer:
        """Run a statement, and fetch its rows, or only if it would do nothing without.

        Raises:
            EngineError: the engine refused it.
        """


class Runner:
    """Runs records with variables, in sessions that a function opens by name (the first has no name).

    Args:
        open_session: opens a session.
        labels: for `onlyif` and `skipif`.
        variables: with their values.
        patterns: variables, too, whose values may be parts of regular expressions.
    """

    def __init__(
        self,
        open_session: Callable[[str], Session],
        labels: Collection[str],
        variables: Mapping[str, str],
        patterns: Mapping[str, str],
    ) -> None:
        self._open = open_session
        self._sessions: dict[str, Session] = {}
        self._labels = labels
        self._variables = dict(variables)
        self._patterns = patterns
        self._answers: dict[tuple[str, ...], tuple[Record, list[str]]] = {}

    def run(self, records: Sequence[Record]) -> None:
        """Run records, one after another.

        Raises:
            RecordError: one has another answer than the file.
            FormError: one names a variable that does not exist.
        """
        for record in records:
            if all((label in self._labels) == (kind == "onlyif") for kind, label in record.conditions):
                self._run(record)

    def _run(self, record: Record) -> None:
        if record.connection not in self._sessions:
            self._sessions[record.connection] = self._open(record.connection)
        session = self._sessions[record.connection]
        variables = _with_loops({**self._variables, **self._patterns}, record)
        *before, last = statements(substitute(record.sql, variables, record.location))
        for sql in before:
            self._run_ok(record, session, sql, fetch=False)
        if record.kind == "error":
            escaped = {name: re.escape(value) for name, value in self._variables.items()}
            parts = _with_loops({**escaped, **self._patterns}, record)
            pattern = substitute(record.message, parts, record.location)
            self._run_error(record, session, last, pattern)
        else:
            answer = self._run_ok(record, session, last, fetch=record.kind != "ok")
            if record.kind == "query":
                self._compare(record, last, answer, variables)
            elif record.kind == "let":
                if [len(row) for row in answer.rows] != [1]:
                    raise _failed(record, last, "it has not one value", lines_of(answer.rows, "nosort"))
                self._variables[record.label] = str(answer.rows[0][0])

    def _run_ok(self, record: Record, session: Session, sql: str, *, fetch: bool) -> Answer:
        try:
            return session.run(sql, fetch=fetch)
        except EngineError as error:
            raise _failed(record, sql, "it was refused", [str(error)]) from error

    def _run_error(self, record: Record, session: Session, sql: str, pattern: str) -> None:
        try:
            session.run(sql, fetch=True)
        except EngineError as error:
            if not re.search(pattern, str(error), re.S):
                lines = [f"-{pattern}", *(f"+{line}" for line in str(error).split("\n"))]
                raise _failed(record, sql, "it was refused in other words", lines) from error
        else:
            raise _failed(record, sql, "it was not refused", [f"-{pattern}"])

    def _compare(self, record: Record, sql: str, answer: Answer, variables: Mapping[str, str]) -> None:
        if len(answer.types) != len(record.types) or not all(map(_fits, record.types, answer.types)):
            raise _failed(
                record,
                sql,
                "its columns have other types",
                [f"-{record.types}", f"+{answer.types}"],
            )
        if record.label:
            turn = (record.label, *record.loops.values())
            other, lines = self._answers.setdefault(turn, (record, lines_of(answer.rows, record.sort)))
            if diff := difference(lines, answer.rows, record.sort):
                raise _failed(record, sql, f"its answer is not that of line {other.line}", diff)
        if record.expected is None:
            return
        texts = {name: text_of(value) for name, value in variables.items()}
        expected = [substitute(line, texts, record.location) for line in record.expected]
        if diff := difference(expected, answer.rows, record.sort):
            if os.environ.get(UPDATE) == "1" and rewrite(record, lines_of(answer.rows, record.sort)):
                return
            raise _failed(record, sql, "its answer is another", diff)


def _with_loops(variables: Mapping[str, str], record: Record) -> dict[str, str]:
    """Return variables, and the variables of a record's loops, whose values may have variables, too."""
    known = dict(variables)
    for name, value in record.loops.items():
        known[name] = substitute(value, known, record.location)
    return known


def _fits(wanted: str, got: str) -> bool:
    return wanted == got or "?" in (wanted, got)


def _failed(record: Record, sql: str, what: str, lines: Sequence[str]) -> RecordError:
    loops = "".join(f", {name} = {value}" for name, value in record.loops.items())
    return RecordError(f"{record.location}{loops}: {what}\n{sql}\n" + "\n".join(lines))


_REWRITTEN: dict[Path, tuple[list[str], dict[tuple[int, int], tuple[str, ...]]]] = {}
"""Lines of files as they were read, and their new answers."""


def rewrite(record: Record, lines: Sequence[str]) -> bool:
    """Write a record's answer into its file, unless a person has to: for answers with variables or patterns.

    Return whether it was written.
    """
    if any(line == ANY_ROWS or "${" in line or "REGEX>:" in line for line in record.expected or ()):
        return False
    original, edits = _REWRITTEN.setdefault(record.path, (record.path.read_text("utf-8").split("\n"), {}))
    if edits.setdefault(record.answer_lines, tuple(lines)) != tuple(lines):
        return False  # turns of a loop differ
    record.path.write_text("\n".join(lines_with(original, edits)), "utf-8")
    return True
