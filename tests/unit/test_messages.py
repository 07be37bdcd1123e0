"""Errors speak in one voice: a sentence, with a capital at its beginning and a stop at its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

import parquetry.errors
from tests.support.product_imports import ROOT, modules, nodes

ERRORS = {name for name in dir(parquetry.errors) if name.endswith("Error")}
VALUE = "\0"
"""Stands for what is formatted into a message."""


def messages() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each message that is written where an error is made."""
    for path, tree in modules().values():
        for node in nodes(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ERRORS and node.args:
                text = plain(node.args[0])
                if text:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def plain(node: ast.expr) -> str | None:
    """Return the text of a literal; None of anything else."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            return "".join(part.value if isinstance(part, ast.Constant) else VALUE for part in parts)
    return None


@pytest.fixture(scope="module", name="texts")
def _texts() -> dict[str, str]:
    """The texts of all messages by their places."""
    return dict(messages())


def test_a_message_is_a_sentence(texts: dict[str, str]) -> None:
    """Each message begins with a capital or the name of a thing.

    It ends with a full stop or a command to type.
    """
    wrong = {place: text for place, text in texts.items() if not begins_right(text) or not ends_right(text)}
    assert wrong == {}


def begins_right(text: str) -> bool:
    """Return whether a message begins with a capital, a value, a quoted word or the name of a thing."""
    names = ("parquetry.", "spark.sql.")
    return text[0].isupper() or text[0] in f"{VALUE}'\"" or text.split()[0].startswith(names)


def ends_right(text: str) -> bool:
    """Return whether a message ends with a stop, a value, or a command to type."""
    return text.rstrip()[-1] in f".?{VALUE}" or "pip install " in text


def test_there_are_messages_to_look_at(texts: dict[str, str]) -> None:
    """The rule is kept by hundreds of them."""
    assert len(texts) > 200


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_a_message_has_a_length(name: str) -> None:
    """A message has the beginning and the end of a long quoted text, and little between."""
    kind = getattr(parquetry.errors, name)
    value = f"Filter {'x' * 1_000_000} is wrong: write another."
    error = kind(value, value, 500_000) if issubclass(kind, parquetry.errors.MarkedTextError) else kind(value)
    assert "Filter xxx" in error.message
    assert "write another." in error.message
    assert "1,000,0" in error.message
    assert len(str(error)) <= max(kind.longest, 1000)
    assert error.message == str(error)
