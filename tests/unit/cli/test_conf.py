"""The command `parquetry conf`: the series of Spark, the form of the output, and existing settings."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import parquetry
from parquetry._version import __version__
from parquetry.cli.main import main
from parquetry.config import SPARK_SERIES, beside_existing, defaults_entries, with_settings
from parquetry.config.spark import SPARK_SETTINGS
from parquetry.errors import BridgeError, ConfigurationError
from parquetry.spark import configuration
from parquetry.warehouse import VARIABLE

EXTENSION = "org.apache.spark.sql.parquetry.ParquetryExtensions"
Conf = Callable[..., tuple[int, str, str]]


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the jars of a wheel, without PySpark beside it and with no Spark in the environment."""
    folder = tmp_path / "jars of a wheel"
    folder.mkdir()
    for series in SPARK_SERIES:
        (folder / f"parquetry-bridge-{__version__}-spark-{series}.7.jar").touch()
    monkeypatch.setattr(configuration, "_JARS", folder)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "lake"))
    return folder


@pytest.fixture
def conf(jars: Path, capsys: pytest.CaptureFixture[str]) -> Conf:
    """Run the command, and return its exit code, output and errors."""

    def conf(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["conf", *arguments])
        return (int(ended.value.code or 0), *capsys.readouterr())

    return conf


def home(folder: Path, version: str, *, release: bool) -> Path:
    """Make a folder with the marks of a Spark: the file of a release, or the jar of its core."""
    (folder / "jars").mkdir(parents=True)
    if release:
        (folder / "RELEASE").write_text(
            f"Spark {version} (git revision abc) built for Hadoop 3.4.1\nBuild flags: …\n"
        )
    else:
        (folder / "jars" / f"spark-core_2.13-{version}.jar").touch()
    return folder


def test_each_series_has_its_jar(conf: Conf, jars: Path) -> None:
    """--spark takes a series or a version; without PySpark, too."""
    for series in SPARK_SERIES:
        for version in (series, f"{series}.0", f"{series}.2-amzn-1"):
            code, printed, said = conf("--spark", version)
            assert (code, said) == (0, "")
            assert f"spark.jars {jars}/parquetry-bridge-{__version__}-spark-{series}.7.jar\n" in printed
            assert parquetry.settings(spark=version)["spark.jars"] in printed


@pytest.mark.parametrize("release", [True, False])
def test_spark_home_says_which(
    conf: Conf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: bool
) -> None:
    """Its file RELEASE does, or the jar of its core; --spark comes before it."""
    monkeypatch.setenv("SPARK_HOME", str(home(tmp_path / "spark", "4.1.3", release=release)))
    assert "spark-4.1.7.jar" in conf()[1]
    assert "spark-4.1.7.jar" in parquetry.settings()["spark.jars"]
    assert "spark-4.0.7.jar" in conf("--spark", "4.0")[1]


def test_errors_name_what_was_typed(conf: Conf, jars: Path) -> None:
    """No Spark, a series that is none of ours, an install without jars: each says what to do."""
    assert conf() == (
        1, "", "parquetry: No Spark was found for parquetry conf, and each series of Spark has a jar of its own: say parquetry conf "
        "--spark 4.1, set SPARK_HOME, or pip install 'parquetry[spark]'.\n",
    )  # fmt: skip
    with pytest.raises(ConfigurationError, match=r"parquetry\.settings finds no Spark.*spark='4\.1'"):
        parquetry.settings()
    for version in ("3.5", "4", "4.12", "four"):
        assert f"does not work with Spark '{version}': name one of 4.3 or 4.2" in conf("--spark", version)[2]
    for jar in jars.glob("*4.1*"):
        jar.unlink()
    assert "carries no jar for Spark 4.1 (it has 4.3, 4.2, 4.0): install" in conf("--spark", "4.1.4")[2]
    for jar in jars.iterdir():
        jar.unlink()
    with pytest.raises(
        BridgeError, match=r"carries no jar for Spark 4\.1 \(it has none\).*'pyspark==4\.1\.\*'"
    ):
        parquetry.settings(spark="4.1")


def test_the_history_of_queries_is_a_setting(conf: Conf, monkeypatch: pytest.MonkeyPatch) -> None:
    """What turns the history on for commands is printed as the catalog's option."""
    monkeypatch.setenv("PARQUETRY_PRUNING_HISTORY", "values")
    code, out, _ = conf("--spark", "4.1", "--json")
    assert (code, json.loads(out)["spark.sql.catalog.lake.pruning-history"]) == (0, "values")


def test_the_forms_have_the_same_settings(conf: Conf, tmp_path: Path) -> None:
    """Lines, flags and JSON; a name of the catalog; a backslash is doubled in lines alone."""
    (tmp_path / "lake").mkdir()
    settings = json.loads(conf("--spark", "4.2", "--catalog", "ice", "--json")[1])
    assert settings["spark.sql.catalog.ice.warehouse"] == str(tmp_path / "lake")
    assert settings["spark.parquetry.python"] == sys.executable
    assert [line.split(" ", 1) for line in conf("--spark", "4.2", "--catalog", "ice")[1].splitlines()] == [
        list(item) for item in settings.items()
    ]
    assert "/a\\\\b\n" in conf("--spark", "4.2", "-w", "/a\\b")[1]
    code, printed, said = conf("--spark", "4.2", "--flags")
    assert (code, printed) == (1, "")
    assert "jars of a wheel" in said
    assert "which a shell would split" in said
    assert "parquetry conf --write lake.conf), and say --properties-file lake.conf" in said
    assert "exclude each other" in conf("--spark", "4.2", "--flags", "--json")[2]


def test_flags_are_words_of_a_shell(
    conf: Conf, jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are --conf name=value, without quotes, which $(…) would keep."""
    monkeypatch.setattr(configuration, "_JARS", jars.rename(tmp_path / "jars"))
    code, printed, _ = conf("--flags", "--spark", "4.0", "--store", "postgresql://h/d?table=t&a='b'")
    assert code == 0
    words = printed.split()
    assert words[::2] == ["--conf"] * (len(words) // 2)
    assert "spark.sql.catalog.lake.store=postgresql://h/d?table=t&a='b'" in words


def test_what_the_spark_in_use_has_is_kept(
    conf: Conf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed values go on from its spark-defaults.conf: a line that is appended, or a flag, would hide the
    user's.
    """
    spark = home(tmp_path / "spark", "4.1.3", release=True)
    (spark / "conf").mkdir()
    (spark / "conf" / "spark-defaults.conf").write_text("spark.jars=/mine.jar\nspark.sql.extensions a.B")
    monkeypatch.setenv("SPARK_HOME", str(spark))
    settings = json.loads(conf("--json")[1])
    assert settings["spark.jars"].startswith("/mine.jar,")
    assert settings["spark.sql.extensions"] == f"a.B,{EXTENSION}"
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "other"))
    assert json.loads(conf("--json")[1])["spark.sql.extensions"] == EXTENSION


def test_written_files_keep_what_is_theirs(conf: Conf, jars: Path, tmp_path: Path) -> None:
    """The folder is made; comments, others' jars, a user's own choice and the mode stay; a second run changes
    nothing.
    """
    file = tmp_path / "conf" / "spark-defaults.conf"
    code, printed, _ = conf("--spark", "4.1", "--write", str(file))
    assert (code, printed) == (0, f"{file}: 9 settings written, 0 settings there already.\n")
    bucketing = SPARK_SETTINGS[0].name
    file.write_text(
        f"# mine\nspark.jars   /mine.jar, /x/parquetry-bridge-0.0.9-spark-4.0.5.jar\nspark.sql.extensions=a.B\n{bucketing}: false\n"
        "spark.executor.memory 4g"
    )
    file.chmod(0o600)
    assert conf("--spark", "4.1", "--write", str(file))[0] == 0
    text = file.read_text()
    found = {each.name: each.value for each in defaults_entries(text)}
    assert found["spark.jars"] == f"/mine.jar,{jars}/parquetry-bridge-{__version__}-spark-4.1.7.jar"
    assert found["spark.sql.extensions"] == f"a.B,{EXTENSION}"
    assert (found[bucketing], found["spark.executor.memory"]) == ("false", "4g")
    assert text.startswith("# mine\nspark.jars /mine.jar,")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.stat()
    assert conf("--spark", "4.1", "--write", str(file))[1].endswith(
        ": 0 settings written, 9 settings there already.\n"
    )
    assert (file.read_text(), file.stat().st_ino) == (text, before.st_ino)
    assert conf("--spark", "4.3", "--catalog", "two", "--write", str(file))[0] == 0
    found = {each.name: each.value for each in defaults_entries(file.read_text())}
    assert found["spark.jars"].endswith(
        "/mine.jar," + f"{jars}/parquetry-bridge-{__version__}-spark-4.3.7.jar"
    )
    assert {"spark.sql.catalog.lake", "spark.sql.catalog.two"} <= found.keys()
    assert os.listdir(file.parent) == [file.name]
    file.write_bytes(b"spark.jars \xff")
    assert "is not a text in UTF-8" in conf("--spark", "4.1", "--write", str(file))[2]
    assert file.read_bytes() == b"spark.jars \xff"


def test_files_are_read_as_java_reads_properties() -> None:
    """The separators, comments, escapes and continued lines of java.util.Properties; the last of two lines
    counts.
    """
    text = "a=1\r\n b :\t2\n!c 3\n#d 4 \\\ne\\ f 5\\\n   6\n\ng\nh \\u0041\\\\\na = 7\\"
    assert [(each.name, each.value) for each in defaults_entries(text)] == [
        ("a", "1"), ("b", "2"), ("e f", "56"), ("g", ""), ("h", "A\\"), ("a", "7"),
    ]  # fmt: skip
    after = with_settings(text, {"a": "8", "b": "2", "i": "9"})
    assert {each.name: each.value for each in defaults_entries(after)}["a"] == "8"
    assert after.startswith("a=1\r\n b :\t2\n!c 3\n")
    assert after.endswith("\na 8\ni 9\n")
    assert [each.name for each in defaults_entries(with_settings("z 7\\", {"y": "8"}))] == ["z", "y"]
    assert with_settings(after, {"a": "8", "i": "9"}) == after
    assert beside_existing({"spark.jars": " , "}, {"spark.jars": "/p.jar"}) == {"spark.jars": "/p.jar"}
