"""The command `audit`: check a claim again that an audit found wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import JsonOption, SparkOptions


@app.command(epilog="Example: parquetry audit /tmp/parquetry-audit/8137.json -w /data/lake")
def audit(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file that an error PARQUETRY_AUDIT named.")
    ],
    spark: SparkOptions,
    as_json: JsonOption = False,
) -> None:
    """Check a claim about rows again that did not hold.

    `SET parquetry.audit = on` has queries checked. It starts Spark, with the settings of the query. A claim
    about a file is checked by its rows, in the same version of the table. For other claims, the statement
    runs again, in the tables' present versions. The exit code is 1 if the claim is still wrong.
    """
    from parquetry.spark import read_failed_audit, replay_audit

    failed = read_failed_audit(file)
    replay = replay_audit(spark.find(), failed, spark.settings())
    if as_json:
        more = {"rules": failed.rules, "statement": failed.statement, "plan": failed.plan}
        output.print_json([msgspec.structs.asdict(replay) | more])
    else:
        verdict = {True: "still wrong", False: "right now", None: "not checked"}[replay.fails]
        print(f"{verdict}: {replay.outcome}\n\nWhat the audit said: {replay.claim}")
        print(f"\n{failed.statement or failed.plan}")
    if replay.fails:
        raise typer.Exit(1)
