"""A place in the tokens of a statement, or of one of its clauses, from which it is read word by word.

What the words mean is for the clauses to say, a module each. Words count in any letter case; what is quoted is no word.
"""

from __future__ import annotations

from typing import Final

from parquetry.errors import ClauseError, FilterError
from parquetry.sqltext.tokens import END_OF_TEXT, Token, is_name, tokenise


class TokenCursor:
    """A place in a text.

    Args:
        text: the statement, or one of its clauses.

    Attributes:
        text: the same.
        tokens: of the text, comments left out; the last is its end.
        at: number of the token that is next.

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
        """Return the token that is next."""
        return self.tokens[self.at]

    @property
    def behind(self) -> int:
        """Return the place in the text behind the last token that was taken."""
        return self.tokens[self.at - 1].end if self.at else 0

    @property
    def ended(self) -> bool:
        """Return whether the statement ends here."""
        return self.next.kind in (END_OF_TEXT, "SEMICOLON")

    @property
    def shown(self) -> str:
        """Return the next token as a message shows it."""
        token = self.next
        return "the end" if token.kind == END_OF_TEXT else repr(self.text[token.start : token.end])

    def error(self, message: str, place: int | None = None) -> ClauseError:
        """Return the error that marks a place in the text, by default that of the next token."""
        return ClauseError(message, self.text, self.next.start if place is None else place)

    def advance(self) -> Token:
        """Take the next token, whatever it is; the end stays."""
        token = self.next
        self.at += token.kind != END_OF_TEXT
        return token

    def take(self, *words: str) -> bool:
        """Take some words or signs if they are next, one after the other; else none of them."""
        found = self.tokens[self.at : self.at + len(words)]
        if [token.word for token in found] != list(words):
            return False
        self.at += len(words)
        return True

    def expect(self, word: str, why: str) -> None:
        """Take a word that has to be there; `why` ends the message if it is not."""
        if not self.take(word):
            raise self.error(f"{self.shown} is not expected here: {why}.")

    def expect_end(self) -> None:
        """Make sure that nothing follows."""
        if self.next.kind != END_OF_TEXT:
            raise self.error(f"{self.shown} is not expected here: nothing can follow.")

    def name(self) -> str | None:
        """Take the name that is next, if it is one."""
        return self.advance().text if is_name(self.next) else None

    def skip_parentheses(self) -> bool:
        """Pass over what stands in parentheses if they are next; False if they are not, or are not closed."""
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
