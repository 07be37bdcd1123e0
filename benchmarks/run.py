"""Run the benchmarks, print what they found beside its targets, and keep it in `benchmarks/results`."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Result

NAMES = ("planning", "paths", "scans", "pruning", "least", "loading")
ALONE = (
    "readers",
    "skew",
    "skew_joins",
    "joins",
    "joins_order",
    "joins_iceberg",
    "runtime",
    "topk",
    "tpcds",
    "history",
    "hive_calls",
    "files",
    "large",
    "metastore",
    "requests",
    "iceberg",
    "upkeep",
    "latency",
    "page",
    "optimizer",
    "writes",
    "native",
    "audit",
    "adviser",
    "query_history",
    "transactions",
)
"""Run only when named: they take long, or need more than Spark."""
MODULES = {
    **{
        name: f"benchmarks.{name}"
        for name in (
            "planning",
            "paths",
            "history",
            "hive_calls",
            "readers",
            "iceberg",
            "page",
            "upkeep",
            "native",
            "adviser",
            "transactions",
        )
    },
    **{
        name: f"benchmarks.queries.{name}"
        for name in (
            "scans",
            "pruning",
            "least",
            "skew",
            "skew_joins",
            "joins",
            "joins_order",
            "joins_iceberg",
            "runtime",
            "topk",
            "latency",
            "optimizer",
            "audit",
            "query_history",
        )
    },
    "large": "benchmarks.files.large",
    **{name: f"benchmarks.writing.{name}" for name in ("loading", "writes")},
    **{name: f"benchmarks.{name}.run" for name in ("tpcds", "files", "metastore", "requests")},
}
"""The module of each benchmark."""
_RESULTS = Path(__file__).with_name("results")


def main() -> int:
    """Run the benchmarks named, or all, and return 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(NAMES + ALONE)}; if none is named, all but {', '.join(ALONE)}",
    )
    parser.add_argument("--folder", type=Path, required=True, help="where the data is kept")
    parser.add_argument("--scale", type=float, default=1, help="of the data; the targets are for 1")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in NAMES + ALONE]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES + ALONE)}")
    console = Console(highlight=False)
    folder = (arguments.folder / f"scale-{arguments.scale:g}").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for name in arguments.names or NAMES:
        console.print(f"[bold]{name}[/] …")
        # imported by name: planning needs no Spark, and the others only what they use
        result: Result = importlib.import_module(MODULES[name]).run(folder, arguments.scale)
        result.save(_RESULTS, arguments.scale)
        results.append(result)
    console.print(_table(results))
    console.print(f"Everything measured is in {_RESULTS}", soft_wrap=True)
    return 0 if all(finding.met for result in results for finding in result.findings) else 1


def _table(results: list[Result]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("measured")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("")
    for result in results:
        for timing in result.timings:
            for variant in timing.seconds:
                table.add_row(
                    f"[dim]{timing.job}: {variant}[/]",
                    f"[dim]{_number(1000 * timing.median(variant))} ms[/]",
                    "",
                    "",
                )
        for finding in result.findings:
            bound = "≥" if finding.at_least else "≤"
            target = "" if finding.target is None else f"{bound} {finding.target:g} {finding.unit}"
            mark = "" if finding.target is None else "[green]✓[/]" if finding.met else "[red]✗[/]"
            table.add_row(finding.what, f"{_number(finding.value)} {finding.unit}", target, mark)
    return table


def _number(value: float) -> str:
    """Write a number with two figures after the point, or three if it is small."""
    return f"{value:,.2f}" if value >= 1 else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main())
