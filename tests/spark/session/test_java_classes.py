"""Java classes that Python calls: looked up in the JVM once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from py4j.protocol import REFLECTION_COMMAND_NAME
from pyspark.sql import SparkSession

from parquetry.spark.active import bridge_class, java_class


@contextmanager
def looked_up(jvm: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Gather the commands to the JVM that look for a class, a package or a method."""
    commands: list[str] = []
    client = jvm._gateway_client
    send = client.send_command

    def gather(command: str, *args: Any, **options: Any) -> Any:
        if command.startswith(REFLECTION_COMMAND_NAME):
            commands.append(command)
        return send(command, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(client, "send_command", gather)
        yield commands


def test_a_class_and_its_methods_are_looked_up_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call of a method looks for the class and for the method, and later calls for nothing."""
    jvm: Any = spark._jvm
    java_class.cache_clear()
    with looked_up(jvm, monkeypatch) as first:
        installed = bridge_class(jvm, "protocol.Bridge").installed()
    with looked_up(jvm, monkeypatch) as second:
        assert bridge_class(jvm, "protocol.Bridge").installed() is installed is True
    assert (len(first), second) == (2, [])


def test_a_class_that_is_not_there_is_an_error(spark: SparkSession) -> None:
    """A name of no class fails at once, where Py4J would return a package."""
    with pytest.raises(TypeError, match=r"^The JVM has no class org\.nowhere\.Some\.$"):
        java_class(spark._jvm, "org.nowhere.Some")
