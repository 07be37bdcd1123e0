"""Check that a tag may be published: `python -m scripts.release.check_release v0.1.0`.

The tag names the version. The change log begins with the version and its date. The
repository that publishes is the one that the package's metadata names.
"""

from __future__ import annotations

import os
import re
import sys

from scripts.release.project import ROOT, Project, read

_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)


def faults(project: Project, tag: str, changes: str, repository: str | None) -> list[str]:
    """Return why a tag may not be published, as sentences with what to do; empty if it may.

    Args:
        project: the facts.
        tag: as git names it.
        changes: the text of the change log.
        repository: owner and name of the repository that publishes, or None if none does.
    """
    wrong = []
    if tag != project.tag:
        wrong.append(
            f"The tag is {tag or 'not named'}, and the version is {project.version}: tag the commit {project.tag}, or change "
            "src/parquetry/_version.py."
        )
    newest = next(iter(_HEADING.findall(changes)), "nothing")
    if not re.fullmatch(rf"{re.escape(project.version)} \(\d{{4}}-\d\d-\d\d\)", newest):
        wrong.append(
            f"CHANGELOG.md begins with {newest!r}: give its lines the heading '## {project.version} (date of the release)'."
        )
    if repository is not None and repository != project.slug:
        wrong.append(
            f"The repository is {repository}, and [project.urls] in pyproject.toml names {project.slug}: change the addresses "
            "there, from which links and Maven coordinates follow."
        )
    return wrong


def main() -> int:
    """Print the faults of the tag that is named, and return the exit code."""
    tag = sys.argv[1] if len(sys.argv) > 1 else ""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    wrong = faults(read(), tag, changes, os.environ.get("GITHUB_REPOSITORY"))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
