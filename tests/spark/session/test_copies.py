"""Queries that run in a copy of a session know what was added to the session after the copy was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session of its own, without artifacts, tags and rules."""
    return spark.newSession()


def copy_of(session: SparkSession) -> Any:
    """Return the copy that serves a session now."""
    jvm: Any = session._jvm
    changed = jvm.scala.Predef.Map().empty()
    return jvm.org.apache.spark.sql.parquetry.protocol.SessionCopies.of(session._jsparkSession, changed)


def test_a_copy_serves_again_while_its_session_is_the_same(session: SparkSession) -> None:
    """A session gets the same copy until a setting, or its database, is another."""
    first = copy_of(session)
    assert copy_of(session).equals(first)
    session.sql("SET spark.sql.session.timeZone = Asia/Tokyo")
    second = copy_of(session)
    assert not second.equals(first)
    assert second.conf().get("spark.sql.session.timeZone") == "Asia/Tokyo"
    session.sql("USE lake")
    assert copy_of(session).catalog().currentCatalog() == "lake"


def test_tasks_of_a_copy_find_new_artifacts(session: SparkSession, tmp_path: Path) -> None:
    """Tasks of the next write can import a Python module that a client adds after a write."""
    first = copy_of(session)
    archive = tmp_path / "added_later.zip"
    with ZipFile(archive, "w") as modules:
        modules.writestr("added_later.py", "VALUE = 7\n")
    jvm: Any = session._jvm
    manager = session._jsparkSession.sessionState().artifactManager()
    name, source = (jvm.java.io.File(text).toPath() for text in ("pyfiles/added_later.zip", str(archive)))
    manager.addArtifact(name, source, jvm.scala.Option.empty(), False)
    copy = copy_of(session)
    assert not copy.equals(first)
    assert "added_later.zip" in str(copy.sessionState().artifactManager().getPythonIncludes())


def test_jobs_of_a_copy_have_no_tags_of_another_statement(session: SparkSession) -> None:
    """A tag that the session had when its copy was made does not let `interruptTag` end later statements."""
    session.addTag("first")
    copy = copy_of(session)
    assert session.getTags() == {"first"}
    session.removeTag("first")
    assert copy_of(session).equals(copy)
    assert copy.getTags().isEmpty()


def test_a_copy_plans_with_added_strategies(session: SparkSession) -> None:
    """A strategy that a library adds to a running session plans the queries of the copy, too."""
    first = copy_of(session)
    state = session._jsparkSession.sessionState()
    added = state.planner().strategies().take(1)
    getattr(state.experimentalMethods(), "extraStrategies_$eq")(added)
    copy = copy_of(session)
    assert not copy.equals(first)
    assert copy.sessionState().experimentalMethods().extraStrategies().equals(added)
