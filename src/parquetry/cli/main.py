"""The entrance: runs a command, and prints an error in one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from parquetry.cli import audit, conf, operations, publish, rows, show, system
from parquetry.cli.app import app
from parquetry.errors import ParquetryError

__all__ = ["app", "audit", "conf", "main", "operations", "publish", "rows", "show", "system"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. An error is printed in one sentence on standard error.

    Args:
        arguments: instead of the process's own.

    Raises:
        SystemExit: always. 0 for success; 1 for an error, or a problem that the command found; 2 for wrong
            usage.
    """
    try:
        try:
            app(args=None if arguments is None else list(arguments), prog_name="parquetry")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Python flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except (ParquetryError, OSError) as error:
        print(f"parquetry: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
