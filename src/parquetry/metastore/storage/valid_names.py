"""Names of databases, tables and indexes."""

from __future__ import annotations

from parquetry.errors import UnsupportedError
from parquetry.locations import MAX_NAME_BYTES

DEFAULT_DATABASE = "default"
_FORBIDDEN = frozenset("/\\")


def normalise_name(kind: str, name: str) -> str:
    """Return a name in lower case, as the metastore stores it.

    Args:
        kind: kind of the object, such as ``table``, for the message.
        name: the name as the user wrote it.

    Raises:
        UnsupportedError: a directory cannot have this name.

    >>> normalise_name("table", "Sales_2024")
    'sales_2024'
    """
    lower = name.lower()
    fault = name_fault(lower)
    if fault is not None:
        raise UnsupportedError(
            f"{name!r} cannot be the name of {'an' if kind[0] in 'aeiou' else 'a'} {kind}: {fault}; use letters, digits and underscores."
        )
    return lower


def name_fault(lower: str) -> str | None:
    """Return why a directory cannot have a name, which is in lower case, or None if one can.

    >>> name_fault("/data/events")
    'it holds a slash, a backslash or a character that cannot be printed'
    """
    if not lower or lower != lower.strip() or lower in (".", ".."):
        return "it is empty, a dot or two, or has blanks at an end"
    if any(char in _FORBIDDEN or not char.isprintable() for char in lower):
        return "it holds a slash, a backslash or a character that cannot be printed"
    if len(lower.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME_BYTES} bytes"
    return None
