"""Parquet and ORC files that other projects ship: in the jars of their tests, and in PyArrow's package."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pyarrow

from tests.support.encryption import key_server_jars
from tests.support.files_beside import files_in
from tests.support.jars import fetched
from tests.support.suites.jars import suite_jars

_SUFFIXES = (".parquet", ".parq", ".orc")
PYARROW = Path(pyarrow.__file__).parent / "tests" / "data"


def shipped_files(folder: Path) -> list[tuple[Path, str]]:
    """Return PyArrow's files and the unpacked files of the jars, each once and with its format.

    Args:
        folder: where jars are unpacked, each into a folder of its name.

    Raises:
        ArtifactsError: Maven Central could not be reached.
    """
    module = Path(__file__).with_name("ivy.xml")
    jars = [*suite_jars(), *key_server_jars(), *sorted(fetched(module, "Data-files", "14 MB").glob("*.jar"))]
    contents: set[bytes] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                if not name.endswith(_SUFFIXES):
                    continue
                content = archive.read(name)
                digest = hashlib.sha256(content).digest()
                if digest not in contents:
                    contents.add(digest)
                    target = folder / jar.stem / name.replace("/", "-")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
    return files_in(PYARROW) + files_in(folder)
