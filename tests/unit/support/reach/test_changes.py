"""`make test CHANGED=REV` runs what a change can reach."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.reach import changes, recording

MODULE, IMPORTER = "src/parquetry/layout/skew_map.py", "src/parquetry/layout/heavy_values.py"
TESTS = {
    "tests/a/test_users.py": "from tests.support.helper import help",
    "tests/a/test_importers.py": "import json",
    "tests/b/test_others.py": "PAGES = 'docs/pages'",
    "tests/b/test_processes.py": "import subprocess",
    "tests/spark/test_joins.py": "import json",
    "tests/a/names.test": "include names.part",
}
USED = {
    "tests/a/test_users.py": [MODULE],
    "tests/a/test_importers.py": [IMPORTER],
    "tests/b/test_others.py": ["src/parquetry/errors.py"],
    "tests/b/test_processes.py": [],
    "tests/spark/test_joins.py": ["src/parquetry/errors.py"],
    "tests/a/names.test": ["src/parquetry/errors.py"],
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two modules of the product, some tests and their map."""
    for path in (MODULE, IMPORTER):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(recording.ROOT / path, tmp_path / path)
    written = {
        **TESTS,
        "tests/support/helper.py": "def help(): ...",
        "tests/a/conftest.py": "",
        "tests/a/names.part": "",
        "tests/support/statements/collecting.py": "",
        "docs/a.md": "x",
    }
    for path, text in written.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text + "\n")
    monkeypatch.setattr(changes, "ROOT", tmp_path)
    monkeypatch.setattr(recording, "MAP", tmp_path / "tests" / "reach.json")
    recording.write_map(USED)
    changes._sources.cache_clear()
    changes._imported_tests.cache_clear()
    changes._text.cache_clear()
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *command], cwd=tmp_path, check=True
        )
    return tmp_path


def reached() -> set[str]:
    """Return the names of the tests that are reached, without the one that always is."""
    found = changes.reached("HEAD", TESTS)
    assert "tests/b/test_processes.py" in found
    return {Path(file).stem.removeprefix("test_") for file in found - {"tests/b/test_processes.py"}}


def test_nothing_has_changed(project: Path) -> None:
    """Without a change, or with other comments and docstrings, only tests that always run are reached."""
    assert reached() == set()
    changed = project / MODULE
    changed.write_text(changed.read_text().replace('"""', '"""New: ', 1) + "# the end\n")
    assert reached() == set()


def test_a_body_has_changed(project: Path) -> None:
    """A change within functions reaches the tests that enter the module."""
    changed = project / MODULE
    before = changed.read_text()
    changed.write_text(before.replace("seen = set()", "seen: set[CellKey] = set()"))
    assert before != changed.read_text()
    assert reached() == {"users"}


def test_more_than_a_body_has_changed(project: Path) -> None:
    """A change of a constant, or the module's end, reaches the tests of modules that import it, too."""
    changed = project / MODULE
    changed.write_text(changed.read_text() + "ADDED = 1\n")
    assert reached() == {"users", "importers"}
    changed.unlink()
    assert reached() == {"users", "importers"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("tests/support/helper.py", {"users"}),
        ("tests/support/statements/collecting.py", {"names"}),
        ("tests/a/names.part", {"names"}),
        ("tests/a/names.test", {"names"}),
        ("tests/a/conftest.py", {"users", "importers", "names"}),
        ("tests/b/test_others.py", {"others"}),
        ("docs/a.md", {"others"}),
        ("docs/new.md", {"others"}),
        ("bridge/Rules.scala", {"joins"}),
        ("pyproject.toml", {"users", "importers", "others", "joins", "names"}),
        ("LICENSE", set()),
    ],
)
def test_another_file_has_changed(project: Path, path: str, found: set[str]) -> None:
    """Helpers, settings, pages and the bridge reach the tests that use them, also if the file is new."""
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_text("changed = 1\n")
    assert reached() == found


def test_new_tests_run(project: Path) -> None:
    """A file of tests that is not in the map is reached."""
    recording.write_map({file: used for file, used in USED.items() if "joins" not in file})
    assert reached() == {"joins"}


def test_a_revision_that_git_does_not_know(project: Path) -> None:
    """The error names the revision and what to name."""
    with pytest.raises(ValueError, match=r"CHANGED=nowhere: .*Name a commit, branch or tag"):
        changes.reached("nowhere", TESTS)


def test_the_map_is_read_as_it_was_written(project: Path) -> None:
    """Files keep their modules, also more than fit into a machine's word."""
    uses = {f"tests/test_{number}.py": {f"src/m{each}.py" for each in range(number)} for number in range(70)}
    recording.write_map(uses)
    assert recording.read_map() == uses
