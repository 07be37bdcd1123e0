"""The base class of all parts of a report: values that are sent as plain dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec


class ReportPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a report, or the whole.

    Its dict has the fields in their order; fields with their default values are left out.

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
        """Return the part that `to_dict` wrote, even if an older version with fewer fields wrote it."""
        return msgspec.convert(plain, cls)


def written_if_empty() -> tuple[Any, ...]:
    """Return an empty tuple: the default of a field that is written to a dict even when empty."""
    return ()
