"""Run the blocks of a page in one session, in the current folder, and compare what they print with what the
page says.

    python -m tests.support.pages.run_page docs/sql.md

`spark` is a session with the catalog `lake`, whose warehouse is the folder `lake`, and `parquetry` is
imported. The exit code is 1 if a block fails or prints something else; then standard output names the page
and the line.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import parquetry
from tests.support.pages.blocks import Block, blocks_of, is_printed

WAREHOUSE = "lake"


def run(page: Path) -> list[str]:
    """Return what is wrong with a page."""
    os.environ["PARQUETRY_WAREHOUSE"] = str(Path(WAREHOUSE).resolve())
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = parquetry.configure(builder, catalog="lake", warehouse=WAREHOUSE).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    names: dict[str, Any] = {"__name__": "__main__", "spark": spark, "parquetry": parquetry}
    wrong: list[str] = []
    printed = ""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.is_run:
            try:
                printed = _printed_by(
                    block, page, names, following is not None and following.mark == "output"
                )
            except BaseException:  # noqa: BLE001 - whatever it raises, the report names the line
                wrong.append(f"{page}:{block.line}: the block fails.\n{traceback.format_exc()}")
                break  # what follows builds upon it
        elif block.mark == "output" and not is_printed(block.text, printed):
            wrong.append(f"{page}:{block.line}: printed was\n{printed.rstrip()}\ninstead of\n{block.text}")
    names["spark"].stop()
    return wrong


def _printed_by(block: Block, page: Path, names: dict[str, Any], shown: bool) -> str:
    """Run a block and return what it printed.

    Args:
        block: to run.
        page: of it.
        names: of the page's Python; `spark` is among them.
        shown: whether the rows of SQL are printed.
    """
    with contextlib.redirect_stdout(io.StringIO()) as output:
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, str(page), "exec"), names)
        elif block.language == "sql":
            for statement in block.statements:
                rows = names["spark"].sql(statement)
                if shown and rows.columns:
                    rows.show(100, truncate=False)
                else:
                    rows.collect()
        else:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.text], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
            print(done.stdout)
    return output.getvalue()


if __name__ == "__main__":
    findings = run(Path(sys.argv[1]))
    print("\n\n".join(findings))
    sys.exit(1 if findings else 0)
