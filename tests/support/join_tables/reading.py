"""Table files of joins: what is read from them, and which lines are refused.

CONTRIBUTING.md ("Table files of joins") describes the form. This module knows neither Spark nor pytest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from string import Formatter

from tests.support.statements.records import FormError, Loop, substitute

ALWAYS = {"hash": "2", "format": "parquet", "adaptive": "true"}
"""Variables of each query, with the values that they have if no loop gives another."""
GIVEN = ("series", "codegen")
"""Variables that the run gives."""
NODES = (
    "Exchange", "ReusedExchange", "Sort", "IncrementalSort", "SortMergeJoin", "ShuffledHashJoin",
    "BroadcastHashJoin", "BroadcastExchange", "InBuckets", "HideBuckets", "Window", "ZippedUnion",
)  # fmt: skip
"""Nodes of plans that can be counted; `A+B` is a sum."""
READ = ("files", "partitions", "directories")
"""Steps of a report whose kept ones are counted, of all scans together."""
OTHER_COUNTS = ("tasks", "apart")
ANY = "any"
_COUNT = re.compile(r"(>?)(\d+)|any")


@dataclass(frozen=True)
class Table:
    """A table as a line declares it; the texts may have variables."""

    name: str
    columns: str
    values: str
    layout: str
    inserts: str
    given: Mapping[str, str]
    location: str


@dataclass(frozen=True)
class Line:
    """A query with its counts, in cells by the names of their columns."""

    path: Path
    number: int
    query: str
    cells: Mapping[str, str]

    @property
    def location(self) -> str:
        """Where it is: the file and the line."""
        return f"{self.path}:{self.number}"

    def conditions(self, column: str) -> list[tuple[str, str]]:
        """Return the variables and values that the conditions of a cell name."""
        named = re.findall(r"(?:; |& )(\w+)=([^:&;]+)", self.cells[column])
        return [(name, value.strip()) for name, values in named for value in values.split(",")]

    def expected(self, column: str, variables: Mapping[str, str]) -> str:
        """Return the count that a turn is to have.

        A cell has a count, and others under conditions: `1; join=RIGHT, FULL: 0; series=4.0 & hash=1: 2`.

        Raises:
            FormError: the cell is not in that form.
        """
        cell = expand(self.cells[column], variables, self.location)
        first, *others = (part.strip() for part in cell.split(";"))
        counts = [first]
        for other in others:
            conditions, _, count = other.rpartition(":")
            parts = [part.strip().partition("=") for part in conditions.split("&")]
            if any(name not in variables or not values for name, _, values in parts):
                raise FormError(f"{self.location}: {other!r} has no condition of {', '.join(variables)}.")
            if all(variables[name] in map(str.strip, values.split(",")) for name, _, values in parts):
                counts.append(count.strip())
        if not all(map(_COUNT.fullmatch, counts)):
            raise FormError(f"{self.location}: {self.cells[column]!r} is no count of {column}.")
        return counts[-1]


@dataclass
class Section:
    """A table of queries below a claim: `cases` are tests of their own, and each test runs `each`."""

    name: str
    claim: str
    location: str
    settings: list[tuple[str, str]]
    requires: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    cases: list[Loop] = field(default_factory=list)
    each: list[Loop] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def turns(self) -> list[dict[str, str]]:
        """Return the variables of the loops that a test runs, turn by turn."""
        return list(turns_of(self.each))


@dataclass
class TableFile:
    """Tables, and sections of queries over them."""

    variables: dict[str, str] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)


def turns_of(loops: list[Loop]) -> Iterator[dict[str, str]]:
    """Yield the variables of loops, turn by turn."""
    for turn in product(*(loop.turns for loop in loops)):
        yield {
            name: value
            for loop, values in zip(loops, turn, strict=True)
            for name, value in zip(loop.names, values, strict=True)
        }


def names_in(query: str) -> set[str]:
    """Return the tables that a query names, in braces."""
    return {name for _, name, _, _ in Formatter().parse(query) if name}


def expand(text: str, variables: Mapping[str, str], location: str) -> str:
    """Return a text with the values of its variables, which may have variables, too."""
    while "${" in text:
        text = substitute(text, variables, location)
    return text


def read(path: Path) -> TableFile:
    """Return the tables and sections of a file.

    Raises:
        FormError: a line is not in the form.
    """
    return _Reader(path).file()


class _Reader:
    """Reads one file, line after line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = path.read_text(encoding="utf-8").split("\n")
        self._at = 0
        self._file = TableFile()
        self._settings: list[tuple[str, str]] = []
        self._columns, self._expressions = "", ""

    def file(self) -> TableFile:
        """Return what the file has."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            word, _, rest = line.partition(" ")
            if not line.strip() or word.startswith("#"):
                continue
            header = _cells(line)
            if header[-1] in ("query", "layout"):
                self._rows(header)
            elif word in ("let", "set", "tables", "values", "subtest", "require", "tags", "cases", "each"):
                for part in rest.split("; ") if word in ("set", "cases", "each") else [rest]:
                    getattr(self, f"_{word}")(part.strip())
            else:
                raise self._error(f"{word!r} is no directive, and the line is in no table")
        for section in self._file.sections:
            self._check(section)
        return self._file

    def _error(self, what: str) -> FormError:
        return FormError(f"{self._path}:{self._at}: {what}.")

    def _let(self, rest: str) -> None:
        name, _, value = rest.partition(" ")
        self._file.variables[name] = value.strip()

    def _set(self, rest: str) -> None:
        name, _, value = rest.partition(" ")
        of = self._file.sections[-1].settings if self._file.sections else self._settings
        of.append((name, value.strip()))

    def _tables(self, rest: str) -> None:
        self._columns, self._expressions = rest, ""

    def _values(self, rest: str) -> None:
        self._expressions = f"{self._expressions} {rest}".strip()

    def _subtest(self, name: str) -> None:
        if not name.isidentifier() or any(each.name == name for each in self._file.sections):
            raise self._error(f"{name!r} is no new name of a section")
        location, claim = f"{self._path}:{self._at}", []
        while self._lines[self._at].startswith("#"):
            claim.append(self._lines[self._at].lstrip("#").strip())
            self._at += 1
        self._file.sections.append(Section(name, " ".join(claim), location, list(self._settings)))

    def _require(self, rest: str) -> None:
        self._file.sections[-1].requires.append(rest)

    def _tags(self, rest: str) -> None:
        self._file.sections[-1].tags += rest.split()

    def _cases(self, rest: str) -> None:
        self._file.sections[-1].cases.append(self._loop(rest))

    def _each(self, rest: str) -> None:
        self._file.sections[-1].each.append(self._loop(rest))

    def _loop(self, rest: str) -> Loop:
        """Return a loop over the values behind its name, or over the indented lines below its names."""
        if " | " not in rest:
            name, _, values = expand(rest, self._file.variables, f"{self._path}:{self._at}").partition(" ")
            return Loop((name,), tuple((value.strip(),) for value in values.split(",")))
        turns = []
        while self._lines[self._at].startswith("  "):
            turns.append(tuple(_cells(self._lines[self._at])))
            self._at += 1
        names = tuple(_cells(rest))
        if {*map(len, turns)} != {len(names)}:
            raise self._error(f"the lines below have not a value for each of {', '.join(names)}")
        return Loop(names, tuple(turns))

    def _rows(self, header: list[str]) -> None:
        """Read a table up to an empty line; an indented line goes on with the last cell."""
        while self._at < len(self._lines) and (line := self._lines[self._at]).strip():
            self._at += 1
            number = self._at
            if line.startswith("#"):
                continue
            while self._at < len(self._lines) and self._lines[self._at].startswith("  "):
                line += " " + self._lines[self._at].strip()
                self._at += 1
            cells = _cells(line, len(header) - 1)
            if len(cells) != len(header):
                where = f"{self._path}:{number}"
                raise FormError(f"{where}: the line has {len(cells)} cells, its table {len(header)}.")
            row = dict(zip(header, cells, strict=True))
            if header[-1] == "layout":
                self._declare(row, f"{self._path}:{number}")
            else:
                self._file.sections[-1].lines.append(Line(self._path, number, row.pop("query"), row))

    def _declare(self, row: dict[str, str], location: str) -> None:
        if row["name"] in self._file.tables:
            raise self._error(f"two tables are called {row['name']}")
        self._file.tables[row["name"]] = Table(
            row["name"],
            self._columns,
            self._expressions,
            row["layout"],
            row.get("inserts", ""),
            row,
            location,
        )

    def _check(self, section: Section) -> None:
        """Try each turn of each line: every name in it has to exist, and every variable has to be used."""
        cases = [line.cells["case"] for line in section.lines if "case" in line.cells]
        if not section.claim or not section.lines or len(cases) != len(set(cases)):
            raise FormError(
                f"{section.location}: {section.name} lacks a claim or lines, or has a case twice."
            )
        text = repr((section.lines, section.settings, self._file.tables, self._file.variables))
        for name in (name for loop in section.cases + section.each for name in loop.names):
            if name not in ALWAYS and f"${{{name}}}" not in text and f"{name}=" not in text:
                raise FormError(f"{section.location}: nothing uses the variable {name}.")
        for line in section.lines:
            for turn in turns_of(section.cases + section.each):
                self._check_turn(section, line, turn)
            for name, value in (each for column in counted(line) for each in line.conditions(column)):
                taken = {turn.get(name, value) for turn in turns_of(section.cases + section.each)}
                if value not in taken:
                    raise FormError(f"{line.location}: {name} is never {value}.")

    def _check_turn(self, section: Section, line: Line, turn: dict[str, str]) -> None:
        variables = {**dict.fromkeys(GIVEN, ""), **self._file.variables, **ALWAYS, **turn}
        for name in names_in(query_of(line, variables)):
            if name not in self._file.tables:
                raise FormError(f"{line.location}: no table is called {name!r}.")
        list(settings_of(section, line, variables))
        for column in counted(line):
            if not {*column.split("+")} <= {*NODES, *READ, *OTHER_COUNTS}:
                raise FormError(f"{line.location}: {column!r} cannot be counted.")
            line.expected(column, variables)


def counted(line: Line) -> list[str]:
    """Return the columns of a line that are counts."""
    return [column for column in line.cells if column not in ("case", "set")]


def query_of(line: Line, variables: Mapping[str, str]) -> str:
    """Return a line's query in a turn; it names tables in braces."""
    return expand(line.query, variables, line.location)


def settings_of(section: Section, line: Line, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the settings of a line in a turn: the file's, the section's, and its own.

    Raises:
        FormError: its own are not `name = value; name = value`.
    """
    cell = expand(line.cells.get("set", ""), variables, line.location)
    own = [each.split(" = ") for each in cell.split(";") if each.strip()]
    if any(len(each) != 2 for each in own):
        raise FormError(f"{line.location}: {line.cells['set']!r} is not `name = value; name = value`.")
    for name, value in [*section.settings, *own]:
        yield tuple(expand(text.strip(), variables, line.location) for text in (name, value))


def _cells(line: str, most: int = -1) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?:^| )\|(?: |$)", line, maxsplit=max(most, 0))]
