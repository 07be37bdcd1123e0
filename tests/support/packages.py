"""Packages as `make wheel` and hatchling build them, and what they carry."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from parquetry.spark import bridge_jar

PROJECT = Path(__file__).parents[2]
SCALA = sorted(
    path.relative_to(PROJECT / "bridge").as_posix() for path in (PROJECT / "bridge").rglob("*.scala")
)
WHERE_IS_THE_JAR = "from parquetry.spark import bridge_jar as bridge; print(bridge.jar())"
WHERE_ARE_THE_SOURCES = "import json; from parquetry.spark import bridge_jar as bridge; print(json.dumps(bridge.sources(), default=str))"
_KEPT = (
    "Makefile", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "SECURITY.md", "CHANGELOG.md", ".gitignore",
    "src", "bridge", "scripts", "demo",
)  # fmt: skip


def cloned(folder: Path) -> Path:
    """Copy the project into a new folder, without its tests."""
    folder.mkdir()
    for name in _KEPT:
        copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy2
        copy(PROJECT / name, folder / name)
    return folder


def made(clone: Path) -> Path:
    """Run `make wheel` in a copy of the project, in the environment of these tests, and return the wheel."""
    environment = [f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.parquetry"]
    done = subprocess.run(
        ["make", "wheel", *environment], cwd=clone, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return wheel_of(clone)


def made_of_one_jar(clone: Path) -> Path:
    """Build wheel and source archive in a copy of the project, with the jar that these tests run on.

    It is compiled already, so that this takes seconds. `make wheel` compiles a jar for each series.
    """
    jars = clone / "src" / "parquetry" / "spark" / "jars"
    jars.mkdir()
    shutil.copyfile(bridge_jar.jar(), jars / bridge_jar.jar_name())
    subprocess.run([sys.executable, "-m", "hatchling", "build"], cwd=clone, check=True, capture_output=True)
    return wheel_of(clone)


def wheel_of(folder: Path) -> Path:
    """Return the wheel that was built in a folder."""
    (found,) = (folder / "dist").glob("*.whl")
    return found


def contents(wheel: Path, ending: str = "") -> dict[str, bytes]:
    """Return the files of a wheel, or of another zip, whose names have an ending."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(ending)}


def unpacked(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel into a folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def zip_names(content: bytes) -> set[str]:
    """Return the names of a zip's entries."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return set(archive.namelist())


def said(site: Path, code: str, cwd: Path) -> str:
    """Return Python's output with a folder of packages before all others, and without this project's tree."""
    environment = {**os.environ, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(cwd / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
