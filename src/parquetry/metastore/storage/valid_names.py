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
    reason = None
    if not lower or lower != lower.strip() or lower in (".", ".."):
        reason = "it is empty, a dot or two, or has blanks at an end"
    elif any(char in _FORBIDDEN or not char.isprintable() for char in lower):
        reason = "it holds a slash, a backslash or a character that cannot be printed"
    elif len(lower.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
        reason = f"it is longer than {MAX_NAME_BYTES} bytes"
    if reason is not None:
        raise UnsupportedError(
            f"{name!r} cannot be the name of {'an' if kind[0] in 'aeiou' else 'a'} {kind}: {reason}; use letters, digits and underscores."
        )
    return lower
