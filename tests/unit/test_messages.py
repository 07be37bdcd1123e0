"""Errors speak in one voice: a sentence, with a capital at its beginning and a stop at its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import parquetry.errors

SOURCE = Path(parquetry.errors.__file__).parent
ERRORS = {name for name in dir(parquetry.errors) if name.endswith("Error")}
VALUE = "\0"
"""Stands for what is formatted into a message."""


def messages() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each message that is written where an error is made."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ERRORS and node.args:
                text = plain(node.args[0])
                if text:
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}", text


def plain(node: ast.expr) -> str | None:
    """Return the text of a literal; None of anything else."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            return "".join(part.value if isinstance(part, ast.Constant) else VALUE for part in parts)
    return None


MESSAGES = dict(messages())


@pytest.mark.parametrize("place", MESSAGES)
def test_a_message_is_a_sentence(place: str) -> None:
    """A message begins with a capital or the name of a thing.

    It ends with a full stop or a command to type.
    """
    text = MESSAGES[place]
    first, last = text[0], text.rstrip()[-1]
    assert (
        first.isupper() or first in f"{VALUE}'\"" or text.split()[0].startswith(("parquetry.", "spark.sql."))
    ), text
    assert last in f".?{VALUE}" or "pip install " in text, text


def test_there_are_messages_to_look_at() -> None:
    """The rule is kept by hundreds of them."""
    assert len(MESSAGES) > 200


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
