"""Errors as Hive's metastore raises them: clients decide by an error's name what they do next."""

from __future__ import annotations

from parquetry import errors

NO_SUCH_OBJECT = "NoSuchObjectException"
META = "MetaException"
_FALLBACKS = (
    META,
    "InvalidOperationException",
    "InvalidObjectException",
    "InvalidInputException",
    "NoSuchObjectException",
    "NoSuchTxnException",
)
"""Errors that a refused call may raise, in the order of preference."""


class HiveFailure(Exception):
    """An error for a client.

    Attributes:
        kind: the name of Hive's error.
    """

    def __init__(self, message: str, kind: str = META) -> None:
        super().__init__(message)
        self.kind = kind


def no_such_object(message: str) -> HiveFailure:
    """Return the error for a name that nothing has."""
    return HiveFailure(message, NO_SUCH_OBJECT)


def kinds_of(error: Exception) -> tuple[str, ...]:
    """Return the names of Hive's errors for an error, the most fitting first.

    >>> kinds_of(errors.TableNotFoundError("x"))[0], kinds_of(errors.UnsupportedError("x"))[0]
    ('NoSuchObjectException', 'MetaException')
    """
    if isinstance(error, HiveFailure):
        return error.kind, *_FALLBACKS
    missing = isinstance(
        error, errors.NamespaceNotFoundError | errors.TableNotFoundError | errors.VersionNotFoundError
    )
    return (NO_SUCH_OBJECT, *_FALLBACKS) if missing else _FALLBACKS
