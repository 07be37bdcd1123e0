"""`make wheel` builds a wheel with the compiled bridge, and a source archive that can compile it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path
from xml.etree import ElementTree

import pyspark
import pytest

from parquetry._version import __version__
from parquetry.config import SPARK_SERIES, series_of
from parquetry.spark import bridge_jar
from scripts.release import maven, project
from scripts.release.hatch_build import maven_artifact, maven_group
from tests.support import effort
from tests.support.jvm.spark_pairs import jvm
from tests.support.pages.blocks import blocks_of, is_printed

pytestmark = pytest.mark.spark

PROJECT = Path(__file__).parents[2]
README = blocks_of((PROJECT / "README.md").read_text())
SCALA = sorted(
    path.relative_to(PROJECT / "bridge").as_posix() for path in (PROJECT / "bridge").rglob("*.scala")
)
PUBLISHED = project.read(PROJECT)
LEGAL = {"META-INF/LICENSE", "META-INF/NOTICE"}
POM = "{http://maven.apache.org/POM/4.0.0}"
WANTED_OF_POM = (
    "groupId", "artifactId", "version", "packaging", "name", "description", "url", "licenses/license/name",
    "licenses/license/url", "developers/developer/name", "scm/connection", "scm/developerConnection", "scm/url",
    "dependencies/dependency/version", "dependencies/dependency/scope",
)  # fmt: skip
WHERE_IS_THE_JAR = "from parquetry.spark import bridge_jar as bridge; print(bridge.jar())"
WHERE_ARE_THE_SOURCES = "import json; from parquetry.spark import bridge_jar as bridge; print(json.dumps(bridge.sources(), default=str))"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in a folder with a space in its name, after `make wheel`."""
    folder = tmp_path_factory.mktemp("a clone") / "of parquetry"
    kept = (
        "Makefile", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "SECURITY.md", "CHANGELOG.md", ".gitignore",
        "src", "bridge", "scripts", "demo",
    )  # fmt: skip
    folder.mkdir()
    for name in kept:
        copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy2
        copy(PROJECT / name, folder / name)
    # the environment these tests run in is taken as it is
    environment = [f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.parquetry"]
    made = subprocess.run(
        ["make", "wheel", *environment], cwd=folder, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(clone: Path) -> Path:
    (found,) = (clone / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def source_archive(clone: Path) -> Path:
    (found,) = (clone / "dist").glob("*.tar.gz")
    return found


def unpacked(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def said(site: Path, code: str, cwd: Path) -> str:
    """Return Python's output with a folder of packages before all others, and without this project's tree."""
    environment = {**os.environ, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(cwd / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_wheel_brings_a_compiled_bridge(wheel: Path, tmp_path: Path):
    """An installed wheel uses the jar it carries, which holds the catalog, and compiles nothing."""
    site = unpacked(wheel, tmp_path / "site")
    jar = Path(said(site, WHERE_IS_THE_JAR, tmp_path))
    assert jar.parent == site / "parquetry" / "spark" / "jars"
    with zipfile.ZipFile(jar) as archive:
        assert "org/apache/spark/sql/parquetry/ParquetryCatalog.class" in archive.namelist()
    assert not (tmp_path / "cache").exists()


def test_the_wheel_brings_a_bridge_for_each_series(wheel: Path):
    """Each series has a jar of its own, and no two have the same classes."""
    with zipfile.ZipFile(wheel) as archive:
        jars = {name: archive.read(name) for name in archive.namelist() if name.endswith(".jar")}
    named = [re.search(r"-spark-(\d+\.\d+)\.\d+\.jar$", name) for name in jars]
    assert sorted(name[1] for name in named if name) == sorted(SPARK_SERIES)
    classes = set()
    for jar in jars.values():
        with zipfile.ZipFile(io.BytesIO(jar)) as archive:
            classes.add(frozenset((each.filename, each.CRC) for each in archive.infolist()))
    assert len(classes) == len(SPARK_SERIES)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path):
    """A wheel is the package, with its types marked and the bridge's sources; no tests and no demo."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
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
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode())


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
    for image, kind, version, path in links:
        assert (kind, version) == ("raw" if image else "blob", __version__)
        assert (PROJECT / path).exists(), path
    assert any(image for image, *_ in links)


def test_the_sbom_names_each_jar_with_its_hash(wheel: Path):
    """The bill of materials in the wheel lists what the wheel carries: its jars, and nothing that it does not
    carry.
    """
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if ".dist-info/sboms/" in name)
        jars = {
            name: hashlib.sha256(archive.read(name)).hexdigest()
            for name in archive.namelist()
            if name.endswith(".jar")
        }
        facts = json.loads(archive.read(name))
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
    assert len(set(named)) == len(SPARK_SERIES)


def test_a_second_build_is_the_same_byte_for_byte(clone: Path, wheel: Path, tmp_path: Path):
    """Another folder, other rights, another time zone and another compilation give the same jar and the same
    archives.
    """
    again = tmp_path / "another folder"
    shutil.copytree(clone, again, ignore=shutil.ignore_patterns("dist", "__pycache__"))
    jars = again / "src" / "parquetry" / "spark" / "jars"
    with zipfile.ZipFile(wheel) as archive:
        carried = {name: archive.read(name) for name in archive.namelist() if name.endswith(".jar")}
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
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(wheel) as archive:
        jars = {name: archive.read(name) for name in archive.namelist() if name.endswith(".jar")}
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


def zip_names(content: bytes) -> set[str]:
    """The names of a zip's entries."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return set(archive.namelist())


def test_a_wheel_that_is_not_installed_says_what_to_do(wheel: Path):
    """As `spark-submit --py-files` has it, a wheel cannot bring its jar."""
    done = subprocess.run(
        [sys.executable, "-c", WHERE_IS_THE_JAR],
        env={**os.environ, "PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"from within {wheel}, where Spark cannot read" in done.stderr
    assert "leave it out of --py-files" in done.stderr


def test_the_source_archive_can_compile_the_bridge(source_archive: Path, tmp_path: Path):
    """A wheel built from the source archive carries no jar, and the sources in its place."""
    with tarfile.open(source_archive) as archive:
        archive.extractall(tmp_path, filter="data")
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
    (wheel,) = (source / "dist").glob("*.whl")
    site = unpacked(wheel, tmp_path / "site")
    assert not list(site.rglob("*.jar"))
    found = json.loads(said(site, WHERE_ARE_THE_SOURCES, tmp_path))
    assert any("/" in name for name in SCALA)  # or sources in sub-folders would not be tested
    other = {f"versions/{series}/" for series in SPARK_SERIES if series != series_of(pyspark.__version__)}
    used = [name for name in SCALA if not name.startswith(tuple(other))]
    assert found == {name: str(site / "parquetry" / "spark" / "scala" / name) for name in used}


def test_make_wheel_leaves_no_jar_in_the_tree(clone: Path):
    """A jar left in the source tree would be used in place of sources that have changed since."""
    assert not list((clone / "src").rglob("*.jar"))


def test_a_jar_of_another_series_names_the_one_to_take(wheel: Path, tmp_path: Path) -> None:
    """The wheel's jar for the running Spark starts, and each other jar names the one to take.

    The error comes before Java loads a class that this Spark lacks. That would be a NoClassDefFoundError. All
    cases run in each series, a sample in the installed one.
    """
    folder = unpacked(wheel, tmp_path / "site") / "parquetry" / "spark" / "jars"
    jars = {series: next(folder.glob(f"*-spark-{series}.*.jar")) for series in SPARK_SERIES}
    installed = Path(pyspark.__path__[0])
    sparks = {series_of(pyspark.__version__): installed}
    for series in SPARK_SERIES if effort.STEP == 1 else ():
        if series not in sparks:
            target = tmp_path / series
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
            ]
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


@pytest.fixture(scope="module")
def home(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty home after the README's shell lines, typed in the clone after `make wheel`."""
    folder = tmp_path_factory.mktemp("home")
    (lines,) = (block.text for block in README if block.language == "sh")
    made, _, rest = lines.partition("\n")
    assert made == "make wheel"
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
