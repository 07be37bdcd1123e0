"""Write the table of what Spark's optimizer makes of our tables into the page that shows it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Result

PAGE = Path(__file__).parents[2] / "docs" / "concepts.md"
_BEGIN, _END = "<!-- make bench BENCH=optimizer writes this -->", "<!-- until here -->"
_ROWS = {
    "ours": "Parquetry, nothing analysed",
    "ours, counted": "Parquetry, after ANALYZE",
    "unanalysed": "Spark's own tables, not analysed",
    "analysed": "Spark's own tables, after ANALYZE",
}
_KINDS = ("shuffles", "sorts")


def write_table(result: Result, scale: float, page: Path = PAGE) -> None:
    """Replace the table between two marks of a page."""
    before, mark, rest = page.read_text().partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not mark or not end:
        raise ValueError(f"{page} has no lines {_BEGIN} and {_END}: write them where the table belongs.")
    page.write_text(f"{before}{mark}\n\n{_table(result, scale)}\n{end}{after}")


def _table(result: Result, scale: float) -> str:
    values = {finding.what: finding.value for finding in result.findings}
    modes = [
        (optimizer, adaptive)
        for adaptive in ("off", "on")
        for optimizer in ("off", "on")
        if f"CBO {optimizer}, AQE {adaptive}: shuffles, ours" in values
    ]
    heads = [f"{kind}, CBO {optimizer}, AQE {adaptive}" for optimizer, adaptive in modes for kind in _KINDS]
    lines = [
        f"| scale {scale:g}, facts of 8 files | {' | '.join(heads)} | filtered tables with rows within a factor of two |",
        f"|---|{'---:|' * (len(heads) + 1)}",
    ]
    for name, shown in _ROWS.items():
        counts = [
            f"{values[f'CBO {optimizer}, AQE {adaptive}: {kind}, {name}']:.0f}"
            for optimizer, adaptive in modes
            for kind in _KINDS
        ]
        near = values.get(f"filtered tables with an estimate within 2 times of their rows, {name}")
        part = "no estimate" if near is None else f"{100 * near:.0f} %"
        lines.append(f"| {shown} | {' | '.join(counts)} | {part} |")
    return "\n".join([*lines, "", *_sentences(result, values, modes)]) + "\n"


def _sentences(result: Result, values: dict[str, float], modes: list[tuple[str, str]]) -> list[str]:
    worse = []
    for optimizer, adaptive in modes:
        plans = result.details[f"CBO {optimizer}, AQE {adaptive}"]
        numbers = [
            f"q{number}"
            for number, plan in plans["ours"].items()
            if plan["shuffles"] > plans["unanalysed"][number]["shuffles"]
        ]
        if numbers:
            worse.append(f"{', '.join(numbers)} (CBO {optimizer}, AQE {adaptive})")
    times = [
        f"{values[f'CBO {optimizer}: processor in planning new queries, ours / {name}']:.1f} times as much as of {table} tables "
        f"with the optimizer {optimizer}"
        for optimizer, name, table in (("on", "analysed", "analysed"), ("off", "unanalysed", "unanalysed"))
    ]
    near = values["columns with distinct values within 2 times of ANALYZE, ours"]
    return [
        f"More shuffles than in Spark's own tables: {'; '.join(worse) or 'no query'}.",
        "",
        "CPU of planning a new query:",
        f"{times[0]},",
        f"and {times[1]}.",
        "",
        f"Columns with a number of distinct values within a factor of two, without ANALYZE: {100 * near:.0f} %.",
    ]
