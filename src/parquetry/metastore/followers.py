"""Other catalogs that follow a table whose property `publish` names them: what runs after its commits.

Rooms above register them: a table is published by `parquetry.publishing` and `parquetry.hive`. The commit is
visible by then. So no error of a follower reaches the writer, who would write the rows again. The error is
logged, and the next commit runs the follower again, which catches up.

| value of the property | follower |
|---|---|
| `delta` | `delta` |
| `thrift://hive:9083/shop.sales` | `thrift` |
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

PUBLISH = "publish"
"""The table property that names a follower."""
HIVE = "thrift"
"""The name of the follower that keeps a table in a Hive metastore."""
Follow: TypeAlias = Callable[[Any, str], object]
"""A function of a version, which is a `TableSnapshot`, and of the property's value."""


def _do_nothing(_version: Any, _value: str) -> None:
    """Follow nothing."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A catalog that follows a table, with its functions for changes.

    Attributes:
        publish: called with each new version, and with whether to repair all of the publication, as others
            may have changed it. It returns the changes.
        require: called before a table is followed. It raises an error if that is not possible.
        clean: called with the newest version after a vacuum.
        drop: called with the last version after a DROP.
    """

    publish: Callable[[Any, str, bool], Any]
    require: Follow = _do_nothing
    clean: Follow = _do_nothing
    drop: Follow = _do_nothing


_FOLLOWERS: dict[str, Follower] = {}
_LOG = logging.getLogger("parquetry")


def follow_commits(name: str, follower: Follower) -> None:
    """Register a follower of the tables whose property `publish` has its name, or a URI with it as scheme."""
    _FOLLOWERS[name] = follower


def follower_name(properties: Mapping[str, str]) -> str:
    """Return the name of the follower of a table with some properties, or an empty text.

    >>> follower_name({"publish": "thrift://hive:9083/shop.sales"}), follower_name({})
    ('thrift', '')
    """
    return properties.get(PUBLISH, "").partition("://")[0]


def follower_of(properties: Mapping[str, str]) -> Follower | None:
    """Return the follower of a table with some properties, or None."""
    return _FOLLOWERS.get(follower_name(properties))


def notify_followers(version: Any) -> None:
    """Publish a new version of a table, if something follows it."""
    _run(
        version,
        lambda follower: functools.partial(_publish_changes, follower),
        "Version %d of table %s is committed, but was not published; the next commit or CALL system.publish catches up: %s",
    )


def _publish_changes(follower: Follower, version: Any, value: str) -> None:
    follower.publish(version, value, False)


def notify_of_vacuum(version: Any) -> None:
    """Have what was published of a table's old versions removed, if something follows the table."""
    _run(
        version,
        lambda follower: follower.clean,
        "Version %d of table %s is vacuumed, but what was published of old versions was not removed; the next vacuum does it: %s",
    )


def notify_of_drop(version: Any) -> None:
    """Drop a table in the catalog that follows it, if there is one."""
    _run(
        version,
        lambda follower: follower.drop,
        "Version %d of table %s was dropped, but is left in the catalog that followed it; drop it there: %s",
    )


def _run(version: Any, chosen: Callable[[Follower], Follow], warning: str) -> None:
    follower = follower_of(version.metadata.properties)
    if follower is None or version.branch_of:  # others follow the table, and not its branches
        return
    try:
        chosen(follower)(version, version.metadata.properties[PUBLISH])
    except Exception as error:  # noqa: BLE001  # whatever it is, the commit holds
        _LOG.warning(warning, version.version, version.label, error)
