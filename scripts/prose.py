"""Finds sentences that need two readings, and lines of prose that are too long.

    python scripts/prose.py [--since REV] [--most N] [PATH...]

It reads docstrings and comments of Python and Scala, and Markdown; it skips code, tables and links. A finding
names the file, the line, the habit and the sentence. The exit status is 1 if anything was found. The last
line counts the findings by habit.

With `--since REV` only lines that were added after that revision count. Without paths it reads the project's
prose.

A sentence that has to stay is listed in `scripts/prose-exceptions.txt`, with a reason. An exception that no
sentence needs any more is a finding, too, when the whole project is read.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATHS = (
    "src",
    "bridge",
    "docs",
    "demo",
    "scripts",
    "tests",
    "benchmarks",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
EXCEPTIONS = ROOT / "scripts" / "prose-exceptions.txt"
MAX_WORDS = 32
"""Words of a sentence. Aim at 20; sentences of more than 32 had to be read twice when these docs were
reviewed.
"""
MAX_WIDTH = 110
"""Characters of a line of prose, as of a line of code (`line-length` in pyproject.toml)."""


@dataclass(frozen=True, slots=True)
class Habit:
    """A habit that costs the reader a second reading.

    Attributes:
        name: as findings show it.
        pattern: finds it in a sentence whose code is replaced by `X`.
        instead: what to write.
        first: whether only the first sentence of a docstring can have it.
    """

    name: str
    pattern: re.Pattern[str]
    instead: str
    first: bool = False


def _habit(name: str, pattern: str, instead: str, first: bool = False) -> Habit:
    return Habit(name, re.compile(pattern, re.IGNORECASE), instead, first)


HABITS = (
    _habit(
        "relative beginning",
        r"^(?:of(?! course)|which|whose|that|those|what|in place of|(?:with|by|in|for|from) which)\b",
        "begin with a noun or an imperative",
        first=True,
    ),
    _habit("none clause", r";\s*none:", 'write "or None if …"'),
    _habit(
        "that of",
        r"\b(?:those (?:of|with|to|in|from|which|that)|that (?:of|from|which)|(?:as|than|like|is|to|by|and|or) that (?:with|to|in))\b",
        "repeat the noun",
    ),
    _habit(
        "of which",
        r"\b(?:of|by|in|to|with|from|for) (?:which|whom)\b",
        "make two sentences",
    ),
    _habit("no actor", r"\b(?:who|what)ever\b|\bnobody\b", "name the actor"),
    _habit("told", r"\btold\b|\btells of\b", '"reported", "known", "passed"'),
    _habit("lies", r"\b(?:lies|lie|lay|laid(?! out))\b", '"is stored", "is in", "was written"'),
    _habit("dear", r"\bdear(?:er|est)?\b", '"expensive"'),
    _habit("spared", r"\bspared?\b", '"kept", "skipped", "saved"'),
    _habit("doomed", r"\bdoomed\b", '"to be deleted"'),
    _habit("asked for", r"\basked for\b", '"requested", "wanted"'),
    _habit("old idiom", r"\b(?:at hand|in vain|let go|of use|nothing is|so to speak)\b", "say it plainly"),
    _habit("inversion", r"\b(?:(?:is|are) there|as they are)\b", '"exists", "unchanged"'),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A line of prose.

    Attributes:
        number: in its file, from 1.
        text: without marks of comments and without indentation.
        source: the whole line of the file; empty if code precedes the comment.
        indent: how many blanks were in front of the text.
    """

    number: int
    text: str
    source: str
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Text:
    """A docstring, a comment of one or more lines, or a page.

    Attributes:
        lines: of it.
        heads: whether its first sentence says what something is, as a docstring's does.
    """

    lines: Sequence[Line]
    heads: bool = False

    @property
    def margin(self) -> int:
        """Indentation of the text. What is indented by four more is an example, but not in a section of
        arguments.
        """
        return min((line.indent for line in self.lines[1:] if line.text), default=0)


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence to rewrite, or a line to wrap.

    Attributes:
        path: of the file, as given or below the project.
        line: the number of its first line.
        last: the number of its last line.
        habit: the name of the habit.
        text: the sentence, or the line that is too long.
        instead: what to write.
    """

    path: str
    line: int
    last: int
    habit: str
    text: str
    instead: str

    def __str__(self) -> str:
        text = self.text if len(self.text) <= 200 else self.text[:199] + "…"
        return f"{self.path}:{self.line}: {self.habit} ({self.instead}): {text}"


# What a file has of prose


def _lines(numbered: Iterator[tuple[int, str]], mark: str) -> list[Line]:
    """Return lines without a mark at their beginning: a regular expression."""
    bare = ((number, source, re.sub(mark, "", source, count=1)) for number, source in numbered)
    return [
        Line(number, text.strip(), source, len(text) - len(text.lstrip())) for number, source, text in bare
    ]


def python_texts(source: str) -> Iterator[Text]:
    """Yield docstrings, also of constants, and comments. Comments on consecutive lines are one text."""
    rows = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for child in body if isinstance(body, list) else ():
            if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                continue
            if isinstance(child.value.value, str) and child.end_lineno is not None:
                numbered = enumerate(rows[child.lineno - 1 : child.end_lineno], child.lineno)
                lines = _lines(numbered, r'^\s*r?(?:"""|\'\'\'|"|\')')
                yield Text([replace(line, text=re.sub(r'(?:"""|")$', "", line.text)) for line in lines], True)
    comments: list[Line] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match(r"#!|#\s*(?:type:|noqa|fmt:|mypy:)", token.string):
            continue
        number, column = token.start
        alone = not token.line[:column].strip()
        if comments and not (alone and comments[-1].number == number - 1):
            yield Text(comments)
            comments = []
        source_line = token.line.rstrip("\n") if alone else ""
        comments.append(Line(number, token.string.lstrip("#:").strip(), source_line))
    if comments:
        yield Text(comments)


_SCALA = re.compile(
    r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''  # strings
    r"|(?P<block>/\*(?:.|\n)*?\*/)|(?P<line>//[^\n]*(?:\n[ \t]*//[^\n]*)*)"
)


def scala_texts(source: str) -> Iterator[Text]:
    """Yield comments. Several `//` on consecutive lines are one text."""
    rows = source.splitlines()
    for match in _SCALA.finditer(source):
        if match["block"] or match["line"]:
            first = source.count("\n", 0, match.start()) + 1
            last = first + match[0].count("\n")
            numbered = enumerate(rows[first - 1 : last], first)
            lines = _lines(numbered, r"^.*?//+" if match["line"] else r"^\s*(?:/\*+|\*+(?!/))")
            lines = [replace(line, text=line.text.removesuffix("*/").strip()) for line in lines]
            if not rows[first - 1].lstrip().startswith(("//", "/*")):
                lines[0] = replace(lines[0], source="")
            yield Text(lines, match["block"] is not None)


def markdown_texts(source: str) -> Iterator[Text]:
    """Yield a page, without comments of HTML."""
    bare = re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), source, flags=re.DOTALL)
    yield Text(_lines(iter(enumerate(bare.splitlines(), 1)), r"^\s*(?:> ?)?"))


READERS: dict[str, Callable[[str], Iterator[Text]]] = {
    ".py": python_texts,
    ".scala": scala_texts,
    ".md": markdown_texts,
}


# What a text has of sentences

_SECTION = re.compile(r"(?:Args|Attributes|Note|Raises|Returns|Yields):")
_ENTRY = re.compile(r"[-*] |@\w+ |\d+\. |#+ |[\w.*`]+(?: \([^)]*\))?: ")
"""The beginning of an item of a list, of a heading, or of the description of an argument."""


def paragraphs(text: Text) -> Iterator[list[Line]]:
    """Yield the lines of each paragraph; skip code, examples, tables and pictures."""
    paragraph: list[Line] = []
    fenced = example = section = False
    margin = text.margin
    for place, line in enumerate(text.lines):
        mark = line.text.startswith(("```", "{{{", "}}}"))
        fenced ^= mark
        if place and line.text and line.indent <= margin:
            section = _SECTION.fullmatch(line.text) is not None
        example |= text.heads and not section and not paragraph and line.indent >= margin + 4
        example = bool(line.text) and (example or line.text.startswith(">>>"))
        skipped = mark or fenced or example or not line.text or line.text.startswith(("|", "![", "+-", "<"))
        if paragraph and (skipped or _ENTRY.match(line.text)):
            yield paragraph
            paragraph = []
        if not skipped and not re.search(r"\S {2,}\S", line.text.replace(".  ", ". ")):  # a column of a table
            paragraph.append(line)
    if paragraph:
        yield paragraph


_ARGUMENT = re.compile(r"\A(?:@param \w+ |\w+(?: \([^)]*\))?: )")
"""The name of an argument or attribute, in front of its description."""
_LINK = re.compile(r"\]\([^)]*\)|\bhttps?://\S+")
_CODE_OR_LINK = re.compile(rf"(`+)(?:.|\n)*?\1|{_LINK.pattern}")
_END = re.compile(r"(?<=[.!?:])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)[)\"*_]*\s+(?=[A-Z`\"(*_])")


def sentences(paragraph: Sequence[Line]) -> Iterator[tuple[int, int, str]]:
    """Yield sentences with the numbers of their first and last line; code is `X`, and a link is its words."""
    whole = "\n".join(line.text for line in paragraph)

    def replaced(found: re.Match[str]) -> str:
        return ("]" if found[0].startswith("]") else "X") + "\n" * found[0].count("\n")

    whole = _CODE_OR_LINK.sub(replaced, _ARGUMENT.sub("X: ", whole))
    start = 0
    for end in (*(found.end() for found in _END.finditer(whole)), len(whole)):
        sentence = " ".join(whole[start:end].replace("[", "").replace("]", "").split())
        if sentence:
            last = whole.count("\n", 0, len(whole[:end].rstrip()))
            yield paragraph[whole.count("\n", 0, start)].number, paragraph[last].number, sentence
        start = end


def judge(text: Text, path: str) -> Iterator[Finding]:
    """Yield the findings in a text."""
    first = True
    for paragraph in paragraphs(text):
        for number, last, sentence in sentences(paragraph):
            for habit in HABITS:
                if (not habit.first or (first and text.heads)) and habit.pattern.search(sentence):
                    yield Finding(path, number, last, habit.name, sentence, habit.instead)
            if max(len(part.split()) for part in sentence.split(" · ")) > MAX_WORDS:
                yield Finding(path, number, last, "long sentence", sentence, f"at most {MAX_WORDS} words")
            first = False
        for line in paragraph:
            if len(line.source) > MAX_WIDTH and len(_LINK.sub("", line.source)) > MAX_WIDTH:
                yield Finding(path, line.number, line.number, "long line", line.text, f"wrap at {MAX_WIDTH}")


# Which files, and what is excepted


def findings(file: Path, name: str) -> list[Finding]:
    """Return the findings in a file, in the order of its lines.

    Args:
        file: to read.
        name: of it in findings.
    """
    texts = READERS[file.suffix](file.read_text(encoding="utf-8"))
    return sorted((found for text in texts for found in judge(text, name)), key=lambda found: found.line)


def read_exceptions(source: str) -> dict[tuple[str, str], str]:
    """Return the reasons by path and beginning of a sentence.

    >>> read_exceptions("# a comment\\ndocs/sql.md: Spark told  # quotes an error of Spark's\\n")
    {('docs/sql.md', 'Spark told'): "quotes an error of Spark's"}

    Raises:
        ValueError: a line has no path, no sentence or no reason.
    """
    reasons = {}
    for line in source.splitlines():
        if line.strip() and not line.startswith("#"):
            found = re.fullmatch(r"(\S+): (.+?)\s+# (.+)", line)
            if found is None:
                raise ValueError(f"This exception is not `path: beginning of the sentence  # reason`: {line}")
            reasons[found[1], found[2]] = found[3]
    return reasons


def _git(*arguments: str) -> str:
    return subprocess.run(("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=True).stdout


def added(since: str) -> dict[str, Container[int]]:
    """Return the numbers of lines added after a revision, by path. A file that git does not track counts as a
    whole.
    """
    lines: dict[str, set[int]] = defaultdict(set)
    name = ""
    for line in _git("diff", "--no-ext-diff", "-U0", since, "--").splitlines():
        if line.startswith("+++ "):
            name = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ .*\+(\d+)(?:,(\d+))? @@", line):
            lines[name].update(range(int(hunk[1]), int(hunk[1]) + int(hunk[2] or 1)))
    untracked = _git("ls-files", "--others", "--exclude-standard").splitlines()
    return {**lines, **dict.fromkeys(untracked, range(1, sys.maxsize))}


def _files(paths: Sequence[str]) -> Iterator[tuple[Path, str]]:
    for given in paths:
        path = Path(given).resolve()
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.suffix in READERS:
                yield file, file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else str(file)


def check(paths: Sequence[str], since: str | None = None) -> list[Finding]:
    """Return the findings in files.

    Args:
        paths: files and folders; none for the project's own prose.
        since: a revision; lines that are older do not count.
    """
    reasons = read_exceptions(EXCEPTIONS.read_text(encoding="utf-8"))
    new = None if since is None else added(since)
    unused = dict(reasons)
    result = []
    for file, name in _files(paths or [str(ROOT / path) for path in PATHS]):
        for found in findings(file, name):
            excepting = [key for key in reasons if key[0] == name and found.text.startswith(key[1])]
            for key in excepting:
                unused.pop(key, None)
            lines = range(found.line, found.last + 1)
            if not excepting and (new is None or any(line in new.get(name, ()) for line in lines)):
                result.append(found)
    if not paths and since is None:
        name = EXCEPTIONS.relative_to(ROOT).as_posix()
        result += [
            Finding(name, 1, 1, "unused exception", f"{path}: {sentence}", "remove it")
            for path, sentence in unused
        ]
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings; return 1 if there are any, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--since", metavar="REV", help="count only lines added after this revision")
    parser.add_argument("--most", metavar="N", type=int, default=100, help="show at most so many (100)")
    parser.add_argument("paths", metavar="PATH", nargs="*")
    given = parser.parse_args(arguments)
    found = check(given.paths, given.since)
    for each in found[: given.most]:
        print(each)
    if found:
        counts = ", ".join(
            f"{habit} {count}" for habit, count in Counter(x.habit for x in found).most_common()
        )
        print(f"{len(found)} findings: {counts}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
