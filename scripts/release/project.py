"""The facts of the project that releases need, from pyproject.toml and `_version.py`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Project:
    """The facts.

    Attributes:
        name: of the package.
        version: of the package and of the jars.
        description: in one sentence.
        license: SPDX's name of it.
        authors: their names.
        repository: address of the sources.
    """

    name: str
    version: str
    description: str
    license: str
    authors: tuple[str, ...]
    repository: str

    @property
    def tag(self) -> str:
        """Return the git tag of the version."""
        return f"v{self.version}"

    @property
    def slug(self) -> str:
        """Return owner and name of the repository, as GitHub has them."""
        return "/".join(self.repository.split("/")[3:5])


def read(root: Path = ROOT) -> Project:
    """Return the facts of the project in a folder."""
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(
        r'^__version__ = "(.+)"$', (root / "src/parquetry/_version.py").read_text(), re.MULTILINE
    )
    if version is None:
        raise ValueError(f"{root}/src/parquetry/_version.py names no version.")
    return Project(
        table["name"],
        version[1],
        table["description"],
        table["license"],
        tuple(author["name"] for author in table["authors"]),
        table["urls"]["Repository"],
    )
