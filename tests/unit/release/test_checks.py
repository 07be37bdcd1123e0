"""The checks of a release that need no build: addresses, tags, the workflow."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from parquetry._version import __version__
from scripts.release import check_release, project

ROOT = Path(__file__).parents[3]
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = project.read()
CHANGES = f"# Changes\n\n## {__version__} (2027-01-15)\n\n## 0.0.1 (2026-01-15)\n"


def faults(tag: str = f"v{__version__}", changes: str = CHANGES, repository: str | None = None) -> list[str]:
    """Return the faults of a release that is right except for what a test names."""
    return check_release.faults(PROJECT, tag, changes, repository)


def test_a_tag_of_the_version_may_be_published() -> None:
    """The tag is `v` and the version, the change log begins with it, and the repository is the metadata's."""
    assert faults(repository=PROJECT.slug) == []
    assert faults(repository=None) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"tag": "v9.9.9"},
            f"The tag is v9.9.9, and the version is {__version__}: tag the commit v{__version__}",
        ),
        ({"tag": __version__}, f"The tag is {__version__}, and"),
        ({"tag": ""}, "The tag is not named"),
        ({"changes": f"## Unreleased\n\n{CHANGES}"}, "CHANGELOG.md begins with 'Unreleased'"),
        ({"changes": f"## {__version__}\n"}, f"begins with '{__version__}': give its lines the heading"),
        ({"changes": "# Changes\n"}, "begins with 'nothing'"),
        (
            {"repository": "mallory/fork"},
            "The repository is mallory/fork, and [project.urls] in pyproject.toml names",
        ),
    ],
)
def test_what_may_not_be_published_is_refused(wrong: dict[str, str], said: str) -> None:
    """Another tag, changes without the version and its date, another repository: a sentence says what
    to do.
    """
    (sentence,) = faults(**wrong)
    assert said in sentence
    assert sentence.endswith(".")


def test_addresses_have_one_origin() -> None:
    """Each address of the project in any file begins with the repository that pyproject.toml names."""
    urls = PYPROJECT["project"]["urls"]
    assert {"Homepage", "Documentation", "Repository", "Issues", "Changelog"} <= set(urls)
    assert all(url.startswith(PROJECT.repository) for url in urls.values())
    owner = re.escape(PROJECT.slug.split("/")[0])
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "mkdocs.yml"]:
        for named in re.findall(rf"https?://[\w.]+/{owner}/[\w-]+", path.read_text()):
            assert named == PROJECT.repository, path.name
    assert f"{PROJECT.repository}/security/advisories/new" in (ROOT / "SECURITY.md").read_text()


def test_the_workflow_pins_what_it_runs() -> None:
    """Each action is named by a commit, with its version in words; nothing has more rights than it needs."""
    used = re.findall(r"uses: (\S+)(.*)", WORKFLOW)
    assert len(used) >= 7
    for action, words in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", words), action
    assert re.search(r"^permissions: \{\}$", WORKFLOW, re.MULTILINE)
    rights = re.findall(r"^      ([\w-]+: write)", WORKFLOW, re.MULTILINE)
    assert rights == ["id-token: write", "contents: write"]
    assert "secrets." not in WORKFLOW
    assert re.search(r'tags: \["v\*"\]', WORKFLOW)
    assert "environment: pypi" in WORKFLOW


def test_the_workflow_runs_targets_that_exist() -> None:
    """Its steps are targets of the Makefile, in the order of the page: check, build twice, check the
    packages.
    """
    targets = re.findall(r"run: make ([\w-]+)", WORKFLOW)
    assert targets == ["check-release", "reproducible", "check-dist"]
    makefile = (ROOT / "Makefile").read_text()
    for target in [*targets, "maven-bundle", "wheel"]:
        assert re.search(rf"^{target}:.*##", makefile, re.MULTILINE), target
    page = (ROOT / "docs" / "releasing.md").read_text()
    for target in [*targets, "maven-bundle"]:
        assert f"make {target}" in page


def test_the_tag_of_a_version() -> None:
    """It is `v0.1.0` for 0.1.0, and the repository's owner and name are GitHub's."""
    made = replace(PROJECT, version="0.1.0", repository="https://github.com/ann/lake")
    assert (made.tag, made.slug) == ("v0.1.0", "ann/lake")
