"""Split SQL text into tokens, by sqlglot's tokenizer, read it word by word, and edit parts of it.

A cursor reads a statement, or one of its clauses.

The modules of the clauses give the words their meaning. Words may be in any case; a quoted text is not a
word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from parquetry.errors import ClauseError, FilterError
from parquetry.identifiers import RESERVED

END_OF_TEXT = "end of text"
BARE = {"bare date": "date", "bare timestamp": "timestamp"}
"""Token kinds of dates and timestamps without quotes, as in Hive's filters, and their types."""
_NAME = re.compile(r"\w+")
_BARE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?P<time> [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)?(?![\w.:]|-(?!-))"
)
_NO_HEXADECIMAL = re.compile(r"(?<![\w'\"])[xX]'(?![0-9A-Fa-f]*')")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
        kind: sqlglot's name of its type, or one of `BARE`, or `END_OF_TEXT`, which sqlglot does not have.
        text: the token; a text without its quotes.
        start: the position of its first character.
        end: the position after its last character, without the suffix of a number such as `5L`.
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def quoted(self) -> bool:
        """Return whether it is a text in quotes."""
        return self.kind in ("STRING", "RAW_STRING")

    @property
    def word(self) -> str:
        """Return the token in lower case if it may be a keyword or a sign, else an empty text."""
        return "" if self.kind == "IDENTIFIER" or self.kind.endswith("STRING") else self.text.lower()


def tokenise(text: str) -> list[Token]:
    """Split a text into tokens; the last is `END_OF_TEXT`.

    A text with doubled quotes is one token. The suffixes of numbers are dropped.
    `2024-02-29` is one token, and so is `2024-02-29 12:34:56`, since filters have no arithmetic.

    Raises:
        FilterError: a quote or a comment is not closed.
    """
    # Imported here, since this takes longer than importing the rest of the library, and most scans parse
    # nothing.
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import TokenError

    try:
        # At the beginning of a text, sqlglot takes words such as SHOW for commands and the rest for their
        # argument, but not after an opening parenthesis.
        items: Sequence[Any] = Spark().tokenize(f"({text}")[1:]
    except TokenError:
        raise _unfinished_error(text) from None
    if "{#" in text:  # sqlglot also skips Jinja's comments
        position = _blank_out(text).find("{#")
        if position >= 0:
            raise FilterError("'{#' is not expected here: comments are --… or /*…*/.", text, position)
    tokens: list[Token] = []
    ends = {item.end for item in items}
    end = -1
    for item in items:
        kind, start = item.token_type.name, item.start - 1
        previous = tokens[-1] if tokens else None
        if previous is not None and start <= end:
            continue  # sqlglot returns the suffix of `5L` as two more tokens at the number's position
        bare = _BARE.match(text, start) if kind == "NUMBER" else None
        if bare is not None and bare.end() in ends:
            end = bare.end() - 1
            tokens.append(Token("bare timestamp" if bare["time"] else "bare date", bare[0], start, end + 1))
            continue
        if kind == "STRING" and previous and previous.kind == "STRING" and start == end + 1:
            # 'it''s' is one text, as in Spark 4 and later.
            quote = text[previous.start]
            if text[start] == quote:
                end = item.end - 1
                tokens[-1] = Token("STRING", previous.text + quote + item.text, previous.start, end + 1)
                continue
        if kind == "NUMBER" and previous and previous.kind == "DOT" and start == end + 1:
            tokens[-1] = Token("NUMBER", "." + item.text, previous.start, item.end)
        else:
            tokens.append(Token(kind, item.text, start, item.end))
        end = item.end - 1
    position = len(text.rstrip())
    return [*tokens, Token(END_OF_TEXT, "", position, position)]


def _blank_out(text: str) -> str:
    """Replace quoted texts and comments by blanks."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), text)


def _unfinished_error(text: str) -> FilterError:
    """Return the error for a quote or comment without an end, or for a literal that sqlglot cannot read."""
    rest = _blank_out(text)
    position = min((at for at in map(rest.find, ("'", '"', "`", "/*")) if at >= 0), default=-1)
    if position >= 0:
        return FilterError("The filter ends within a text: close the quote.", text, position)
    digits = _NO_HEXADECIMAL.search(text)
    position = digits.start() if digits else 0
    return FilterError("A literal cannot be read: X'…' takes pairs of hexadecimal digits.", text, position)


def is_name(token: Token) -> bool:
    """Return whether a token can be a column's name."""
    if token.kind == "IDENTIFIER":
        return True
    return (
        token.kind not in ("STRING", "RAW_STRING", "NUMBER", "HEX_STRING", "NATIONAL_STRING", END_OF_TEXT)
        and _NAME.fullmatch(token.text) is not None
        and token.word not in RESERVED
    )


_VISIBLE = re.compile(r"[^\s]")


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of the characters from `start` to before `end` by a text."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with some parts replaced; the parts must not overlap.

    >>> apply_edits("a b c", [Edit(4, 5, "C"), Edit(0, 1, "A")])
    'A b C'
    """
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def blank(text: str) -> str:
    """Return a text with each visible character replaced by a blank; text after it keeps its position."""
    return _VISIBLE.sub(" ", text)


def string(text: str, *, one_line: bool = False) -> str:
    r"""Return a text in quotes, as any session of Spark reads it.

    Args:
        text: the text that Spark reads.
        one_line: whether line breaks are written as escapes, so that the quoted text is one line.

    >>> print(string("it's \\"), string("a\nb", one_line=True))
    'it\'s \\' 'a\nb'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    if one_line:
        escaped = escaped.replace("\r", "\\r").replace("\n", "\\n")
    return f"'{escaped}'"


class TokenCursor:
    """A position in the tokens of a text.

    Args:
        text: the statement, or one of its clauses.

    Attributes:
        text: the text.
        tokens: the tokens of the text without comments; the last one is `END_OF_TEXT`.
        at: the number of the next token.

    Raises:
        ClauseError: a quote or a comment is not closed.

    >>> cursor = TokenCursor("Stored /* how? */ AS `directories`")
    >>> cursor.take("stored", "as"), cursor.take("directories"), cursor.next.text
    (True, False, 'directories')
    """

    def __init__(self, text: str) -> None:
        self.text: Final = text
        try:
            self.tokens: Final = tokenise(text)
        except FilterError as error:
            raise ClauseError(
                "A quote, a comment or a literal has no end: close it.", text, error.position
            ) from None
        self.at = 0

    @property
    def next(self) -> Token:
        """Return the next token."""
        return self.tokens[self.at]

    @property
    def behind(self) -> int:
        """Return the position in the text after the last token that was taken."""
        return self.tokens[self.at - 1].end if self.at else 0

    @property
    def ended(self) -> bool:
        """Return whether the statement ends here."""
        return self.next.kind in (END_OF_TEXT, "SEMICOLON")

    @property
    def shown(self) -> str:
        """Return the next token in the form that error messages show."""
        token = self.next
        return "the end" if token.kind == END_OF_TEXT else repr(self.text[token.start : token.end])

    def error(self, message: str, position: int | None = None) -> ClauseError:
        """Return an error that marks a position in the text, by default the next token's position."""
        return ClauseError(message, self.text, self.next.start if position is None else position)

    def advance(self) -> Token:
        """Take the next token of any kind; the end is never taken."""
        token = self.next
        self.at += token.kind != END_OF_TEXT
        return token

    def take(self, *words: str) -> bool:
        """Take some words or signs if all of them are next, in this order; else take none."""
        following = self.tokens[self.at : self.at + len(words)]
        if [token.word for token in following] != list(words):
            return False
        self.at += len(words)
        return True

    def expect(self, word: str, why: str) -> None:
        """Take a required word; `why` ends the error message if another token is next."""
        if not self.take(word):
            raise self.error(f"{self.shown} is not expected here: {why}.")

    def expect_end(self) -> None:
        """Check that no token follows."""
        if self.next.kind != END_OF_TEXT:
            raise self.error(f"{self.shown} is not expected here: nothing can follow.")

    def name(self) -> str | None:
        """Take the next token if it is a name, or return None."""
        return self.advance().text if is_name(self.next) else None

    def skip_parentheses(self) -> bool:
        """Skip parentheses with their content; return False if they are not next, or not closed."""
        if self.next.word != "(":
            return False
        depth = 0
        for at in range(self.at, len(self.tokens)):
            word = self.tokens[at].word
            depth += (word == "(") - (word == ")")
            if not depth:
                self.at = at + 1
                return True
        return False
