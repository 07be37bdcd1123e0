"""The page for dbt: its project, made as the page prints it, and run by its commands (`make test-all`
alone).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.spark.doors.test_pages import Machine, blocks
from tests.support.pages.blocks import is_printed
from tests.support.processes import ROOT
from tests.support.spark import doors

PAGE = (ROOT / "docs" / "dbt.md").read_text()
DBT = Path(os.environ.get("PARQUETRY_DBT") or ROOT / ".venv-dbt").absolute()
"""The environment of dbt, which `make test-all` makes."""


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


@pytest.mark.newest("the page quotes what the newest does")
def test_the_project_of_the_page(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two runs build, merge and overwrite through a Thrift server, and print what the page quotes."""
    assert (DBT / "bin" / "dbt").exists(), f"There is no dbt in {DBT}: `make test-all` installs it."
    machine = Machine(tmp_path_factory.mktemp("machine"))
    port = doors.free_port()
    machine.replaced["10000"] = str(port)
    profile = project / "profiles.yml"
    profile.write_text(machine.text(profile.read_text()))
    server, installation, *runs = blocks("dbt.md", "sh")
    assert installation.text.startswith("pip install 'dbt-core==")
    with machine.serving(server.text, port):
        for commands, printed in zip(runs, blocks("dbt.md", "text"), strict=True):
            said = machine.run(
                f'cd "{project}"; PATH="{DBT}/bin:$PATH"; export DBT_USE_COLORS=false\n{commands.text}'
            ).stdout
            said = re.sub(r"^\d\d:\d\d:\d\d +", "", said, flags=re.MULTILINE)
            assert is_printed(f"$\n{printed.text}", f"$\n{said}"), said
