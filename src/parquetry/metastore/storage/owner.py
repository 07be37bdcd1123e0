"""The author of a commit under way, and whether it is still alive.

A commit under way names its process, so that another writer can distinguish a slow author from a dead one. On
the same machine the writer looks the process up. On another machine it knows only the start time, and a lease
decides.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator

import msgspec

LEASE_MS = 15 * 60 * 1000
"""Milliseconds (15 minutes) after which the next writer aborts a commit under way. A commit itself is short,
because its data files are written before it begins."""

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_UPTIME: int | None = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
"""The system's clock that includes sleep: Linux has the first, macOS counts sleep in the second."""
_active: set[bytes] = set()
_active_lock = threading.Lock()


class Owner(msgspec.Struct, frozen=True, array_like=True):
    """The author of a commit under way.

    Attributes:
        nonce: random bytes, unique to the ticket.
        started_at: milliseconds since the epoch.
        host: machine, its boot, and process namespace. Machines of one image may share a name, and the
            namespace outside of containers has the same number on every Linux; no two boots share an id.
        pid: process id.
        born: start time of the process, which distinguishes it from others with the same id; empty if not
            known.
    """

    nonce: bytes
    started_at: int
    host: str
    pid: int
    born: str

    def is_dead(self, now: int, lease: int | None = None) -> bool:
        """Return whether the author's process has certainly ended, or its lease is over.

        Args:
            now: milliseconds since the epoch.
            lease: length of the lease in milliseconds, or None for the lease of a commit.
        """
        if now - self.started_at > (LEASE_MS if lease is None else lease):
            return True
        if self.host != _host(os.getpid()):
            return False
        if self.pid == os.getpid() and self.born == _own_birth(self.pid):
            return self.nonce not in _active
        return not _runs(self.pid, self.born)


def process_tag() -> str:
    """Return a short text that names this process, for the name of what it leaves behind if it is killed."""
    pid = os.getpid()
    return f"{_host_tag()}-{pid}-{_own_birth(pid) or 0}"


def is_tag_of_dead(tag: str) -> bool | None:
    """Return whether the process of a `process_tag` has ended, or None if it ran on another machine.

    >>> is_tag_of_dead(process_tag()), is_tag_of_dead("elsewhere-7-12345")
    (False, None)
    """
    host, pid, born = tag.split("-")
    return None if host != _host_tag() else not _runs(int(pid), "" if born == "0" else born)


def _host_tag() -> str:
    return hashlib.sha256(_host(os.getpid()).encode()).hexdigest()[:12]


def now_ms() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def uptime_s() -> float:
    """Return the seconds since a fixed moment, which include the time that the machine sleeps.

    Python's `time.monotonic` stands still while a machine with Linux or macOS sleeps.
    """
    return time.monotonic() if _UPTIME is None else time.clock_gettime(_UPTIME)


@contextlib.contextmanager
def active_owner() -> Iterator[Owner]:
    """Yield an owner for a commit of this thread, which is alive until the block ends."""
    owner = enter()
    try:
        yield owner
    finally:
        leave(owner)


def enter() -> Owner:
    """Return an owner of this process, which is alive until `leave`."""
    pid = os.getpid()
    owner = Owner(os.urandom(8), now_ms(), _host(pid), pid, _own_birth(pid))
    with _active_lock:
        _active.add(owner.nonce)
    return owner


def leave(owner: Owner) -> None:
    """Declare an owner of this process dead, so that others clean up what it left unfinished."""
    with _active_lock:
        _active.discard(owner.nonce)


@functools.cache
def _host(pid: int) -> str:
    # Machines and containers may share a host name. Then their process ids must not be compared.
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(os.readlink(f"/proc/{pid}/ns/pid"))
    return " ".join([*parts, _boot()])


def _boot() -> str:
    """Return an id of this boot of the machine, or the hardware's address where the kernel has none."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return f"{uuid.getnode():x}"


@functools.cache
def _own_birth(pid: int) -> str:
    # Every commit needs the start time, and it never changes. A fork has another process id.
    return _born(pid)


def _born(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The program's name, in parentheses, may contain blanks. 20 fields after it is the start time.
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
