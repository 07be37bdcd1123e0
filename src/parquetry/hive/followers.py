"""The catalogs that follow tables: Delta logs, and other Hive metastores.

What they need is imported when a table is followed: every opening of a warehouse registers them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquetry import publishing
from parquetry.metastore import HIVE, Follower, TableSnapshot, follow_commits

if TYPE_CHECKING:
    from parquetry.publishing import Published


def register_followers() -> None:
    """Register them for the commits of this process."""
    follow_commits("delta", Follower(lambda version, _value, _whole: publishing.publish_delta(version)))
    follow_commits(HIVE, Follower(_publish, _require, _clean, _drop))


def _publish(version: TableSnapshot, value: str, whole: bool) -> list[Published]:
    from parquetry.hive.following import HivePlace, publish_followed

    return publish_followed(version, HivePlace.parse(value), whole=whole)


def _require(version: TableSnapshot, value: str) -> None:
    from parquetry.hive.following import HivePlace, require_place

    require_place(version, HivePlace.parse(value))


def _clean(version: TableSnapshot, value: str) -> None:
    from parquetry.hive.following import HivePlace, remove_unnamed_folders

    remove_unnamed_folders(version, HivePlace.parse(value))


def _drop(version: TableSnapshot, value: str) -> None:
    from parquetry.hive.following import HivePlace, drop_followed

    drop_followed(version, HivePlace.parse(value))
