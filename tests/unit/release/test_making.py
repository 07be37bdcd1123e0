"""`make wheel` builds a wheel with a bridge for each series of Spark, the same each time.

The wheel works as the README says.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pyspark
import pytest

from parquetry._version import __version__
from parquetry.config import SPARK_SERIES, series_of
from parquetry.spark import bridge_jar
from scripts.release import maven, project
from scripts.release.hatch_build import maven_artifact, maven_group
from tests.support import packages
from tests.support.jvm.spark_pairs import jvm
from tests.support.packages import PROJECT, contents, unpacked, zip_names
from tests.support.pages.blocks import blocks_of, is_printed

pytestmark = [
    pytest.mark.spark,
    pytest.mark.exhaustive(
        "tests/unit/release/test_packages.py builds a wheel of one jar, and looks into it"
    ),
]

README = blocks_of((PROJECT / "README.md").read_text())
PUBLISHED = project.read(PROJECT)
LEGAL = {"META-INF/LICENSE", "META-INF/NOTICE"}
POM = "{http://maven.apache.org/POM/4.0.0}"
WANTED_OF_POM = (
    "groupId", "artifactId", "version", "packaging", "name", "description", "url", "licenses/license/name",
    "licenses/license/url", "developers/developer/name", "scm/connection", "scm/developerConnection", "scm/url",
    "dependencies/dependency/version", "dependencies/dependency/scope",
)  # fmt: skip


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in a folder with a space in its name, after `make wheel`."""
    folder = packages.cloned(tmp_path_factory.mktemp("a clone") / "of parquetry")
    packages.made(folder)
    return folder


@pytest.fixture(scope="module")
def wheel(clone: Path) -> Path:
    return packages.wheel_of(clone)


def test_the_wheel_brings_a_bridge_for_each_series(wheel: Path):
    """Each series has a jar of its own, and no two have the same classes."""
    jars = contents(wheel, ".jar")
    named = [re.search(r"-spark-(\d+\.\d+)\.\d+\.jar$", name) for name in jars]
    assert sorted(name[1] for name in named if name) == sorted(SPARK_SERIES)
    classes = set()
    for jar in jars.values():
        with zipfile.ZipFile(io.BytesIO(jar)) as archive:
            classes.add(frozenset((each.filename, each.CRC) for each in archive.infolist()))
    assert len(classes) == len(SPARK_SERIES)


def test_the_wheel_holds_what_one_with_a_single_jar_does(wheel: Path, tmp_path: Path):
    """The wheel of one jar in `test_packages.py` has the same files, apart from jars and their lists.

    The bill of materials lists each jar.
    """
    other = packages.made_of_one_jar(packages.cloned(tmp_path / "clone"))

    def others(files: Mapping[str, bytes]) -> dict[str, bytes]:
        endings = (".jar", ".cdx.json", ".dist-info/RECORD")
        return {name: content for name, content in files.items() if not name.endswith(endings)}

    assert others(contents(wheel)) == others(contents(other))
    (facts,) = map(json.loads, contents(wheel, ".cdx.json").values())
    listed = {
        next(each["value"] for each in component["properties"] if each["name"] == "parquetry:file"):
        component["hashes"][0]["content"]
        for component in facts["components"]
    }  # fmt: skip
    assert listed == {name: hashlib.sha256(jar).hexdigest() for name, jar in contents(wheel, ".jar").items()}
    assert len({component["purl"] for component in facts["components"]}) == len(SPARK_SERIES)


def test_a_second_build_is_the_same_byte_for_byte(clone: Path, wheel: Path, tmp_path: Path):
    """Another folder, other rights, another time zone and another compilation give the same jar and the same
    archives.
    """
    again = tmp_path / "another folder"
    shutil.copytree(clone, again, ignore=shutil.ignore_patterns("dist", "__pycache__"))
    jars = again / "src" / "parquetry" / "spark" / "jars"
    carried = contents(wheel, ".jar")
    jars.mkdir()
    for name, content in carried.items():
        (jars / Path(name).name).write_bytes(content)
    compiled = jars / bridge_jar.jar_name()
    compiled.unlink()
    legal = [PROJECT / name for name in ("LICENSE", "NOTICE")]
    bridge_jar.compile_to(compiled, legal=legal)
    assert compiled.read_bytes() == carried[f"parquetry/spark/jars/{compiled.name}"]
    done = subprocess.run(
        ["sh", "-c", f'umask 077; find . -name "*.py" -exec touch {{}} +; "{sys.executable}" -m hatchling build'],
        cwd=again, env={**os.environ, "TZ": "Asia/Kathmandu"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first = {path.name: path.read_bytes() for path in (clone / "dist").iterdir() if path.is_file()}
    second = {path.name: path.read_bytes() for path in (again / "dist").iterdir()}
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


def test_the_maven_bundle_has_what_maven_central_wants(wheel: Path, tmp_path: Path):
    """Each series is an artifact: the wheel's jar, sources, a jar of documentation, a POM, and checksums of
    each.
    """
    bundle = maven.make(wheel, tmp_path, PUBLISHED)
    files, jars = contents(bundle), contents(wheel, ".jar")
    assert list(files) == sorted(files)
    group = maven_group(PUBLISHED.repository)
    for series in SPARK_SERIES:
        artifact = maven_artifact(series)
        base = f"{group.replace('.', '/')}/{artifact}/{__version__}/{artifact}-{__version__}"
        for ending in (".jar", "-sources.jar", "-javadoc.jar", ".pom"):
            content = files[base + ending]
            for kind in ("md5", "sha1", "sha256", "sha512"):
                assert files.pop(f"{base}{ending}.{kind}").decode() == hashlib.new(kind, content).hexdigest()
        (jar,) = (content for name, content in jars.items() if f"-spark-{series}." in name)
        assert files.pop(f"{base}.jar") == jar
        sources = zip_names(files.pop(f"{base}-sources.jar"))
        assert "org/apache/spark/sql/parquetry/ParquetryCatalog.scala" in sources
        assert {name for name in sources if name.startswith("META-INF/")} == LEGAL | {"META-INF/MANIFEST.MF"}
        assert "index.html" in zip_names(files.pop(f"{base}-javadoc.jar"))
        assert zip_names(jar) > LEGAL
        pom = ElementTree.fromstring(files.pop(f"{base}.pom"))
        read = {name: pom.findtext(f"{POM}{name.replace('/', f'/{POM}')}") for name in WANTED_OF_POM}
        assert all(read.values()), read
        assert (read["groupId"], read["artifactId"], read["version"]) == (group, artifact, __version__)
        assert read["scm/url"] == PUBLISHED.repository
        assert read["dependencies/dependency/version"].startswith(f"{series}.")
        assert read["dependencies/dependency/scope"] == "provided"
    assert files == {}


def test_make_wheel_leaves_no_jar_in_the_tree(clone: Path):
    """A jar left in the source tree would be used in place of sources that have changed since."""
    assert not list((clone / "src").rglob("*.jar"))


def test_a_jar_of_another_series_names_the_one_to_take(wheel: Path, tmp_path: Path) -> None:
    """The wheel's jar for the running Spark starts, and each other jar names the one to take.

    The error comes before Java loads a class that this Spark lacks. That would be a NoClassDefFoundError.
    """
    folder = unpacked(wheel, tmp_path / "site") / "parquetry" / "spark" / "jars"
    jars = {series: next(folder.glob(f"*-spark-{series}.*.jar")) for series in SPARK_SERIES}
    installed = Path(pyspark.__path__[0])
    sparks = {series_of(pyspark.__version__): installed}
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    for series in SPARK_SERIES:
        if series not in sparks:
            target = tmp_path / series
            subprocess.run([*pip, "--target", str(target), f"pyspark=={series}.*"], check=True)
            sparks[series] = target / "pyspark"
    with jvm(installed) as started:
        for running, spark in sparks.items():
            for series, jar in jars.items():
                said = started.start(spark, jar)
                if series == running:
                    assert said is None
                else:
                    assert said is not None
                    assert "WrongSeriesException: [PARQUETRY_BRIDGE] This is Spark " + str(running) in said
                    assert (
                        f"{jar} is Parquetry's for Spark {series}: put {jars[str(running)]} into spark.jars"
                        in said
                    )
                    assert f"`parquetry conf --spark {running}`" in said


@pytest.fixture(scope="module")
def home(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty home after the README's shell lines, typed in the clone after `make wheel`."""
    folder = tmp_path_factory.mktemp("home")
    commands = [block.text.partition("\n") for block in README if block.language == "sh"]
    (rest,) = (rest for first, _, rest in commands if first == "make wheel")
    typed(rest, folder, clone)
    return folder


def typed(lines: str, home: Path, folder: Path) -> str:
    """Return what lines of the shell print, on a machine that has Python and Java, and nothing of this
    project.
    """
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "PYSPARK", "SPARK", "PARQUETRY"))
    }
    downloads = os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
    path = f"{sys.base_prefix}/bin:{os.environ['PATH']}"
    environment = {
        **kept,
        "HOME": str(home),
        "PATH": path,
        "PIP_CACHE_DIR": downloads,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_quick_start_runs_from_the_wheel(home: Path, tmp_path: Path):
    """The README's lines install the wheel in an empty home and print what the README says, also the second
    time. The bridge is not compiled.
    """
    (program,) = (block.text for block in README if block.language == "python")
    (output,) = (block.text for block in README if block.mark == "output")
    (tmp_path / "quick_start.py").write_text(f"{program}\n{program}\n")
    said = typed(". ~/parquetry/bin/activate; python quick_start.py", home, tmp_path)
    assert is_printed(f"{output}\n{output}", said), said
    assert not (home / ".cache" / "parquetry").exists()


def test_the_first_table_is_made_from_the_wheel(home: Path, tmp_path: Path):
    """All blocks of the page First table print in the same home what the page says."""
    page = PROJECT / "docs" / "first-table.md"
    typed(
        f". ~/parquetry/bin/activate; PYTHONPATH='{PROJECT}' python -m tests.support.pages.run_page '{page}'",
        home,
        tmp_path,
    )
