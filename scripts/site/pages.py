"""Pages of the site that are not in docs/: README and its neighbours, and the Python reference.

MkDocs calls the functions `on_…` while it builds the site (`mkdocs.yml` names this file). Links between pages
of docs/ and pages of the root lead to pages of the site. Links to other files of the project become plain
text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the root, and their names in the site."""
API = {
    "Sessions": (
        "parquetry.configure",
        "parquetry.attach",
        "parquetry.settings",
        "parquetry.register_data_source",
    ),
    "Reports": (
        "parquetry.explain",
        "parquetry.report",
        "parquetry.prune.report.report.Report",
    ),
    "Warehouses without Spark": (
        "parquetry.open",
        "parquetry.catalog.Catalog",
        *(
            f"parquetry.catalog.{name}"
            for name in (
                "Scan",
                "ScanTask",
                "Table",
                "Column",
                "Partition",
                "DataFile",
                "Statistics",
                "Commit",
                "Plan",
            )
        ),
    ),
    "Filters": (
        "parquetry.predicate.Filter",
        *(
            f"parquetry.predicate.{name}"
            for name in ("Compare", "In", "TupleIn", "IsNull", "Like", "And", "Or", "Not")
        ),
    ),
    "Hashes of buckets": ("parquetry.hashing.bucket_hash",),
    "Errors": ("parquetry.errors",),
}
"""Sections of the Python reference: functions, classes and modules whose docstrings it shows."""
SHIM = "assets/iframe-worker.js"
"""Lets search run where a browser gives no workers: in a file."""
STYLE = "assets/site.css"
"""Gives code the width of a page, and keeps names whole."""
_SHIM_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
"""Where the theme would fetch it from."""
_PICTURE = re.compile(r'(?<= )(src|srcset)="docs/')
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]*)(#[^)\s]*)?\)")


def api_page() -> str:
    """Return the page of the Python reference, which mkdocstrings fills in."""
    lines = [
        "# Python reference",
        "",
        "Names are shown as they are imported: `parquetry.configure`, `from parquetry.errors import CommitConflictError`.",
        "",
    ]
    for title, names in API.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += [f"::: {name}", ""]
    return "\n".join(lines)


def in_site(text: str, folder: str) -> str:
    """Return a page with links that lead to pages of the site.

    Args:
        text: of the page, as Markdown.
        folder: of the page, below the root: empty, or `docs`.

    >>> in_site("[SQL](docs/sql.md#tables), [tests](tests/unit), [LICENSE](LICENSE)", "")
    '[SQL](sql.md#tables), tests, LICENSE'
    >>> in_site("[Architecture](../ARCHITECTURE.md#walk-1-one-query)", "docs")
    '[Architecture](architecture.md#walk-1-one-query)'
    >>> in_site('<img alt="x" src="docs/images/x.svg">', "")
    '<img alt="x" src="images/x.svg">'
    """

    def replaced(found: re.Match[str]) -> str:
        image, words, target, anchor = found[1], found[2], found[3], found[4] or ""
        path = (ROOT / folder / target).resolve()
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else target
        if name in PAGES:
            return f"{image}[{words}]({PAGES[name]}{anchor})"
        if name.startswith("docs/"):
            return f"{image}[{words}]({name.removeprefix('docs/')}{anchor})"
        return words

    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    return "".join(
        part if place % 2 else _PICTURE.sub(r'\1="', _LINK.sub(replaced, part))
        for place, part in enumerate(parts)
    )


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root, the Python reference, the style sheet, and a script that search needs."""
    from mkdocs.structure.files import File

    for source, name in PAGES.items():
        files.append(File.generated(config, name, content=in_site((ROOT / source).read_text("utf-8"), "")))
    files.append(File.generated(config, "api.md", content=api_page()))
    for asset in (SHIM, STYLE):
        content = (ROOT / "scripts" / "site" / Path(asset).name).read_text("utf-8")
        files.append(File.generated(config, asset, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001
    """Return a page of docs/ with its links to pages of the root."""
    return markdown if page.file.generated_by else in_site(markdown, "docs")


def on_post_page(output: str, page: Any, config: Any) -> str:  # noqa: ARG001
    """Return a page that fetches nothing from elsewhere."""
    return output.replace(_SHIM_ELSEWHERE, "../" * page.url.count("/") + SHIM)


def on_post_template(output: str, template_name: str, config: Any) -> str:  # noqa: ARG001
    """Return a page that has no source, such as 404.html, so that it fetches nothing from elsewhere.

    Its links begin at the root of the site, because a server shows it below any folder.
    """
    return output.replace(_SHIM_ELSEWHERE, f"/{SHIM}")
