"""Replace the parameter markers `:name` and `?` of a statement by their values.

Spark replaces markers only in statements that it understands, so this module does it for the statements that
Spark does not know.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from parquetry.sqltext import Edit, TokenCursor, edited

NONE: Mapping[str, str] = MappingProxyType({})


def filled(text: str, named: Mapping[str, str], positional: Sequence[str]) -> str:
    """Return a statement with its markers replaced by their values; markers without a value stay.

    Raises:
        ClauseError: a quote or a comment is not closed.

    >>> filled("ON (:a, ':a', :b)", {"a": "'x'"}, ())
    "ON ('x', ':a', :b)"
    >>> filled("ON (?, '?', ?)", {}, ["1", "NULL"])
    "ON (1, '?', NULL)"
    """
    if not (named or positional):
        return text
    values = iter(positional)
    edits = []
    tokens = TokenCursor(text).tokens
    for token, following in itertools.pairwise(tokens):
        if token.word == "?":
            edits.append(Edit(token.start, token.end, next(values, "?")))
        elif token.word == ":" and following.start == token.end and following.text in named:
            edits.append(Edit(token.start, following.end, named[following.text]))
    return edited(text, edits)
