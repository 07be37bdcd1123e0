"""Passwords of stores: where they come from, and texts without them.

Spark's settings, lists of processes and logs of others show a URL with its password. So users should give it
apart from the URL. `split_passwords` takes it out of a URL, as early as possible. All messages show URLs by
`without_password`, which blots out too much rather than too little.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from urllib.parse import quote, unquote

from parquetry.errors import ConfigurationError

PASSWORD_VARIABLE = "PARQUETRY_STORE_PASSWORD"
"""The environment variable of a store's password, for a URL that has none."""
PASSWORDS = ("password", "sslpassword")
"""Parameters of libpq that a catalog's options give apart from the URL, as `store.password`."""
NO_PASSWORDS: Mapping[str, str] = MappingProxyType({})
REMEDY = (
    "give the password apart from the URL (the setting spark.sql.catalog.<name>.store.password, "
    "parquetry.open(store_password=…), PARQUETRY_STORE_PASSWORD, PGPASSWORD or ~/.pgpass)"
)
POSTGRESQL = ("postgresql:", "postgres:")

_SHOWN_OPTIONS = {
    "table", "timeout", "patience", "connections", "splits", "sslmode", "connect_timeout", "application_name",
    "target_session_attrs", "service", "host", "hostaddr", "port", "user", "dbname", "keepalives_idle",
}  # fmt: skip
"""Options whose values are no secrets."""
_WORD = r"[\w.+~-]"
_PLAIN = re.compile(
    rf"""(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://
    (?:(?P<user>{_WORD}*)(?P<password>:[^\s:/?\#@]*)?@)?
    (?P<hosts>(?:(?:{_WORD}|%2[fF])*|\[[0-9A-Fa-f:.%]*\])(?::\d*)?(?:,(?:{_WORD}*|\[[0-9A-Fa-f:.%]*\])(?::\d*)?)*)
    (?P<path>/(?:{_WORD}|[/%$:])*)?
    (?:\?(?P<query>\w+=[^\s@&?\#'"]*(?:&\w+=[^\s@&?\#'"]*)*))?""",
    re.VERBOSE | re.ASCII,
)
"""A URL without an ambiguity: it has one `@`, before the host, and its ports are numbers."""
_HIDDEN_OPTION = re.compile(r"(?i)\w*(?:pass|pwd|secret|token|scram)\w*[\s'\"]*[=:]")
_PLAIN_END = re.compile(rf"(?:{_WORD}|[,:/\[\]])*", re.ASCII)
_PARAMETERS = r"(?:\w+=[^\s:@'\"]*\s+)*\w+\s*="
_LIBPQ = re.compile(
    r"(ssl|gss|krb|keepalives|tcp_|connect_|target_|channel_|require_|load_|client_|fallback_|application_|pass|options|host|port"
    r"|user|dbname|service|table|timeout|patience|connections)\w*"
)
"""Names of options that a URL of PostgreSQL may have."""
_MAX_SHOWN = 200
"""Characters of a URL that a message shows."""


def without_password(url: str) -> str:
    """Return a URL with asterisks for its passwords, and for all that may be a part of a password.

    >>> without_password("postgresql://ann:secret@db:5432/lake?sslmode=require&password=secret")
    'postgresql://ann:***@db:5432/lake?sslmode=require&password=***'
    >>> without_password("postgresql://ann:se/cr@et@db/lake"), without_password("postgresql:ann:secret@db")
    ('postgresql://***@db/lake', 'postgresql:***')
    >>> without_password("user=ann password=secret host=db")
    'user=ann password=***'
    >>> without_password("sqlite:///lake/a@b.sqlite")
    'sqlite:///lake/a@b.sqlite'
    """
    url = url.strip()
    if plain := _PLAIN.fullmatch(url):
        shown = _show_parts(plain)
    elif url.startswith("sqlite:") and not _HIDDEN_OPTION.search(url):
        shown = url
    else:
        shown = _show_beginning(url)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"


def _show_parts(url: re.Match[str]) -> str:
    """Return a URL whose parts are sure, without its password."""
    user = url["user"]
    credentials = "" if user is None else f"{user}:***@" if url["password"] else f"{user}@"
    shown = []
    for option in (url["query"] or "").split("&"):
        name, equals, value = option.partition("=")
        shown.append(f"{name}{equals}{value if not equals or name.lower() in _SHOWN_OPTIONS else '***'}")
        if _HIDDEN_OPTION.match(option):
            break  # a password may have an & in it
    options = f"?{'&'.join(shown)}" if url["query"] else ""
    return f"{url['scheme']}://{credentials}{url['hosts']}{url['path'] or ''}{options}"


def _show_beginning(text: str) -> str:
    """Return of any other text what comes before and behind all that may be a secret."""
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(//)?", text)
    if option := _HIDDEN_OPTION.search(text):
        head = text[: option.end()]
        # as libpq writes parameters, `user=ann password=…`
        return f"{head if re.fullmatch(_PARAMETERS, head) else ''}***"
    if scheme is None:
        return "***" if re.search("[@:]", text) else text
    before, at, end = text.rpartition("@")
    # `ann:p?q@db` has a password before its @, and `db?user=a@b` an option
    is_plain = at and scheme[1] and "?" not in before and _PLAIN_END.fullmatch(end)
    return f"{scheme[0]}***{at}{end}" if is_plain else f"{scheme[0]}***"


def without_passwords(text: str, passwords: Iterable[str]) -> str:
    """Return a text with asterisks for passwords, however they are encoded.

    >>> without_passwords("no password 'p%40ss' or 'p@ss'", ["p@ss"])
    "no password '***' or '***'"
    """
    forms = {
        form
        for password in passwords
        for form in (password, quote(password, safe=""), quote(password))
        if form
    }
    for form in sorted(forms, key=len, reverse=True):
        # a password of a letter or two is a word of its own, or the message would be nothing but asterisks
        pattern = re.escape(form) if len(form) > 2 else rf"(?<!\w){re.escape(form)}(?!\w)"
        text = re.sub(pattern, "***", text)
    return text


def is_postgresql(url: str | None) -> bool:
    """Return whether a store's URL is meant to name a table of PostgreSQL."""
    return url is not None and url.strip().lower().startswith(POSTGRESQL)


def split_passwords(url: str) -> tuple[str, dict[str, str]]:
    """Return a URL without its passwords, and these by libpq's names.

    Only URLs of PostgreSQL have passwords.

    Raises:
        ConfigurationError: a special character makes it ambiguous where the password ends.

    >>> split_passwords("postgresql://ann:p%40ss@db/lake?sslpassword=x&sslmode=require")
    ('postgresql://ann@db/lake?sslmode=require', {'password': 'p@ss', 'sslpassword': 'x'})
    """
    if not is_postgresql(url):
        return url, {}
    if problem := _ambiguity(url):
        raise ConfigurationError(
            f"Store {without_password(url)!r} is not understood: {problem}; write postgresql://user@host:port/database. "
            "Percent-encode special characters of the user's name and the password (@ is %40, / is %2F, ? is %3F, # is %23, "
            f"% is %25, a blank is %20), or {REMEDY}."
        )
    base, question, query = url.partition("?")
    scheme, _, rest = base.partition("://")
    authority, slash, path = rest.partition("/")
    userinfo, at, hosts = authority.rpartition("@")
    user, _, password = userinfo.partition(":")
    passwords = {"password": unquote(password)} if password else {}
    kept = []
    for option in query.split("&"):
        name, _, value = option.partition("=")
        if (known := unquote(name).lower()) in PASSWORDS:
            passwords[known] = unquote(value)
        elif option:
            kept.append(option)
    options = f"{question}{'&'.join(kept)}" if kept else ""
    return f"{scheme}://{user}{at}{hosts}{slash}{path}{options}", passwords


def _ambiguity(url: str) -> str | None:
    """Return why the parts of a URL of PostgreSQL are ambiguous, or None."""
    if not re.match("(?i)postgres(ql)?://", url):
        return "it does not begin with postgresql://"
    if re.search(r"[\s#]", url):
        return "it has a blank or a #"
    if re.search(r"%(?![0-9A-Fa-f]{2})", url):
        return "it has a % that two hexadecimal digits do not follow"
    rest = url.partition("://")[2]
    authority = re.split("[/?]", rest, maxsplit=1)[0]
    if "@" in rest[len(authority) :] or authority.count("@") > 1:
        return "it has an @ other than the one before the host"
    hosts = authority.rpartition("@")[2]
    if not all(re.fullmatch(r"[^:]*(:\d*)?|\[[^\]]*\](:\d*)?", host) for host in hosts.split(",")):
        return "a port is not a number"
    query = rest.partition("?")[2]
    if query and not all("=" in option for option in query.split("&")):
        return "an option has no value"
    names = [option.partition("=")[0].lower() for option in query.split("&")]
    if any(name in PASSWORDS for name in names) and not all(_LIBPQ.fullmatch(name) for name in names):
        return "it has an unknown option beside a password, which may be a part of it"
    return None


def resolve_passwords(url: str, given: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return a URL of PostgreSQL without passwords, and the passwords that hold.

    Passwords apart from the URL come first, then the URL's, then the environment's. Without any, libpq looks
    for one itself (PGPASSWORD, pgpass).

    Raises:
        ConfigurationError: the URL is ambiguous.
    """
    plain, in_url = split_passwords(url)
    named = os.environ.get(PASSWORD_VARIABLE)
    return plain, ({"password": named} if named else {}) | in_url | dict(given)


def passwords_among(options: Mapping[str, str]) -> dict[str, str]:
    """Return the passwords of a store among the options of a catalog.

    >>> passwords_among({"warehouse": "/lake", "store.password": "p"})
    {'password': 'p'}
    """
    return {name: options[f"store.{name}"] for name in PASSWORDS if options.get(f"store.{name}")}
