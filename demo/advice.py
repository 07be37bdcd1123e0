"""Ask the adviser which layout TPC-DS's store_sales should have, and draw its answer: `make advice`.

No Spark runs: DuckDB makes the rows and has the 99 queries, and `parquetry.advise` reads both as it would a
stranger's, a folder of Parquet and a file of SQL.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

import parquetry
from demo import tpcds
from demo.picture.chart import picture, text_at
from parquetry.adviser import Advice, Alternative
from parquetry.texts import quantity, size_text

_TABLE = "store_sales"
_FILES = 60
"""Files of the table, in the order of its rows, as a loader writes them."""
_ALTERNATIVES = 4
_WIDTH, _MARGIN, _ROW, _BARS = 760, 24, 46, 380
_LEAST_BAR = 1.5


def main() -> None:
    """Make the tables, ask, print the answer, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-DS's scale factor")
    parser.add_argument(
        "--folder", type=Path, required=True, help="for the rows, which a later run uses again"
    )
    parser.add_argument("--picture", type=Path, help="the picture to write, an SVG file")
    given = parser.parse_args()
    advice = ask(given.folder, given.scale)
    print(advice)
    if given.picture is not None:
        given.picture.write_text(draw(advice, given.scale), encoding="utf-8")


def ask(folder: Path, scale: float) -> Advice:
    """Return the advice for the queries of TPC-DS."""
    folder.mkdir(parents=True, exist_ok=True)
    raw = tpcds.make(folder / "raw", scale)
    tables = folder / "tables"
    for name in set(raw.rows) - set(tpcds.DERIVED):
        if not (tables / name).exists():
            _split(raw.file(name), tables / name, _FILES if name == _TABLE else 1)
    queries = folder / "queries.sql"
    texts = (text.strip().rstrip(";") for text in tpcds.query_texts().values())
    queries.write_text("".join(f"{text};\n\n" for text in texts), encoding="utf-8")
    return parquetry.advise(str(tables / _TABLE), queries)


def _split(file: Path, folder: Path, count: int) -> None:
    """Write the rows of a file as several files."""
    rows = pq.read_table(file)
    step = max(1, -(-rows.num_rows // count))
    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, max(rows.num_rows, 1), step)):
        pq.write_table(rows.slice(start, step), folder / f"part-{number:03d}.parquet")


def draw(advice: Advice, scale: float) -> str:
    """Return a picture of advice: what a query reads now, and would read under each layout."""
    title = f"Which layout do {round(advice.queries)} queries of TPC-DS ask for?"
    under = (
        f"store_sales at scale {scale:g}: {size_text(advice.bytes)} in {quantity(advice.files, 'file')}. Bars: what a "
        "query reads on average, and how far the forecast may be off."
    )
    rows = list(_rows(advice))
    parts = [text_at(_MARGIN, 34, title, "title"), text_at(_MARGIN, 55, under, "soft")]
    for number, row in enumerate(rows):
        parts += _row(row, advice, 76 + _ROW * number)
    bottom = 76 + _ROW * len(rows) + 20
    if advice.best is not None:
        parts.append(text_at(_MARGIN, bottom, _verdict(advice.best)))
    words = "; ".join(f"{name}: {size_text(size)}" for name, size, _, _ in rows)
    return picture(parts, (_WIDTH, bottom + 20), f"{title} {words}", within_page=False)


def _rows(advice: Advice) -> Iterator[tuple[str, int, int, float]]:
    """Yield a layout, the bytes that a query reads, how many they may be off, and the files."""
    yield f"as it is: {advice.layout_now}", advice.bytes_now, 0, advice.files_now
    best = [] if advice.best is None else [advice.best]
    for each in (*best, *advice.alternatives[:_ALTERNATIVES]):
        yield each.layout, each.bytes, each.spread, each.files


def _row(row: tuple[str, int, int, float], advice: Advice, top: int) -> Iterator[str]:
    name, size, spread, files = row
    is_best = advice.best is not None and name == advice.best.layout
    longest = max(each[1] + each[2] for each in _rows(advice))
    width, whole = (max(_LEAST_BAR, _BARS * bytes / longest) for bytes in (size, size + spread))
    style = "ours" if is_best else "beside"
    yield text_at(_MARGIN, top + 14, f"advised: {name}" if is_best else name, "name" if is_best else "")
    yield f'<rect class="{style}" x="{_MARGIN}" y="{top + 21}" width="{width:.1f}" height="13" rx="2"/>'
    if spread:
        yield f'<rect class="{style}" x="{_MARGIN}" y="{top + 26}" width="{whole:.1f}" height="3"/>'
    more = f" ± {size_text(spread)}" if spread else ""
    yield text_at(_MARGIN + whole + 8, top + 32, f"{size_text(size)}{more} · {files:,.1f} files")


def _verdict(best: Alternative) -> str:
    """Return what the advised layout costs."""
    pays = (
        "" if best.pays_after is None else f" and pays after {quantity(best.pays_after, 'query', 'queries')}"
    )
    return (
        f"{best.gain:.1f} times less, opening of files counted, at the bad end. It rewrites "
        f"{size_text(best.rewrite_bytes)}{pays}."
    )


if __name__ == "__main__":
    main()
