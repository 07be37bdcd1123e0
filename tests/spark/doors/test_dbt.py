"""The page for dbt: its project, made as the page prints it, and run by its commands; and dbt's own tests of
adapters, with the page's macros (`make test-all` alone).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.spark.doors.test_pages import Machine, blocks
from tests.support.pages.blocks import is_printed
from tests.support.processes import ROOT
from tests.support.spark import doors

PAGE = (ROOT / "docs" / "dbt.md").read_text()
DBT = Path(os.environ.get("PARQUETRY_DBT") or ROOT / ".venv-dbt").absolute()
"""The environment of dbt, which `make test-all` makes."""
SUITE = ROOT / "tests" / "support" / "dbt"
"""dbt's own tests of adapters, and a list of the failing ones."""
OPTIONS = """--noconftest -p dbt.tests.fixtures.project -p no:cacheprovider -p no:warnings -q --tb=line
    --show-capture=stdout --junitxml=results.xml"""
"""How pytest of dbt's environment runs them: with dbt's fixtures, and without this repository's."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's project: each block behind a file's name is that file."""
    folder = tmp_path_factory.mktemp("project")
    files = re.findall(
        r"`([\w/]+\.(?:yml|sql|csv))`:\n\n<!-- excerpt -->\n```\w+\n(.*?)```\n", PAGE, re.DOTALL
    )
    assert len(files) == 8
    for name, text in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with the page's Thrift server, whose port it has in place of the page's."""
    assert (DBT / "bin" / "dbt").exists(), f"There is no dbt in {DBT}: `make test-all` installs it."
    made = Machine(tmp_path_factory.mktemp("machine"))
    port = doors.free_port()
    made.replaced["10000"] = str(port)
    with made.serving(blocks("dbt.md", "sh")[0].text, port):
        yield made


@pytest.mark.newest("the page quotes what the newest does")
def test_the_project_of_the_page(project: Path, machine: Machine) -> None:
    """Two runs build, merge and overwrite through a Thrift server, and print what the page quotes."""
    profile = project / "profiles.yml"
    profile.write_text(machine.text(profile.read_text()))
    _, installation, *runs = blocks("dbt.md", "sh")
    assert installation.text.startswith("pip install 'dbt-core==")
    for commands, printed in zip(runs, blocks("dbt.md", "text"), strict=True):
        said = machine.run(
            f'cd "{project}"; PATH="{DBT}/bin:$PATH"; export DBT_USE_COLORS=false\n{commands.text}'
        ).stdout
        said = re.sub(r"^\d\d:\d\d:\d\d +", "", said, flags=re.MULTILINE)
        assert is_printed(f"$\n{printed.text}", f"$\n{said}"), said


@pytest.fixture(params=["lake", "stock"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A Thrift server whose default catalog is Parquetry's, or Spark's own, and which of them."""
    port = doors.free_port()
    settings = {
        "spark__sql__defaultCatalog": "lake" if request.param == "lake" else "spark_catalog",
        "spark__sql__session__timeZone": "UTC",
        "spark__driver__memory": "2g",
        "spark__master": "local[2]",
        "spark__hadoop__hive__server2__thrift__bind__host": "127.0.0.1",
        "spark__hadoop__hive__server2__thrift__port": str(port),
    }
    name = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    with doors.server(name, doors.flags(tmp_path, **settings), tmp_path, port):
        yield request.param, port


def listed(catalog: str) -> list[str]:
    """Return the tests that the list of failures names. On `stock` more fail than on both."""
    both, alone = (SUITE / "failures.txt").read_text().split("# On Spark's own tables alone\n")
    text = both if catalog == "lake" else both + alone
    return sorted(re.findall(r"^  (\S+::.*\S)$", text, re.MULTILINE))


@pytest.mark.newest("the list of failures is of the newest")
def test_dbts_own_tests(server: tuple[str, int], tmp_path: Path) -> None:
    """dbt's tests of adapters pass, apart from a list with reasons, as on Spark's own tables."""
    catalog, port = server
    python = [str(DBT / "bin" / "python"), "-m", "pytest", f"--rootdir={tmp_path}", "-c", os.devnull]
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    environment |= {"DBT_THRIFT_PORT": str(port), "DO_NOT_TRACK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*python, *OPTIONS.split(), str(SUITE / "suite.py")],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=3600, check=False,
    )  # fmt: skip
    cases = list(ElementTree.parse(tmp_path / "results.xml").iter("testcase"))
    assert len(cases) > 150, done.stdout + done.stderr
    failed = {
        f"{each.attrib['classname'].rpartition('.')[2]}::{each.attrib['name']}"
        for each in cases
        if each.find("failure") is not None or each.find("error") is not None
    }
    assert sorted(failed) == listed(catalog), done.stdout
