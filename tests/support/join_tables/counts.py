"""Counts of a table file: whether a number fits, and how another one is written into the file."""

from __future__ import annotations

from pathlib import Path

from tests.support.join_tables.reading import ANY, Line


def fits(number: int, expected: str) -> bool:
    """Return whether a number is as a cell has it."""
    if expected.startswith(">"):
        return number > int(expected[1:])
    return expected == ANY or number == int(expected)


_WRITTEN: dict[tuple[Path, int, str], set[int]] = {}


def rewrite(line: Line, column: str, numbers: set[int]) -> bool:
    """Write a line's count into its file, if it is the same in all turns and the cell has no conditions."""
    written = _WRITTEN.setdefault((line.path, line.number, column), numbers)
    if len(numbers) != 1 or written != numbers or not line.cells[column].isdecimal():
        return False
    lines = line.path.read_text("utf-8").split("\n")
    cells = lines[line.number - 1].split("|")
    index = list(line.cells).index(column)
    cells[index] = f" {numbers.copy().pop()}".ljust(len(cells[index]) - 1) + " "
    if index == 0:
        cells[0] = cells[0][1:] + " "
    lines[line.number - 1] = "|".join(cells)
    line.path.write_text("\n".join(lines), "utf-8")
    return True
