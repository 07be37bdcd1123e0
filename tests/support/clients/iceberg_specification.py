"""Iceberg's OpenAPI of its REST catalog, and whether an answer has the form that it says."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jsonschema
import yaml

_FILE = Path("tests/fixtures/iceberg/rest-catalog-open-api.yaml")


@functools.cache
def specification() -> dict[str, Any]:
    """Return the document as JSON Schema reads it.

    An integer is also a number there, so `oneOf` means `anyOf`. What is `nullable` may be null.
    """
    document: dict[str, Any] = yaml.safe_load(_FILE.read_text().replace("oneOf:", "anyOf:"))
    _allow_null(document)
    return document


def _allow_null(node: Any) -> None:
    if isinstance(node, dict):
        if node.get("nullable") is True and isinstance(node.get("type"), str):
            node["type"] = [node["type"], "null"]
        for part in node.values():
            _allow_null(part)
    elif isinstance(node, list):
        for part in node:
            _allow_null(part)


def check(schema: str, answer: Any) -> None:
    """Make sure that an answer has the form of the specification."""
    components = specification()["components"]
    jsonschema.Draft202012Validator(
        {"$ref": f"#/components/schemas/{schema}", "components": components}
    ).validate(answer)
