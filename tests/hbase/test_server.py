"""The HBase of `make hbase`, which the tests run on, too."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.store import open_store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs an HBase to try things on."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.support.hbase"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield started
    started.kill()
    started.communicate()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"store = (hbase://\S+)", line)
        if found:
            return found[1]
    raise AssertionError("no URL was printed")


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def test_it_ends_with_its_parent(process: subprocess.Popen[str], tmp_path: Path) -> None:
    """It serves who opens the URL that is printed, and is gone soon after its parent was killed."""
    url = url_of(process)
    store = open_store(url, str(tmp_path), create=True)
    store.put_many([(b"k", b"v")])
    assert list(store.scan(b"", None)) == [(b"k", b"v")]
    store.close()
    port = urllib.parse.urlsplit(url).port
    assert port is not None
    assert listens(port)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while listens(port):
        assert time.monotonic() < deadline, "the server outlived its parent"
        time.sleep(0.1)
