"""Read a commit of a Delta log, and tell a torn one of ours from one of another program.

A library before this one could leave half a commit, where a file system has no hard links or is HDFS: its
writer was killed, or the disk was full. Only the last commit of a log can be torn, since no publication goes
on behind it.
"""

from __future__ import annotations

from typing import Any

import msgspec

ACTIONS = "parquetry.actions"
"""The field of a commit's information with the number of its actions. Commits of earlier libraries lack it.
"""
_BEGINNING = b'{"commitInfo":{"timestamp":'
_ENGINE = b'"engineInfo":"'
_OURS = b"Parquetry/"
_MAX_BYTES_BEFORE_ENGINE = 200
"""Bytes of our commits before the name of their engine, at most: a time and an operation."""


def decode_commit(text: bytes) -> list[dict[str, Any]] | None:
    """Return the actions of a commit of ours, or None if it is another program's, torn or damaged.

    >>> decode_commit(b'{"commitInfo":{"parquetry.table":"a","parquetry.version":3}}')
    [{'commitInfo': {'parquetry.table': 'a', 'parquetry.version': 3}}]
    >>> decode_commit(b'{"commitInfo":{"parquetry.table":"a"')
    """
    try:
        actions = msgspec.json.decode(
            b"[" + b",".join(filter(None, text.splitlines())) + b"]", type=list[dict[str, Any]]
        )
    except (msgspec.MsgspecError, RecursionError):
        return None
    info = information(actions)
    if not isinstance(info.get("parquetry.table"), str) or not isinstance(info.get("parquetry.version"), int):
        return None
    return actions if info.get(ACTIONS, len(actions)) == len(actions) else None


def information(actions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the information about a commit among its actions, or an empty dictionary."""
    info: Any = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
    return info if isinstance(info, dict) else {}


def is_torn(text: bytes) -> bool:
    """Return whether a text that `decode_commit` refuses is the beginning of a commit of ours.

    >>> is_torn(b""), is_torn(b'{"commitInfo":{"timestamp":17'), is_torn(b'{"protocol":{"minReaderVersion":1')
    (True, True, False)
    """
    if not text.startswith(_BEGINNING[: len(text)]):
        return False
    engine = text.find(_ENGINE)
    if engine < 0:
        return len(text) <= _MAX_BYTES_BEFORE_ENGINE
    rest = text[engine + len(_ENGINE) :]
    if not rest.startswith(_OURS[: len(rest)]):
        return False
    try:
        msgspec.json.decode(text.splitlines()[0])
    except msgspec.DecodeError:
        return True
    return b'"parquetry.table":' in text.splitlines()[0]
