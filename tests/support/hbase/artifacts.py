"""HBase's jars."""

from __future__ import annotations

from pathlib import Path

from tests.support.jars import fetched


def libraries() -> Path:
    """Return the folder of HBase's jars, fetched if need be (a minute or two).

    Raises:
        ArtifactsError: they could not be fetched.
    """
    return fetched(Path(__file__).with_name("ivy.xml"), "HBase", "75 MB")
