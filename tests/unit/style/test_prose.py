"""`scripts/prose.py` finds what it says it finds, and nothing in code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import prose

LONG = "word " * 40


def habits(name: str, source: str, folder: Path) -> list[tuple[int, str]]:
    """Return the lines and habits of what is found in a file."""
    path = folder / name
    path.write_text(source)
    return [(found.line, found.habit) for found in prose.findings(path, name)]


@pytest.mark.parametrize(
    ("sentence", "habit"),
    [
        ("Return the file; None: it has none.", "none clause"),
        ("Its size is greater than that of the file.", "that of"),
        ("Skip those with a NULL.", "that of"),
        ("Values of which the files are known are skipped.", "of which"),
        ("Whoever calls closes it.", "no actor"),
        ("Spark is told of it.", "told"),
        ("The file lies elsewhere.", "lies"),
        ("Reading is dear.", "dear"),
        ("Requests are spared.", "spared"),
        ("The doomed files.", "doomed"),
        ("The row that was asked for.", "asked for"),
        ("It waits in vain.", "old idiom"),
        ("A row is there.", "inversion"),
        (LONG.strip() + ".", "long sentence"),
    ],
)
@pytest.mark.parametrize("name", ["page.md", "module.py", "Class.scala"])
def test_a_habit_is_found_in_each_language(sentence: str, habit: str, name: str, tmp_path: Path) -> None:
    """A sentence with one habit is one finding, on the line where it begins, wherever lines are broken."""
    words = sentence.split()
    broken = [" ".join(words[start : start + 9]) for start in range(0, len(words), 9)]
    source = {
        "page.md": "# Title\n\n" + "\n".join(broken),
        "module.py": '"""Title."""\n\n' + "\n".join(f"# {line}" for line in broken),
        "Class.scala": "package a\n\n" + "\n".join(f"// {line}" for line in broken),
    }[name]
    assert habits(name, source + "\n", tmp_path) == [(3, habit)]


def test_a_docstring_must_not_begin_with_its_own_relative_clause(tmp_path: Path) -> None:
    """The habit counts only in the first sentence of a docstring, also of a constant's docstring.

    Comments may begin in any way.
    """
    source = '''
LIMIT = 3
"""What is read at most. What follows may begin so."""
# What is read.
def rows() -> int:
    """Which rows are read."""
'''
    assert habits("module.py", source, tmp_path) == [
        (3, "relative beginning"),
        (6, "relative beginning"),
    ]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("page.md", f"```text\n{LONG}told\n```\n\n| told | {LONG} |\n|---|---|\n\n`it lies there`\n"),
        ("page.md", f"Files are laid out. `DROP` lists them. {LONG[:60]}.\n`X` {LONG[:100]}\n"),
        ("module.py", '"""Title.\n\nArgs:\n    told: what it was.\n    left (int): so many.\n"""\n'),
        ("page.md", f"See [the page](https://example.org/{'x' * 120}) about it.\n"),
        ("page.md", "<!-- told\nlies -->\n"),
        ("module.py", 'TEXT = "told; None: lies"\n'),
        ("module.py", f'"""Title.\n\n>>> told\n{"lies " * 40}\n"""\n'),
        ("module.py", f'"""Title.\n\nExample:\n\n    told lies {LONG}\n    told\n\nMore.\n"""\n'),
        ("Class.scala", f"/**\n * Title.\n *\n *     told lies {LONG}\n */\n"),
        ("module.py", f"x = {'1 + ' * 30}1  # a sum\n"),
        ("Class.scala", f"val x = {'1 + ' * 30}1 // a sum\n"),
        ("Class.scala", f"/** Title.\n  * @param told {LONG[:80]}\n  * @param b {LONG[:90]}\n  */\n"),
        ("module.py", f"x = 1  # noqa: {'E501 ' * 40}\n"),
        ("Class.scala", 'val url = "http://told.lies"\nval q = """// told\n// lies"""\n'),
    ],
)
def test_code_tables_and_links_are_left_alone(name: str, source: str, tmp_path: Path) -> None:
    """Texts that are no prose have no findings."""
    assert habits(name, source, tmp_path) == []


def test_lines_of_prose_have_a_width(tmp_path: Path) -> None:
    """A line of 111 characters is a finding, in a docstring, a comment or a page; one of 110 is none."""
    for width, found in ((110, []), (111, [(3, "long line")])):
        line = ("ab. " * 40)[: width - 1] + "."
        assert habits("page.md", f"# Title\n\n{line}\n", tmp_path) == found
        assert habits("module.py", f'"""Title.\n\n{line}\n"""\n', tmp_path) == found
        assert habits("Class.scala", f"/** Title.\n\n{line}\n*/\n", tmp_path) == found


def test_exceptions_need_a_reason_and_a_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception lets its sentence pass in its own file only.

    An exception that no sentence needs is a finding of the whole project's check.
    """
    exceptions = tmp_path / "exceptions.txt"
    exceptions.write_text("# why\na.md: The file lies  # as its author says\nb.md: Gone  # was there once\n")
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "EXCEPTIONS", exceptions)
    monkeypatch.setattr(prose, "PATHS", ("a.md", "c.md"))
    (tmp_path / "a.md").write_text("The file lies elsewhere.\n")
    (tmp_path / "c.md").write_text("The file lies elsewhere.\n")
    assert [(x.path, x.habit) for x in prose.check([])] == [
        ("c.md", "lies"),
        ("exceptions.txt", "unused exception"),
    ]
    exceptions.write_text("a.md: The file lies\n")
    with pytest.raises(ValueError, match="reason"):
        prose.check([])


def test_only_new_lines_count_since_a_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --since, an old sentence counts if one of its lines was changed.

    A new file counts as a whole.
    """
    exceptions = tmp_path / "exceptions.txt"
    exceptions.write_text("")
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "EXCEPTIONS", exceptions)
    monkeypatch.setattr(prose, "PATHS", (".",))
    page = tmp_path / "a.md"
    page.write_text("It lies here.\n\nThis sentence\nlies there.\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "first")):
        subprocess.run(("git", *arguments), cwd=tmp_path, check=True)
    assert prose.main(["--since", "HEAD"]) == 0
    page.write_text("It lies here.\n\nThis sentence\nlies over there.\n")
    (tmp_path / "new.md").write_text("It lies.\n")
    assert [(x.path, x.line) for x in prose.check([], "HEAD")] == [("a.md", 3), ("new.md", 1)]
    assert prose.main(["--since", "HEAD", "--most", "1"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        'a.md:3: lies ("is stored", "is in", "was written"): This sentence lies over there.',
        "2 findings: lies 2",
    ]


def test_the_checker_passes_its_own_check() -> None:
    """As a program it needs nothing but Python, and its own prose has no findings."""
    program = str(prose.ROOT / "scripts" / "prose.py")
    done = subprocess.run(
        (sys.executable, "-I", program, program), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
