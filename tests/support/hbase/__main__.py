"""Run an HBase to try things on, until Enter or Ctrl-C: `make hbase`."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

from tests.support.hbase.launcher import HBaseServer
from tests.support.jars import ArtifactsError


def main() -> int:
    """Start it, say where it is, and wait."""
    with tempfile.TemporaryDirectory(prefix="parquetry-hbase-") as folder:
        started = time.monotonic()
        try:
            server = HBaseServer(Path(folder) / "hbase")
        except (ArtifactsError, RuntimeError) as error:
            print(error, file=sys.stderr)
            return 1
        print(f"HBase is ready after {time.monotonic() - started:.0f} s, until Enter is pressed:")
        print(f"  store = {server.url('metastore')}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.readline()
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
