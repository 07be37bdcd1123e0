"""Files of statements in sqllogictest's form: what is read from them, and which lines are refused.

CONTRIBUTING.md ("Files of statements") describes the form. This module knows neither Spark nor pytest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

SORTS = ("nosort", "rowsort", "valuesort")
_IGNORED = ("hash-threshold", "mode", "load")
_VARIABLE = re.compile(r"\$\{([\w ]*)\}")


@dataclass(frozen=True)
class Loop:
    """Names of variables, and their values for each turn."""

    names: tuple[str, ...]
    turns: tuple[tuple[str, ...], ...]


class FormError(Exception):
    """A file is not in the form; the message begins with the file and the line."""


@dataclass(frozen=True)
class Record:
    """A statement and what it has to answer.

    Args:
        line: its number in the file, from 1.
        kind: `ok`, `error`, `query`, or `let`.
        sql: its text, with variables in it.
        message: the regular expression that an error's text has to contain.
        types: a letter for each column of a query.
        sort: how rows are sorted before they are compared.
        label: queries with the same label have the same answer; of `let`, the variable that gets the answer.
        expected: the lines of the answer, or None if only a label says what it is.
        answer_lines: the numbers of the first line of the answer and of the line after its last.
        conditions: `onlyif` and `skipif` with their labels.
        connection: the name of the session that runs it.
        loops: variables of loops within the section.
    """

    line: int
    kind: str
    sql: str
    message: str = ""
    types: str = ""
    sort: str = "nosort"
    label: str = ""
    expected: tuple[str, ...] | None = None
    answer_lines: tuple[int, int] = (0, 0)
    conditions: tuple[tuple[str, str], ...] = ()
    connection: str = ""
    loops: Mapping[str, str] = field(default_factory=dict)
    path: Path = Path()

    @property
    def location(self) -> str:
        """Where it is: the file and the line."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Section:
    """Records that run in a namespace of their own: those behind a line `subtest`.

    Args:
        name: the name behind `subtest`, or the file's without its ending.
        claim: the comment below that line.
        line: its number.
        loops: the loops around the section.
        requires: what the lines `require` say, of the file and of the section.
        tags: likewise.
        records: those at the beginning of the file, and its own.
    """

    name: str
    claim: str
    line: int
    loops: tuple[Loop, ...]
    requires: tuple[str, ...]
    tags: tuple[str, ...]
    records: tuple[Record, ...]

    @property
    def location(self) -> str:
        """Where it is: the file and the line."""
        return f"{self.records[-1].path}:{self.line}"


def substitute(text: str, variables: Mapping[str, str], location: str) -> str:
    """Return a text with the values of its variables, `${name}`.

    Raises:
        FormError: it names a variable that does not exist.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in variables:
            raise FormError(
                f"{location}: no variable is called {match[1]!r}; there are {', '.join(variables)}."
            )
        return variables[match[1]]

    return _VARIABLE.sub(value, text)


def statements(sql: str) -> list[str]:
    """Return the statements of a record: each but the last ends with `;` at the end of a line.

    >>> statements("SELECT ';';\\nSELECT\\n2;")
    ["SELECT ';'", 'SELECT\\n2']
    """
    return [each for part in re.split(r";[ \t]*(?:\n|$)", sql) if (each := part.strip())]


def read(path: Path) -> list[Section]:
    """Return the sections of a file.

    Raises:
        FormError: a line is not in the form, or a section has no record.
    """
    return Reader(path, path.read_text(encoding="utf-8").split("\n")).sections()


class Reader:
    """Reads one file, line after line."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self._path = path
        self._lines = [line.rstrip("\r") for line in lines]
        self._at = 0
        self._sections: list[Section] = []
        self._head: Section | None = None
        self._loops: list[tuple[Loop, int]] = []
        self._conditions: list[tuple[str, str]] = []
        self._connection = ""
        self._within: list[tuple[Loop, int, int]] = []
        self._directives: dict[str, Callable[[list[str]], bool | None]] = {
            "subtest": self._subtest,
            "require": lambda words: self._note("requires", (" ".join(words),)),
            "tags": lambda words: self._note("tags", tuple(words)),
            "foreach": self._foreach,
            "loop": self._loop,
            "endloop": self._endloop,
            "onlyif": lambda words: self._condition("onlyif", words),
            "skipif": lambda words: self._condition("skipif", words),
            "connection": self._connect,
            "include": self._include,
            "statement": self._statement,
            "query": self._query,
            "let": self._let,
            "halt": lambda words: True,
        }

    def sections(self) -> list[Section]:
        """Return the file's sections."""
        self._section = Section(self._path.stem, "", 1, (), (), (), ())
        self._section = replace(self._section, claim=self._comment())
        while self._at < len(self._lines):
            words = self._lines[self._at].split()
            self._at += 1
            if not words or words[0].startswith("#") or words[0] in _IGNORED:
                continue
            if words[0] not in self._directives:
                raise self._error(f"{words[0]!r} is no directive; there are {', '.join(self._directives)}")
            if self._directives[words[0]](words[1:]):
                break
        if self._loops or self._within:
            line = self._loops[-1][1] if self._loops else self._within[-1][1]
            raise FormError(f"{self._path}:{line}: no endloop ends this loop.")
        if self._conditions:
            raise self._error(f"no record follows {' '.join(self._conditions[-1])}")
        self._end_section(is_last=True)
        return self._sections

    def _error(self, what: str) -> FormError:
        return FormError(f"{self._path}:{self._at}: {what}.")

    def _comment(self) -> str:
        """Return the lines of comment that follow, and go past them."""
        lines = []
        while self._at < len(self._lines) and self._lines[self._at].startswith("#"):
            lines.append(self._lines[self._at].lstrip("#").strip())
            self._at += 1
        return " ".join(lines)

    def _subtest(self, words: list[str]) -> None:
        if len(words) != 1 or not words[0].isidentifier():
            raise self._error("the name of a subtest is one word of letters, digits and _")
        if self._conditions or self._within:
            raise self._error("a subtest begins where a record is due")
        line = self._at
        self._end_section()
        if any(each.name == words[0] for each in self._sections):
            raise self._error(f"two subtests are called {words[0]}")
        loops = tuple(loop for loop, _ in self._loops)
        head = self._head
        assert head is not None
        self._section = Section(
            words[0], self._comment(), line, loops, head.requires, head.tags, head.records
        )
        self._connection = ""

    def _end_section(self, *, is_last: bool = False) -> None:
        """Keep the section that ends here; what is before the first `subtest` begins each of the others."""
        if self._head is None and not is_last:
            self._head = self._section
            return
        own = self._section.records[len(self._head.records) if self._head else 0 :]
        if not own:
            raise FormError(f"{self._path}:{self._section.line}: {self._section.name} has no record.")
        self._sections.append(self._section)

    def _note(self, name: str, words: tuple[str, ...]) -> None:
        if not "".join(words):
            raise self._error("a word is missing")
        self._section = replace(self._section, **{name: (*getattr(self._section, name), *words)})

    def _foreach(self, words: list[str]) -> None:
        """Begin a loop over the words behind its name, or over the indented lines below its names."""
        names, turns = tuple(words[:1]), tuple((word,) for word in words[1:])
        line = self._at
        if not turns or turns[0] == ("|",):
            names = tuple(name.strip() for name in " ".join(words).split("|"))
            turns = tuple(tuple(map(str.strip, re.split(r" \|(?: |$)", row))) for row in self._indented())
        if not turns or not all(map(str.isidentifier, names)) or {*map(len, turns)} != {len(names)}:
            self._at = line
            raise self._error("foreach has a name and values, or names and below them a line for each turn")
        self._begin_loop(Loop(names, turns))

    def _indented(self) -> Iterator[str]:
        while self._at < len(self._lines) and self._lines[self._at].startswith("  "):
            yield self._lines[self._at]
            self._at += 1

    def _loop(self, words: list[str]) -> None:
        if len(words) != 3 or not words[0].isidentifier() or not all(map(str.isdigit, words[1:])):
            raise self._error("loop has a name, the first number, and the number after the last")
        turns = tuple((str(number),) for number in range(int(words[1]), int(words[2])))
        self._begin_loop(Loop((words[0],), turns))

    def _begin_loop(self, loop: Loop) -> None:
        """Begin a loop: around sections if a `subtest` comes before the next record, else within one."""
        following = (line.split()[0] for line in self._lines[self._at :] if line.split())
        around = next((word for word in following if word in ("subtest", "statement", "query")), "")
        if around == "subtest" and not self._within:
            self._loops.append((loop, self._at))
        else:
            self._within.append((loop, self._at, len(self._section.records)))

    def _endloop(self, words: list[str]) -> None:
        if self._within:
            loop, _, start = self._within.pop()
            before, inside = self._section.records[:start], self._section.records[start:]
            turns = [
                replace(record, loops={**dict(zip(loop.names, values, strict=True)), **record.loops})
                for values in loop.turns
                for record in inside
            ]
            self._section = replace(self._section, records=(*before, *turns))
        elif self._loops:
            self._loops.pop()
        else:
            raise self._error("no loop is open")

    def _condition(self, kind: str, words: list[str]) -> None:
        if not words:
            raise self._error("a label is missing")
        self._conditions.append((kind, words[0]))

    def _connect(self, words: list[str]) -> None:
        self._connection = words[0] if words and words[0] != "default" else ""

    def _include(self, words: list[str]) -> None:
        """Take the records at the beginning of another file."""
        path = self._path.parent / " ".join(words)
        if not words or not path.is_file():
            raise self._error(f"no file {path}")
        (section,) = read(path)
        self._section = replace(self._section, records=(*self._section.records, *section.records))

    def _add(self, record: Record) -> None:
        self._section = replace(self._section, records=(*self._section.records, record))
        self._conditions = []

    def _record(self, kind: str) -> Record:
        return Record(
            self._at,
            kind,
            "",
            conditions=tuple(self._conditions),
            connection=self._connection,
            path=self._path,
        )

    def _block(self) -> str:
        """Return the lines up to an empty one or `----`."""
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at].strip() not in ("", "----"):
            self._at += 1
        if start == self._at:
            raise self._error("a record has no SQL")
        return "\n".join(self._lines[start : self._at])

    def _expected(self) -> tuple[str, ...] | None:
        if self._at >= len(self._lines) or self._lines[self._at].strip() != "----":
            return None
        self._at += 1
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at] != "":
            self._at += 1
        return tuple(self._lines[start : self._at])

    def _statement(self, words: list[str]) -> None:
        record = self._record(words[0] if words else "")
        head = self._lines[self._at - 1]
        if record.kind == "count" and len(words) == 2:
            record = replace(record, kind="ok")
        elif record.kind not in ("ok", "error") or (record.kind == "ok" and len(words) > 1):
            raise self._error("a statement is `ok`, or `error` with a regular expression")
        message = head.split("error", 1)[1].strip() if record.kind == "error" else ""
        sql = self._block()
        if (text := self._expected()) is not None:
            if record.kind == "ok" or message:
                raise self._error("an answer belongs to a query, or to an error without an expression")
            message = "\n".join(map(_message, text))
        self._add(replace(record, sql=sql, message=_compiled(message, self._error)))

    def _let(self, words: list[str]) -> None:
        record = self._record("let")
        if len(words) != 1 or not words[0].isidentifier():
            raise self._error("let has the name of a variable, and a query below")
        self._add(replace(record, sql=self._block(), label=words[0]))

    def _query(self, words: list[str]) -> None:
        record = self._record("query")
        types, *options = words or [""]
        sort = options.pop(0) if options and options[0] in SORTS else "nosort"
        if not re.fullmatch(r"[ITR?BD]+", types) or len(options) > 1:
            raise self._error("a query has a letter (I, R, T) for each column, a sort mode, and a label")
        label = options[0] if options else ""
        sql = self._block()
        end = self._at + 1
        expected = self._expected()
        if expected is None and not label:
            raise self._error("a query has no answer: a line ---- and its rows are missing")
        self._add(
            replace(
                record,
                sql=sql,
                types=types,
                sort=sort,
                label=label,
                expected=expected,
                answer_lines=(end, self._at),
            )
        )


def _message(line: str) -> str:
    """Return the regular expression of a line of an error's text, which may say that it is one."""
    return line.removeprefix("<REGEX>:") if line.startswith("<REGEX>:") else re.escape(line)


def _compiled(pattern: str, error: Callable[[str], FormError]) -> str:
    try:
        re.compile(pattern)
    except re.error as why:
        raise error(f"{pattern!r} is no regular expression: {why}") from why
    return pattern


def label_of(feature: str) -> str:
    """Return the label of a feature, which is one word."""
    return feature.replace(" ", "-")


def lines_with(original: list[str], edits: Mapping[tuple[int, int], tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a file with other answers.

    Args:
        original: its lines.
        edits: by `answer_lines` of records.
    """
    at = 0
    for (start, end), lines in sorted(edits.items()):
        yield from original[at:start]
        yield from lines
        at = end
    yield from original[at:]
