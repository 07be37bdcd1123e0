"""Who is writing, and whether it still lives.

A commit under way names its process, so that another writer can tell a slow one from a dead one. On the same
machine the process is looked up; of other machines only the time is known, and a lease decides.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator

import msgspec

LEASE_MS = 15 * 60 * 1000
"""A commit older than this is given up by the next writer: its data files were written before it began."""

_active: set[bytes] = set()
_active_lock = threading.Lock()


class Owner(msgspec.Struct, frozen=True, array_like=True):
    """The author of a commit under way.

    Attributes:
        nonce: unique to the ticket.
        started_at: milliseconds since the epoch.
        host: machine and process namespace.
        pid: process id.
        born: what tells this process from another that had or will have the same id; empty: not known.
    """

    nonce: bytes
    started_at: int
    host: str
    pid: int
    born: str

    def is_dead(self, now: int, lease: int | None = None) -> bool:
        """Return whether the author is surely gone, or has used up its lease.

        Args:
            now: milliseconds since the epoch.
            lease: milliseconds; None: that of a commit.
        """
        if now - self.started_at > (LEASE_MS if lease is None else lease):
            return True
        if self.host != _host(os.getpid()):
            return False
        if self.pid == os.getpid() and self.born == _own_birth(self.pid):
            return self.nonce not in _active
        return not _runs(self.pid, self.born)


def now_ms() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@contextlib.contextmanager
def active_owner() -> Iterator[Owner]:
    """Yield an owner for a commit of this thread, alive until the block ends."""
    owner = enter()
    try:
        yield owner
    finally:
        leave(owner)


def enter() -> Owner:
    """Return an owner of this process, alive until it leaves."""
    pid = os.getpid()
    owner = Owner(os.urandom(8), now_ms(), _host(pid), pid, _own_birth(pid))
    with _active_lock:
        _active.add(owner.nonce)
    return owner


def leave(owner: Owner) -> None:
    """Declare an owner of this process dead: what it left unfinished is cleaned up by others."""
    with _active_lock:
        _active.discard(owner.nonce)


@functools.cache
def _host(pid: int) -> str:
    # Containers may share a host name; then their process ids must not be compared.
    try:
        return f"{socket.gethostname()} {os.readlink(f'/proc/{pid}/ns/pid')}"
    except OSError:
        return socket.gethostname()


@functools.cache
def _own_birth(pid: int) -> str:
    # Every commit asks, and this process is born once; a fork of it has another id.
    return _born(pid)


def _born(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The program's name, in parentheses, may hold blanks; the 20th field after it is the start time.
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def _runs(pid: int, born: str) -> bool:
    if born:
        return _born(pid) == born
    if sys.platform == "win32":  # os.kill would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
