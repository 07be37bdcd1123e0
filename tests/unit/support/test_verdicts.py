"""Golden files of run-time verdicts are whole, and a verdict that differs is shown beside what is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.goldens import GOLDENS, UPDATE
from tests.support.spark.verdicts import ARROW, Verdict, VerdictFile

FILES = sorted((GOLDENS / "runtime").glob("*.txt"))
TEXT = """\
# A comment
## one
    SELECT 1
    FROM {f}
      ⇒ f: files 1 of 2
          k: none
## two
    SELECT 2
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Return a golden file of two examples; the second one has no verdict yet."""
    path = tmp_path / "some.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_example_has_a_query_and_a_verdict(path: Path) -> None:
    """No line is something else, none waits for a verdict, and a test module of the same name runs them."""
    folders = ("runtime", "join_keys")
    assert any((GOLDENS.parent / "spark" / each / f"test_{path.stem}.py").exists() for each in folders)
    examples = VerdictFile(path)
    assert len(examples.titles) > 5
    for title in examples.titles:
        assert examples.query(title).startswith("SELECT ")
        assert examples.answer(title)[0].startswith(ARROW)


def test_more_partition_columns_make_no_difference() -> None:
    """A table with two or three partition columns is pruned as one with the key alone.

    The written joins read the same fraction of its partitions.
    """
    examples = VerdictFile.named("joins")
    compared = 0
    for title in examples.titles:
        text = "\n".join(examples.answer(title))
        # an answer of adaptive execution comes first, and `t` and `w` have it, too
        found = reversed(re.findall(r"⇒ (\w).*?: .*?partitions (\d+) of", text))
        kept = {name: int(number) for name, number in found}
        if "t" in kept:
            assert (kept["t"], kept["w"]) == (2 * kept["f"], 3 * kept["f"]), title
            compared += 1
    assert compared > 50


def test_a_difference_is_shown(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the example, its query, and both verdicts."""
    monkeypatch.delenv(UPDATE, raising=False)
    VerdictFile(written).check("one", {"f": Verdict("files 1 of 2", ("k: none",))})
    with pytest.raises(AssertionError) as error:
        VerdictFile(written).check("one", {"f": Verdict("files 2 of 2", ("k: none",))})
    for line in (
        "some.txt: one",
        "    SELECT 1 FROM {f}",
        "-      ⇒ f: files 1 of 2",
        "+      ⇒ f: files 2 of 2",
    ):
        assert line in str(error.value)


def test_a_verdict_is_written(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On request, a verdict is written below its query, and other lines stay."""
    monkeypatch.setenv(UPDATE, "1")
    VerdictFile(written).check("two", {"f": Verdict("files 3 of 4"), "g": Verdict("no scan")})
    assert written.read_text(encoding="utf-8") == TEXT + "      ⇒ f: files 3 of 4\n      ⇒ g: no scan\n"


@pytest.mark.parametrize("line", ["what is this", "## one"])
def test_what_is_no_example_is_an_error(written: Path, line: str) -> None:
    """The error about a stray line, or about a duplicate title, names the file and the line."""
    written.write_text(f"{TEXT}{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"some\.txt:9"):
        VerdictFile(written)
