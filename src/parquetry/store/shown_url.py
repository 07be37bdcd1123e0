"""How a store's URL is shown: in messages, reports and logs no password stands."""

from __future__ import annotations

import re


def without_password(url: str) -> str:
    """Return a URL as it may be shown.

    >>> without_password("postgresql://ann:secret@db:5432/lake?sslmode=require&password=secret")
    'postgresql://ann:***@db:5432/lake?sslmode=require&password=***'
    >>> without_password("sqlite:///lake/a@b.sqlite")
    'sqlite:///lake/a@b.sqlite'
    """
    url = re.sub(r"^([a-zA-Z][a-zA-Z0-9+.-]*://[^/?#:@]*):[^/?#]*@", r"\1:***@", url)
    return re.sub(r"(?i)([?&](?:ssl)?password=)[^&#]*", r"\1***", url)
