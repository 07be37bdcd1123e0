"""Run the demo: load the data, ask each question of Parquetry and of plain Spark, and show what both read.

Everything is kept in one folder, and a second run uses what the first has made. The exit code is 1 if any
answer differs from plain Spark's over the same rows, or if a query reads more than it may
(`demo.outcome.Limit`).
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console

from demo import million, readings, tables, tpcds
from demo.asking import Demo
from demo.lake import CATALOG, DATABASE, Lake, Servers
from demo.outcome import Outcome, Scene, counted_text
from demo.picture.chart import chart
from demo.picture.narrow import narrow_chart
from demo.picture.page import page
from demo.picture.terminal import show, show_alike
from demo.plain import PlainSpark
from demo.scenes import LARGE_FILES, MERGE, NO_FILE, NO_SHUFFLE, QUERIES, YESTERDAY, alike, tables_of

_NOT_LOADED = "corrections"
"""Rows that a statement brings along: both sides read them off the raw file."""


def main() -> int:
    """Run the demo and return its exit code."""
    arguments = _arguments()
    started = time.monotonic()
    console = Console(highlight=False)
    _prepare(Lake(arguments.folder), arguments.scale)
    with contextlib.ExitStack() as stack:
        lake = Lake(arguments.folder, _servers(arguments.storage, stack, console))
        console.print(f"[bold]Parquetry[/] on TPC-DS at scale {arguments.scale:g}, {lake.name}\n")
        filling = stack.enter_context(million.Filling(lake))
        outcomes, same, notes = _run(lake, arguments.scale, filling, console)
    failed = _write(lake, arguments.scale, (outcomes, same, notes), arguments.picture, console)
    if failed:
        console.print(f"[bold red]✗ Wrong: {', '.join(failed)}[/]")
    else:
        console.print(
            f"[green]✓[/] All {len(outcomes) + len(same)} answers are the same on both sides, and no query read more than "
            f"it had to ({time.monotonic() - started:.0f} s)."
        )
    return 1 if failed else 0


def _servers(storage: str, stack: contextlib.ExitStack, console: Console) -> Servers | None:
    """Start the servers of a storage, which end with the stack; none for a local disk."""
    if storage == "local":
        return None
    from demo import servers  # needs the packages of the tests

    with console.status("Starting S3 and PostgreSQL …"):
        return stack.enter_context(servers.started())


def _run(
    lake: Lake, scale: float, filling: million.Filling, console: Console
) -> tuple[list[Outcome], list[Outcome], list[str]]:
    """Load the tables and ask; return the outcomes of the scenes and of the other queries, and notes."""
    with console.status("Making TPC-DS with DuckDB, and starting Spark …"), ThreadPoolExecutor(1) as pool:
        made = pool.submit(tpcds.make, lake.raw, scale)
        spark = lake.session()  # compiles the bridge in a new clone
        raw = made.result()
    console.print(f"[green]✓[/] Spark {spark.version} with the catalog {CATALOG}")
    others = alike(tpcds.query_texts())
    queries = (*QUERIES, LARGE_FILES) if lake.servers is None else QUERIES
    scenes: Sequence[Scene] = (*queries, YESTERDAY, NO_FILE, *others)
    names = [table for table in tables_of(scenes, raw.rows) if table != _NOT_LOADED]
    with ThreadPoolExecutor(1) as pool:
        large = pool.submit(readings.make, lake.readings) if LARGE_FILES in queries else None
        tables.load(spark, raw, names, console)
    if large is not None:
        large.result()
        readings.adopt(spark, lake)
        names.append(readings.TABLE)
        console.print(
            f"[green]✓[/] {counted_text(readings.rows(), 'row')} in eight files of 128 MB, made beside these"
        )
    spark.sql(f"USE {CATALOG}.{DATABASE}")
    with console.status("Listing the same files for plain Spark …"):
        _restore(lake, raw)
        demo = Demo(lake, raw, spark, PlainSpark(spark, lake, raw, names))

    # these run first, so that the code is warm before a scene's clock starts, and are shown last
    with console.status("Warming up both sides …"):
        demo.ask(others[0])
    same = [_ask(demo, scene, console) for scene in others]
    outcomes = []
    for scene in queries:
        outcomes.append(_ask(demo, scene, console))
        show(console, outcomes[-1])
    own = demo.own_shuffles(NO_SHUFFLE)
    notes = [f"Of a join of 8 and 4 of Spark's own buckets, Spark shuffles {counted_text(own, 'side')}."]
    outcomes.append(_search(lake, filling, console))
    with console.status(f"{MERGE.asks}"):
        corrected = demo.correct()
    for outcome in (*corrected, _ask(demo, NO_FILE, console)):
        outcomes.append(outcome)
        show(console, outcome)
    spark.stop()
    console.print("\n[bold]Where Spark prunes as well[/]: conditions on the partition column")
    for outcome in same:
        show_alike(console, outcome)
    return outcomes, same, notes


def _ask(demo: Demo, scene: Scene, console: Console) -> Outcome:
    with console.status(f"{scene.name}: {scene.asks}"):
        return demo.ask(scene)


def _search(lake: Lake, filling: million.Filling, console: Console) -> Outcome:
    with console.status("Making a million partitions …") as status:
        while not filling.wait(0.5):
            status.update(f"Making a million partitions: {filling.done():,} so far …")
    outcome = million.find(lake)
    show(console, outcome)
    return outcome


def _restore(lake: Lake, raw: tpcds.Raw) -> None:
    """Take back what an earlier run has corrected."""
    name = f"{DATABASE}.purchases"
    with lake.catalog() as catalog:
        versions = sorted(catalog.history(name), key=lambda commit: commit.version)
        loaded = next(commit for commit in versions if commit.rows == raw.rows["purchases"])
        if loaded.version != versions[-1].version:
            catalog.rollback(name, loaded.version)


def _write(
    lake: Lake,
    scale: float,
    results: tuple[list[Outcome], list[Outcome], list[str]],
    picture: Path | None,
    console: Console,
) -> list[str]:
    """Write the page and the chart, and return the names of the queries that went wrong."""
    outcomes, same, notes = results
    where = "" if lake.servers is None else " and S3"
    title = f"The same answers from fewer files: TPC-DS at scale {scale:g}, on two cores{where}"
    html = (lake.folder / "report.html").absolute()
    html.write_text(page(outcomes, same, notes, title), encoding="utf-8")
    console.print(f"\nThe same as a page: [link={html.as_uri()}]{html}[/link]", soft_wrap=True)
    failed = [outcome.scene.name for outcome in (*outcomes, *same) if outcome.faults]
    if not failed:
        for file in filter(None, (lake.folder / "demo.svg", picture)):
            file.write_text(chart(outcomes, title), encoding="utf-8")
            narrow = file.with_name(f"{file.stem}-narrow{file.suffix}")
            narrow.write_text(narrow_chart(outcomes, title), encoding="utf-8")
    return failed


def _prepare(lake: Lake, scale: float) -> None:
    """Make the folder, or end with a message if it cannot be used."""
    try:
        lake.folder.mkdir(parents=True, exist_ok=True)
        made = lake.folder / "scale"
        if not made.exists():
            made.write_text(f"{scale:g}\n", encoding="utf-8")
        there = made.read_text(encoding="utf-8").strip()
    except OSError as error:
        sys.exit(
            f"The folder {lake.folder} cannot be used ({error.strerror}): give another one, DEMO_DATA=folder."
        )
    if there != f"{scale:g}":
        sys.exit(
            f"The data in {lake.folder} is of scale {there}, not {scale:g}: remove the folder, or give another one, "
            "DEMO_DATA=folder."
        )


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not 0.01 <= scale <= 1000:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no scale factor: give a number from 0.01 to 1000, such as 0.1"
        )
    return scale


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix != ".svg" or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no name of an SVG file in a folder that is there")
    return path


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--scale", type=_scale, default=0.1, help="TPC-DS scale factor (default: 0.1)")
    parser.add_argument("--folder", type=Path, required=True, help="where everything is kept")
    parser.add_argument(
        "--storage",
        choices=("local", "s3"),
        default="local",
        help="where the tables are: in the folder, or on the tests' S3 server with the metastore in PostgreSQL",
    )
    parser.add_argument(
        "--picture",
        type=_picture,
        help="where else to write the chart, an SVG file; a second one, …-narrow.svg, is for phones",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
