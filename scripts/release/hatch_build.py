"""Additions of hatchling to the package: the long description with absolute links, and the wheel's SBOM.

hatchling runs this file by itself, in a source tree and in an unpacked source archive. Addresses come from
`[project.urls]` in pyproject.toml, and from nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SBOM = "parquetry.cdx.json"
"""Name of the SBOM below `.dist-info/sboms`, in CycloneDX, as PEP 770 has it."""
_JAR = re.compile(r"parquetry-bridge-(?P<version>.+)-spark-(?P<spark>(?P<series>\d+\.\d+)\..+)\.jar")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")
_PICTURE = re.compile(r'\b(src|srcset)="(?!https?:)([^"\s]+)"')


def absolute(text: str, repository: str, tag: str) -> str:
    """Return a page in Markdown whose links to files of the project lead to these files at a tag.

    >>> absolute("[SQL](docs/sql.md#x) ![a](docs/a.svg) [b](#b) `[c](d)`", "https://example.org/o/n", "v1")
    '[SQL](https://example.org/o/n/blob/v1/docs/sql.md#x) ![a](https://example.org/o/n/raw/v1/docs/a.svg) [b](#b) `[c](d)`'
    >>> absolute('<img src="docs/a.svg">', "https://example.org/o/n", "v1")
    '<img src="https://example.org/o/n/raw/v1/docs/a.svg">'
    """

    def link(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        return f"{image}[{words}]({repository}/{'raw' if image else 'blob'}/{tag}/{target})"

    def picture(found: re.Match[str]) -> str:
        return f'{found[1]}="{repository}/raw/{tag}/{found[2]}"'

    parts = _CODE.split(text)
    return "".join(
        part if number % 2 else _PICTURE.sub(picture, _LINK.sub(link, part))
        for number, part in enumerate(parts)
    )


def maven_group(repository: str) -> str:
    """Return the group of the jars in Maven: the namespace that Maven Central gives the repository's owner.

    >>> maven_group("https://github.com/Owner/name")
    'io.github.owner'
    """
    address = urlsplit(repository)
    host = ".".join(reversed((address.hostname or "").split(".")))
    return f"{host.replace('com.github', 'io.github')}.{address.path.split('/')[1].lower()}"


def maven_artifact(series: str) -> str:
    """Return the artifact of a series of Spark, with Scala's version behind it.

    >>> maven_artifact("4.3")
    'parquetry-spark-4.3_2.13'
    """
    return f"parquetry-spark-{series}_2.13"


def sbom(project: dict[str, Any], version: str, jars: list[Path]) -> dict[str, Any]:
    """Return the bill of materials of a wheel: the package, and the jars that it carries.

    All of them are compiled from this project's sources. What the package needs beside itself is not in the
    wheel: `Requires-Dist` of the metadata names it.
    """
    repository = project["urls"]["Repository"]
    purl = f"pkg:pypi/{project['name']}@{version}"
    licenses = [{"license": {"id": project["license"]}}]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, purl)}",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "library",
                "bom-ref": purl,
                "name": project["name"],
                "version": version,
                "description": project["description"],
                "licenses": licenses,
                "purl": purl,
                "externalReferences": [{"type": "vcs", "url": repository}],
            },
        },
        "components": [_component(jar, maven_group(repository), licenses) for jar in jars],
        "dependencies": [
            {"ref": purl, "dependsOn": [_purl(jar, maven_group(repository)) for jar in jars]},
            *({"ref": _purl(jar, maven_group(repository))} for jar in jars),
        ],
    }


def _component(jar: Path, group: str, licenses: list[Any]) -> dict[str, Any]:
    named = _named(jar)
    return {
        "type": "library",
        "bom-ref": _purl(jar, group),
        "group": group,
        "name": maven_artifact(named["series"]),
        "version": named["version"],
        "scope": "required",
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(jar.read_bytes()).hexdigest()}],
        "licenses": licenses,
        "purl": _purl(jar, group),
        "properties": [
            {"name": "parquetry:file", "value": f"parquetry/spark/jars/{jar.name}"},
            {"name": "parquetry:compiled-against", "value": f"pkg:pypi/pyspark@{named['spark']}"},
        ],
    }


def _purl(jar: Path, group: str) -> str:
    named = _named(jar)
    return f"pkg:maven/{group}/{maven_artifact(named['series'])}@{named['version']}"


def _named(jar: Path) -> re.Match[str]:
    named = _JAR.fullmatch(jar.name)
    if named is None:
        raise ValueError(f"{jar} is no jar of the bridge: remove it, and run `make wheel`.")
    return named


class LongDescription(MetadataHookInterface):
    """README.md as the long description, where relative links would lead nowhere."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme`; the links lead to the tag of this version."""
        version = re.search(
            r'__version__ = "(.+)"', (Path(self.root) / "src/parquetry/_version.py").read_text()
        )
        if version is None:
            raise ValueError("src/parquetry/_version.py names no version.")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = metadata["urls"]["Repository"]
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, repository, f"v{version[1]}"),
        }


class Sbom(BuildHookInterface):  # type: ignore[type-arg]
    """The SBOM in the wheel; an editable install has none."""

    _folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the SBOM where hatchling takes it from."""
        if self.target_name != "wheel" or version != "standard":
            return
        jars = sorted((Path(self.root) / "src/parquetry/spark/jars").glob("*.jar"))
        facts = sbom(self.metadata.core.config, self.metadata.version, jars)
        self._folder = tempfile.mkdtemp(prefix="parquetry-sbom-")
        file = Path(self._folder) / SBOM
        file.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(file))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what `initialize` wrote."""
        if self._folder:
            shutil.rmtree(self._folder)
