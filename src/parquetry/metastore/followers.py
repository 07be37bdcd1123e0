"""Functions that run after each commit of a table whose property `publish` names them.

Rooms above register them: a table is published by `parquetry.publishing`. The commit is visible by then. So
no error of such a function reaches the writer, who would write the rows again. The error is logged, and the
next commit runs the function again, which catches up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

PUBLISH = "publish"
"""The table property that names a function."""
_FOLLOWERS: dict[str, Callable[[Any], object]] = {}
_LOG = logging.getLogger("parquetry")


def follow_commits(name: str, function: Callable[[Any], object]) -> None:
    """Run a function with each new version of the tables whose property `publish` has its name.

    Args:
        name: the value of the property.
        function: called with the new version, a `TableSnapshot`.
    """
    _FOLLOWERS[name] = function


def notify_followers(version: Any) -> None:
    """Run the function that a new version of a table names, if there is one."""
    function = _FOLLOWERS.get(version.metadata.properties.get(PUBLISH, ""))
    if function is None:
        return
    try:
        function(version)
    except Exception as error:  # noqa: BLE001  # whatever it is, the commit holds
        _LOG.warning(
            "Version %d of table %s is committed, but was not published; the next commit or CALL system.publish catches up: %s",
            version.version, version.label, error,
        )  # fmt: skip
