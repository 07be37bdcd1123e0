"""Locations below the warehouse, as the metastore keeps them: relative to it, so that a warehouse can be moved or copied.

| location, warehouse `/lake`   | kept as                   |
|-------------------------------|---------------------------|
| `file:/lake/sales.db/orders`  | `warehouse:/sales.db/orders`      |
| `/lake/sales.db/orders`       | `warehouse-path:/sales.db/orders` |
| `file:/other/orders`          | `file:/other/orders`      |

Both forms look like URIs of schemes that no file system has: whoever does not know them opens nothing, instead of something
below his working directory. A warehouse may have several names (a link leads to it, `file:///`, `hdfs` with its usual port);
what lies below any of them is kept in the one form, and is read back below the name that the reader's session has for it.
"""

from __future__ import annotations

import os

from parquetry.locations.uri import StoragePath, is_below, storage_path, take_apart, warehouse_location

RELATIVE_PREFIX = "warehouse:"
RELATIVE_PATH_PREFIX = "warehouse-path:"
"""Of a location that was a plain path, without a scheme."""
RELATIVE_MARK = b"warehouse"
"""What the bytes of a record hold that has such a location."""


class BelowWarehouse:
    """Turns locations below a warehouse into the form that is kept, and back; others stay as they are.

    Args:
        warehouse: absolute path, or URI.

    >>> below = BelowWarehouse("/lake")
    >>> below.kept("file:/lake/t"), below.kept("file:///lake/t/"), below.kept("/lake"), below.kept("/lakeside/t")
    ('warehouse:/t', 'warehouse:/t', 'warehouse-path:/', '/lakeside/t')
    >>> below.absolute("warehouse:/t"), below.absolute("warehouse-path:/"), below.absolute("s3://b/t")
    ('file:/lake/t', '/lake', 's3://b/t')
    """

    def __init__(self, warehouse: str) -> None:
        self._location = warehouse_location(warehouse)
        parts = take_apart(self._location)
        place = storage_path(self._location)
        self._roots = [place]
        self._uri = f"file:{place.path}" if parts.is_local else self._location
        if parts.is_local:
            real = StoragePath("", os.path.realpath(place.path))
            self._roots += [real] if real != place else []
        self.hints = [
            (root.path.rpartition("/")[2] or root.root.rpartition("/")[2] or "/").encode()
            for root in self._roots
        ]
        """Each location below the warehouse holds one of these, the name of its folder, however many slashes lead there."""

    def kept(self, location: str) -> str:
        """Return a location as it is kept."""
        rest = self._below(location)
        if rest is None:
            return location
        form = RELATIVE_PREFIX if take_apart(location).scheme else RELATIVE_PATH_PREFIX
        return f"{form}/{rest}"

    def absolute(self, location: str) -> str:
        """Return the location that is kept as a text."""
        if location.startswith(RELATIVE_PREFIX):
            return _joined(self._uri, location[len(RELATIVE_PREFIX) :])
        if location.startswith(RELATIVE_PATH_PREFIX):
            return _joined(self._location, location[len(RELATIVE_PATH_PREFIX) :])
        return location

    def named(self, location: str) -> str:
        """Return a location by the warehouse's own name, if links lead from it to below the warehouse."""
        parts = take_apart(location)
        if not parts.is_local or self._below(location) is not None:
            return self.absolute(self.kept(location))
        real = self._below(os.path.realpath(parts.path))
        if real is None:
            return location
        return _joined(self._uri if parts.scheme else self._location, f"/{real}")

    def _below(self, location: str) -> str | None:
        """Return what comes behind the warehouse in a location; None: it does not lie there, or steps out by `..`."""
        place = storage_path(location)
        for root in self._roots:
            if place == root:
                return ""
            if is_below(place, root):
                rest = place.path[len(root.path.rstrip("/")) + 1 :]
                return None if ".." in rest.split("/") else rest
        return None


def _joined(warehouse: str, rest: str) -> str:
    return f"{warehouse.rstrip('/')}{rest}" if rest != "/" else warehouse
