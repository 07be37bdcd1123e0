"""Names as SQL writes them: what is none is refused, and only what needs backticks gets them."""

import pytest

from parquetry.identifiers import parse_name, part_text


@pytest.mark.parametrize(
    "text", ["", " ", ".", "a.", ".a", "a..b", "a. .b", "`a", "a`", "a`b", "``", "`a`b", "`a``"]
)
def test_what_is_no_name(text):
    """A part that is missing, and a backtick that is, are refused."""
    with pytest.raises(ValueError, match="not a name"):
        parse_name(text)


def test_blanks_around_parts_do_not_count():
    """Blanks within backticks count."""
    assert parse_name(" a b . ` c ` .d\n") == ["a b", " c ", "d"]


@pytest.mark.parametrize(("part", "plain"), [("day", True), ("_", True), ("größe", True), ("1a", True), ("1", False),
    ("a-b", False), ("a.b", False), ("", False)])  # fmt: skip
def test_only_what_is_no_word_is_quoted(part, plain):
    """Digits alone would be a number."""
    assert part_text(part) == (part if plain else f"`{part}`")
