"""A store's URL without its password, for messages, reports and logs."""

from __future__ import annotations

import re

ASTERISKS = "***"
"""Stands for a password."""


def without_password(url: str) -> str:
    """Return a URL with its passwords replaced by asterisks.

    >>> without_password("postgresql://ann:secret@db:5432/lake?sslmode=require&password=secret")
    'postgresql://ann:***@db:5432/lake?sslmode=require&password=***'
    >>> without_password("sqlite:///lake/a@b.sqlite")
    'sqlite:///lake/a@b.sqlite'
    """
    url = re.sub(r"^([a-zA-Z][a-zA-Z0-9+.-]*://[^/?#:@]*):[^/?#]*@", r"\1:***@", url)
    return re.sub(r"(?i)([?&](?:ssl)?password=)[^&#]*", r"\1***", url)
