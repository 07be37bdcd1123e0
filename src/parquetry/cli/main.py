"""The entrance: runs a command, and prints an error in one sentence."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

from parquetry.cli import audit, conf, erase, metrics, operations, publish, rows, show, system
from parquetry.cli.advising import advise, queries, reports
from parquetry.cli.app import app
from parquetry.cli.servers import hive, iceberg, page
from parquetry.errors import ParquetryError
from parquetry.metastore import Author, Door, author_of_commits, user_name

__all__ = [
    "advise",
    "app",
    "audit",
    "conf",
    "erase",
    "hive",
    "iceberg",
    "main",
    "metrics",
    "operations",
    "page",
    "publish",
    "queries",
    "reports",
    "rows",
    "show",
    "system",
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. An error is printed in one sentence on standard error.

    Args:
        arguments: instead of the process's own.

    Raises:
        SystemExit: always. 0 for success; 1 for an error, or a problem that the command found; 2 for wrong
            usage.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    author = Author(user_name(), "cli", application_name="parquetry", statement=_statement(given))
    try:
        try:
            with author_of_commits(Door(author)):
                app(args=given, prog_name="parquetry")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Python flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except (ParquetryError, OSError) as error:
        print(f"parquetry: {error}", file=sys.stderr)
        raise SystemExit(1) from None


_UNRECORDED = ("--warehouse", "-w", "--store", "--storage-option")
"""Options whose values the history does not have: they name the warehouse, and may have passwords."""


def _statement(arguments: Sequence[str]) -> str:
    """Return a command as the history records it.

    >>> _statement(["rollback", "sales.orders", "17", "--store", "postgresql://me:secret@host/lake", "-w", "/lake"])
    'parquetry rollback sales.orders 17'
    """
    words, skips = ["parquetry"], False
    for argument in arguments:
        is_unrecorded = argument.startswith(("-w", *(f"{option}=" for option in _UNRECORDED)))
        if not (skips or is_unrecorded or argument in _UNRECORDED):
            words.append(argument)
        skips = not skips and argument in _UNRECORDED
    return shlex.join(words)


if __name__ == "__main__":
    main()
