"""Locations relative to the warehouse: the metastore stores them so, and a warehouse can be moved or copied.

| location, warehouse `/lake` | stored as |
|---|---|
| `file:/lake/sales.db/orders` | `warehouse:/sales.db/orders` |
| `/lake/sales.db/orders` | `warehouse-path:/sales.db/orders` |
| `file:/other/orders` | `file:/other/orders` |

Both relative forms look like URIs with a scheme that no file system has. A program that does not know them
fails, and does not open a path below its working directory.

A warehouse may have several names: a link to it, `file:///`, or `hdfs` with its usual port. A location below
any of these names is stored in the same form. It is read back with the name that the reader's session has for
the warehouse.
"""

from __future__ import annotations

import os

from parquetry.locations.uri import StoragePath, is_below, storage_path, take_apart, warehouse_location

RELATIVE_PREFIX = "warehouse:"
RELATIVE_PATH_PREFIX = "warehouse-path:"
"""Begins a stored location that was a plain path, without a scheme."""
RELATIVE_MARK = b"warehouse"
"""Occurs in the bytes of every record that has a relative location."""


class BelowWarehouse:
    """Turns locations below a warehouse into their stored form, and back. Other locations do not change.

    Args:
        warehouse: absolute path, or URI.

    >>> below = BelowWarehouse("/lake")
    >>> below.stored_form("file:/lake/t"), below.stored_form("file:///lake/t/"), below.stored_form("/lake"), below.stored_form("/lakeside/t")
    ('warehouse:/t', 'warehouse:/t', 'warehouse-path:/', '/lakeside/t')
    >>> below.absolute("warehouse:/t"), below.absolute("warehouse-path:/"), below.absolute("s3://b/t")
    ('file:/lake/t', '/lake', 's3://b/t')
    """

    def __init__(self, warehouse: str) -> None:
        self._location = warehouse_location(warehouse)
        parts = take_apart(self._location)
        entry = storage_path(self._location)
        self._roots = [entry]
        self._uri = f"file:{entry.path}" if parts.is_local else self._location
        if parts.is_local:
            real = StoragePath("", os.path.realpath(entry.path))
            self._roots += [real] if real != entry else []
        self.hints = [
            (root.path.rpartition("/")[2] or root.root.rpartition("/")[2] or "/").encode()
            for root in self._roots
        ]
        """Names of the warehouse's folder. Every location below the warehouse contains one of them."""

    def stored_form(self, location: str) -> str:
        """Return the stored form of a location."""
        rest = self._below(location)
        if rest is None:
            return location
        form = RELATIVE_PREFIX if take_apart(location).scheme else RELATIVE_PATH_PREFIX
        return f"{form}/{rest}"

    def absolute(self, location: str) -> str:
        """Return the location that a stored form stands for."""
        if location.startswith(RELATIVE_PREFIX):
            return _join(self._uri, location[len(RELATIVE_PREFIX) :])
        if location.startswith(RELATIVE_PATH_PREFIX):
            return _join(self._location, location[len(RELATIVE_PATH_PREFIX) :])
        return location

    def with_own_name(self, location: str) -> str:
        """Return a location with the warehouse's own name, if its links lead below the warehouse."""
        parts = take_apart(location)
        if not parts.is_local or self._below(location) is not None:
            return self.absolute(self.stored_form(location))
        real = self._below(os.path.realpath(parts.path))
        if real is None:
            return location
        return _join(self._uri if parts.scheme else self._location, f"/{real}")

    def _below(self, location: str) -> str | None:
        """Return a location relative to the warehouse, or None if it is elsewhere, or leaves it by `..`."""
        entry = storage_path(location)
        for root in self._roots:
            if entry == root:
                return ""
            if is_below(entry, root):
                rest = entry.path[len(root.path.rstrip("/")) + 1 :]
                return None if ".." in rest.split("/") else rest
        return None


def _join(warehouse: str, rest: str) -> str:
    return f"{warehouse.rstrip('/')}{rest}" if rest != "/" else warehouse
