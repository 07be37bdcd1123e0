"""What all parts of a report are: values that travel as plain dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec


class ReportPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a report, or the whole.

    Its dict has the fields in their order, without those that have their default values.

    >>> class Counted(ReportPart, frozen=True):
    ...     name: str
    ...     by: tuple[str, ...] = ()
    >>> Counted("files", ("id",)).to_dict(), Counted("files").to_dict()
    ({'name': 'files', 'by': ['id']}, {'name': 'files'})
    >>> Counted.from_dict({"name": "files"})
    Counted(name='files', by=())
    """

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain lists and dicts, for JSON; see `Report.to_dict`."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `to_dict` was given of, be it of a time when it had fewer fields."""
        return msgspec.convert(plain, cls)


def written_if_empty() -> tuple[Any, ...]:
    """Return nothing: the default of a field that a dict has even if there is nothing in it."""
    return ()
