"""The contents of the packages: a wheel has the compiled bridge, and a source archive can compile it.

These packages have the jar of the installed series; `test_making.py` makes a release, with a jar for each.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pyspark
import pytest

from parquetry._version import __version__
from parquetry.config import SPARK_SERIES, series_of
from parquetry.spark import bridge_jar
from scripts.release import project
from tests.support import packages
from tests.support.jvm.spark_pairs import jvm
from tests.support.packages import PROJECT, SCALA, contents, said, unpacked, zip_names

pytestmark = pytest.mark.spark

PUBLISHED = project.read(PROJECT)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the project in a folder with a space in its name."""
    return packages.made_of_one_jar(packages.cloned(tmp_path_factory.mktemp("a clone") / "of parquetry"))


@pytest.fixture(scope="module")
def source_archive(wheel: Path) -> Path:
    (found,) = wheel.parent.glob("*.tar.gz")
    return found


def test_the_wheel_brings_a_compiled_bridge(wheel: Path, tmp_path: Path):
    """An installed wheel uses the jar it carries, which holds the catalog, and compiles nothing."""
    site = unpacked(wheel, tmp_path / "site")
    jar = Path(said(site, packages.WHERE_IS_THE_JAR, tmp_path))
    assert jar.parent == site / "parquetry" / "spark" / "jars"
    assert "org/apache/spark/sql/parquetry/ParquetryCatalog.class" in zip_names(jar.read_bytes())
    assert not (tmp_path / "cache").exists()


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path):
    """A wheel is the package, with its types marked and the bridge's sources; no tests and no demo."""
    names = list(contents(wheel))
    assert wheel.name == f"parquetry-{__version__}-py3-none-any.whl"
    assert {name.split("/")[0] for name in names} == {"parquetry", f"parquetry-{__version__}.dist-info"}
    assert "parquetry/py.typed" in names
    carried = "parquetry/spark/scala/"
    assert sorted(name.removeprefix(carried) for name in names if name.startswith(carried)) == SCALA
    modules = {name for name in names if name.endswith(".py")}
    tree = {f"parquetry/{path.relative_to(PROJECT / 'src' / 'parquetry').as_posix()}" for path in
            (PROJECT / "src" / "parquetry").rglob("*.py")}  # fmt: skip
    assert modules == tree


def metadata(wheel: Path) -> Message:
    """The metadata of a wheel, with the long description as its text."""
    (text,) = contents(wheel, ".dist-info/METADATA").values()
    return message_from_bytes(text)


def test_the_metadata_names_addresses_and_licences(wheel: Path):
    """The package's page has the project's addresses, a licence with its files, and the versions of
    Python.
    """
    found = metadata(wheel)
    urls = dict(each.split(", ", 1) for each in found.get_all("Project-URL", []))
    assert urls["Repository"] == PUBLISHED.repository
    assert {"Homepage", "Documentation", "Issues", "Changelog"} < set(urls)
    assert found["License-Expression"] == "Apache-2.0"
    assert found.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert found["Metadata-Version"] == "2.4"
    pythons = [each for each in found.get_all("Classifier", []) if re.search(r"Python :: 3\.", each)]
    assert pythons == [f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)]


def test_links_of_the_long_description_lead_to_files_of_the_tag(wheel: Path):
    """Where the README links to files of the project, the package's page has addresses of these, pictures
    included.
    """
    text = str(metadata(wheel).get_payload())
    assert not re.findall(r"\]\((?!https?:|#|mailto:)[^)]*\)", text)
    links = re.findall(rf"(!?)\[[^\]]*\]\({re.escape(PUBLISHED.repository)}/(\w+)/v([^/]+)/([^)#]+)", text)
    assert len(links) > 10
    pictures = re.findall(rf'(?:src|srcset)="{re.escape(PUBLISHED.repository)}/(\w+)/v([^/]+)/([^"]+)"', text)
    assert len(pictures) == len(re.findall(r"(?:src|srcset)=", text)) == 2
    for image, kind, version, path in [*links, *(("!", *picture) for picture in pictures)]:
        assert (kind, version) == ("raw" if image else "blob", __version__)
        assert (PROJECT / path).exists(), path


def test_the_sbom_names_each_jar_with_its_hash(wheel: Path):
    """The bill of materials in the wheel lists what the wheel carries: its jars, and nothing that it does not
    carry.
    """
    (text,) = contents(wheel, ".cdx.json").values()
    facts = json.loads(text)
    jars = {name: hashlib.sha256(content).hexdigest() for name, content in contents(wheel, ".jar").items()}
    assert (facts["bomFormat"], facts["specVersion"]) == ("CycloneDX", "1.6")
    assert facts["metadata"]["component"]["purl"] == f"pkg:pypi/parquetry@{__version__}"
    listed = {
        next(each["value"] for each in component["properties"] if each["name"] == "parquetry:file"):
        component["hashes"][0]["content"]
        for component in facts["components"]
    }  # fmt: skip
    assert listed == jars
    named = [component["purl"] for component in facts["components"]]
    assert facts["dependencies"][0]["dependsOn"] == named
    assert len(set(named)) == len(jars) > 0


def test_a_wheel_that_is_not_installed_says_what_to_do(wheel: Path):
    """As `spark-submit --py-files` has it, a wheel cannot bring its jar."""
    done = subprocess.run(
        [sys.executable, "-c", packages.WHERE_IS_THE_JAR],
        env={**os.environ, "PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"from within {wheel}, where Spark cannot read" in done.stderr
    assert "leave it out of --py-files" in done.stderr


@pytest.mark.filterwarnings(
    "ignore:Python 3.14 will, by default, filter extracted tar archives:DeprecationWarning"
)
def test_the_source_archive_can_compile_the_bridge(source_archive: Path, tmp_path: Path):
    """A wheel built from the source archive carries no jar, and the sources in its place."""
    with tarfile.open(source_archive) as archive:
        archive.extractall(tmp_path)  # Python 3.11.2 of Debian knows no filter
    (source,) = tmp_path.iterdir()
    bridge = source / "bridge"
    assert sorted(path.relative_to(bridge).as_posix() for path in bridge.rglob("*.scala")) == SCALA
    assert not list(source.rglob("*.jar"))
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"],
        cwd=source,
        check=True,
        capture_output=True,
    )
    site = unpacked(packages.wheel_of(source), tmp_path / "site")
    assert not list(site.rglob("*.jar"))
    found = json.loads(said(site, packages.WHERE_ARE_THE_SOURCES, tmp_path))
    assert any("/" in name for name in SCALA)  # or sources in sub-folders would not be tested
    other = {f"versions/{series}/" for series in SPARK_SERIES if series != series_of(pyspark.__version__)}
    used = [name for name in SCALA if not name.startswith(tuple(other))]
    assert found == {name: str(site / "parquetry" / "spark" / "scala" / name) for name in used}


def test_a_jar_of_another_series_names_the_one_to_take(wheel: Path, tmp_path: Path) -> None:
    """The wheel's jar starts in the running Spark, and a jar of another series names the one to take."""
    here, running = pyspark.__version__, series_of(pyspark.__version__)
    another = next(series for series in SPARK_SERIES if series != running)
    jar = unpacked(wheel, tmp_path / "site") / "parquetry" / "spark" / "jars" / bridge_jar.jar_name()
    other = jar.with_name(bridge_jar.jar_name(there := another + here.removeprefix(str(running))))
    classes = contents(jar)
    classes.pop("META-INF/MANIFEST.MF")
    # a version of the same length takes the place of the other's in compiled classes
    bridge_jar.write_jar(
        other, {name: each.replace(here.encode(), there.encode()) for name, each in classes.items()}
    )
    with jvm(Path(pyspark.__path__[0])) as started:
        assert started.start(Path(pyspark.__path__[0]), jar) is None
        said = str(started.start(Path(pyspark.__path__[0]), other))
    assert f"WrongSeriesException: [PARQUETRY_BRIDGE] This is Spark {here}" in said
    assert f"{other} is Parquetry's for Spark {another}: put {jar} into spark.jars" in said
    assert f"`parquetry conf --spark {running}`" in said


def test_a_series_takes_what_does_not_differ_from_newer_ones() -> None:
    """Each series is compiled with one file of each name, its own if it has one."""
    folders = PROJECT / "bridge" / "versions"
    names = {path.name for path in (folders / next(iter(SPARK_SERIES))).iterdir()}
    for series in SPARK_SERIES:
        found = [path for name, path in bridge_jar.sources(f"{series}.0").items() if "versions/" in name]
        assert {path.name for path in found} == names
        assert len(found) == len(names)
        for path in (folders / series).iterdir():
            assert path in found
