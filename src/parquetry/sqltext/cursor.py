"""Read a statement, or one of its clauses, word by word.

The modules of the clauses give the words their meaning. Words may be in any case; a quoted text is not a
word.
"""

from __future__ import annotations

from typing import Final

from parquetry.errors import ClauseError, FilterError
from parquetry.sqltext.tokens import END_OF_TEXT, Token, is_name, tokenise


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
