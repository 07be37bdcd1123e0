"""Make what Maven Central's portal takes: `python -m scripts.release.maven [--sign KEY] WHEEL FOLDER`.

The jars are the wheel's own, byte for byte. Each series of Spark is an artifact: a jar, a jar of sources, a
jar in place of Scaladoc, a POM, and checksums. They are in the folders of a Maven repository, and in a zip.
Signatures are made only if a key of GnuPG is named; the portal wants them.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import zipfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

from parquetry.spark.bridge_jar import build_facts, sources, write_jar
from scripts.release.hatch_build import maven_artifact, maven_group
from scripts.release.project import ROOT, Project, read

_JAR = re.compile(r"parquetry/spark/jars/parquetry-bridge-.+-spark-((\d+\.\d+)\..+)\.jar")
_CHECKSUMS = ("md5", "sha1", "sha256", "sha512")
_LEGAL = ("LICENSE", "NOTICE")
_SOURCES = "org/apache/spark/sql/parquetry"
_PURPOSE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{artifact}</title></head><body>
<h1>{artifact} {version}</h1>
<p>This jar is configured, and not called. <code>spark.sql.extensions</code> names
<code>org.apache.spark.sql.parquetry.ParquetryExtensions</code>, and <code>spark.sql.catalog.NAME</code> names
<code>org.apache.spark.sql.parquetry.ParquetryCatalog</code>. The sources are in the jar beside this one; the guides are at
<a href="{repository}">{repository}</a>.</p>
</body></html>
"""
_POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 https://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <packaging>jar</packaging>
  <name>Parquetry for Spark {series}</name>
  <description>{description}</description>
  <url>{repository}</url>
  <licenses>
    <license>
      <name>{license}</name>
      <url>https://www.apache.org/licenses/LICENSE-2.0.txt</url>
    </license>
  </licenses>
  <developers>
{developers}
  </developers>
  <scm>
    <connection>scm:git:{repository}.git</connection>
    <developerConnection>scm:git:{repository}.git</developerConnection>
    <url>{repository}</url>
    <tag>{tag}</tag>
  </scm>
  <dependencies>
    <dependency>
      <groupId>org.apache.spark</groupId>
      <artifactId>spark-sql_2.13</artifactId>
      <version>{spark}</version>
      <scope>provided</scope>
    </dependency>
  </dependencies>
</project>
"""
_DEVELOPER = """    <developer>
      <name>{name}</name>
      <url>{repository}</url>
    </developer>"""


def make(wheel: Path, folder: Path, project: Project, key: str | None = None) -> Path:
    """Write the artifacts of a wheel's jars, and return the zip of them.

    Args:
        wheel: with a jar for each series.
        folder: to write into.
        project: the facts.
        key: of GnuPG, to sign with, or None for no signatures.

    Raises:
        ValueError: the wheel carries no jar.
    """
    repository = folder / "repository"
    jars = list(_jars(wheel))
    if not jars:
        raise ValueError(f"{wheel} carries no jar: make it with `make wheel`.")
    for spark, series, content in jars:
        _write_artifact(repository, project, spark, series, content)
    for file in sorted(path for path in repository.rglob("*") if path.is_file()):
        _write_beside(file, key)
    bundle = folder / f"{project.name}-{project.version}-maven-bundle.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path for path in repository.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(repository).as_posix(), (2020, 2, 2, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return bundle


def _jars(wheel: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield each jar of a wheel: the version of Spark, its series, the bytes."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            found = _JAR.fullmatch(name)
            if found is not None:
                yield found[1], found[2], archive.read(name)


def _write_artifact(repository: Path, project: Project, spark: str, series: str, jar: bytes) -> None:
    group, artifact = maven_group(project.repository), maven_artifact(series)
    folder = repository / group.replace(".", "/") / artifact / project.version
    folder.mkdir(parents=True)
    base = f"{artifact}-{project.version}"
    legal = {f"META-INF/{name}": (ROOT / name).read_bytes() for name in _LEGAL}
    written = {f"{_SOURCES}/{name}": path.read_bytes() for name, path in sources(spark).items()}
    written[f"{_SOURCES}/protocol/BridgeVersion.scala"] = build_facts(spark).encode()
    facts = {
        "group": group,
        "artifact": artifact,
        "version": project.version,
        "series": series,
        "spark": spark,
        "description": project.description,
        "repository": project.repository,
        "license": project.license,
        "tag": project.tag,
    }
    escaped = {name: escape(value) for name, value in facts.items()}
    developers = "\n".join(
        _DEVELOPER.format(name=escape(name), repository=escaped["repository"]) for name in project.authors
    )
    (folder / f"{base}.jar").write_bytes(jar)
    write_jar(folder / f"{base}-sources.jar", written | legal)
    write_jar(folder / f"{base}-javadoc.jar", {"index.html": _PURPOSE.format(**escaped).encode()} | legal)
    (folder / f"{base}.pom").write_text(_POM.format(**escaped, developers=developers), encoding="utf-8")


def _write_beside(file: Path, key: str | None) -> None:
    """Write the checksums of a file, and its signature if a key is named."""
    for name in _CHECKSUMS:
        digest = hashlib.new(name, file.read_bytes(), usedforsecurity=False).hexdigest()
        file.with_name(f"{file.name}.{name}").write_text(digest, encoding="ascii")
    if key is not None:
        signature = file.with_name(f"{file.name}.asc")
        command = ["gpg", "--batch", "--yes", "--armor", "--detach-sign", "--local-user", key]
        subprocess.run([*command, "--output", str(signature), str(file)], check=True)


def main() -> None:
    """Make the bundle of the wheel that is named."""
    parser = argparse.ArgumentParser(prog="make maven-bundle", description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sign", metavar="KEY", help="a key of GnuPG")
    arguments = parser.parse_args()
    bundle = make(arguments.wheel, arguments.folder, read(), arguments.sign)
    print(bundle if arguments.sign else f"{bundle}, without signatures, which Maven Central wants: SIGN=key")


if __name__ == "__main__":
    main()
