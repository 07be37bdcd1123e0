"""Encode questions and answers as JSON, in one version of the protocol.

A question has the protocol's version, an `op` and the name of its catalog (see `questions`); a parser's
question has no catalog. An answer is `{"ok": …}` (see `answers`) or `{"error": {"code", "message", "name"}}`.
Nothing here depends on Py4J, so questions and answers can be recorded and replayed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from parquetry.errors import BridgeError
from parquetry.planner.protocol.answers import Answer, Error
from parquetry.planner.protocol.questions import QUESTIONS, Question

PROTOCOL = 3

_QUESTION_UNION: Any = QUESTIONS[0]
for _class in QUESTIONS[1:]:
    _QUESTION_UNION = _QUESTION_UNION | _class
_DECODER = msgspec.json.Decoder(_QUESTION_UNION)
_ENCODE = msgspec.json.Encoder().encode


def decode(text: str) -> Question:
    """Return the typed form of a question.

    Raises:
        BridgeError: it belongs to another version of the protocol, or is no question.
    """
    try:
        question: Question = _DECODER.decode(text)
    except msgspec.ValidationError as error:
        raise BridgeError(
            f"The bridge asked what this Parquetry does not understand ({error}): their versions differ, "
            "start the session again with parquetry.configure."
        ) from None
    if question.protocol != PROTOCOL:
        raise BridgeError(
            f"The bridge speaks protocol {question.protocol} and this Parquetry {PROTOCOL}: "
            "start the session again with parquetry.configure."
        )
    return question


def encode(answer: Answer | Error) -> str:
    """Return an answer or an error as the bridge reads it."""
    return _ENCODE({"error" if isinstance(answer, Error) else "ok": answer}).decode()
