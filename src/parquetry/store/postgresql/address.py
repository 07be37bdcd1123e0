"""The server, the database and the table that a store's URL names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from parquetry.errors import ConfigurationError
from parquetry.store.passwords import (
    NO_PASSWORDS,
    PASSWORDS,
    resolve_passwords,
    without_password,
    without_passwords,
)

try:
    import psycopg
    from psycopg import conninfo
except ImportError as missing:
    raise ConfigurationError(
        f"A store on PostgreSQL needs psycopg ({missing}): pip install 'parquetry[postgres]'"
    ) from missing

DEFAULT_TABLE = "parquetry"
STATEMENT_SECONDS, PATIENCE_SECONDS, CONNECTIONS = 60.0, 30.0, 8
CONNECTION_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "target_session_attrs": "read-write",
    "application_name": "parquetry",
}
"""Parameters of libpq, unless the URL sets them.

With them a client notices within a minute that a server vanished, and of several hosts it takes the writable
one.
"""
_EXPECTED = (
    "write postgresql://user@host:port/database, optionally with ?table=NAME&timeout=SECONDS&patience=SECONDS"
    "&connections=NUMBER and libpq's own parameters, such as sslmode or service"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A table of a database.

    Attributes:
        parameters: parameters of the connection, as libpq names them.
        table: name of the table, or schema and name.
        timeout: seconds that a statement may take.
        patience: seconds to try again while the server is away.
        connections: number of connections that may be open at once.
    """

    parameters: dict[str, str]
    table: tuple[str, ...]
    timeout: float
    patience: float
    connections: int

    @classmethod
    def parse(cls, url: str, passwords: Mapping[str, str] = NO_PASSWORDS) -> Address:
        """Read a URL such as ``postgresql://user@host:port/database?table=NAME``.

        Args:
            url: with or without a password.
            passwords: that are given apart from the URL, by libpq's names.

        Raises:
            ConfigurationError: the URL is not understood.
        """
        plain, apart = resolve_passwords(url, passwords)
        try:
            base, _, query = plain.partition("?")
            pairs = (assignment.partition("=") for assignment in query.split("&") if assignment)
            options = {unquote(name): unquote(value) for name, _, value in pairs}
            table = tuple(options.pop("table", DEFAULT_TABLE).split("."))
            timeout = float(options.pop("timeout", STATEMENT_SECONDS))
            patience = float(options.pop("patience", PATIENCE_SECONDS))
            connections = int(options.pop("connections", CONNECTIONS))
            if len(table) > 2 or not all(_NAME.fullmatch(name) for name in table):
                raise ValueError("the table's name has to be a word of letters and digits, or schema.name")
            if timeout <= 0 or patience < 0 or connections < 1:
                raise ValueError("timeout and connections have to be greater than 0, patience not less")
            parameters = _parameters(base, options | apart)
        except ValueError as error:
            raise ConfigurationError(
                f"Store {without_password(url)!r} is not understood: {error}; {_EXPECTED}."
            ) from None
        return cls(CONNECTION_DEFAULTS | parameters, table, timeout, patience, connections)

    def without_passwords(self, text: str) -> str:
        """Return a text without the passwords of the connection."""
        return without_passwords(text, (self.parameters.get(name, "") for name in PASSWORDS))

    @property
    def label(self) -> str:
        """The table and its server, for messages, without credentials."""
        host = self.parameters.get("host") or self.parameters.get("hostaddr") or "its default host"
        if service := self.parameters.get("service"):
            host = f"service {service}"
        port, database = self.parameters.get("port"), self.parameters.get("dbname")
        where = f"{host}:{port}" if port else host
        return f"table {'.'.join(self.table)} of PostgreSQL at {where}{f'/{database}' if database else ''}"


def _parameters(url: str, options: dict[str, str]) -> dict[str, str]:
    """Return the parameters that libpq reads from a URL and from further options.

    Raises:
        ValueError: libpq does not know one of them. The message repeats nothing of the URL but names, as the
            URL may contain a password.
    """
    try:
        text = conninfo.make_conninfo(url, **options)
        parameters = {name: str(value) for name, value in conninfo.conninfo_to_dict(text).items()}
    except psycopg.Error as error:
        option = re.search(r'option "(\w+)"', str(error))
        raise ValueError(
            f"there is no option {option[1]!r}" if option else "it is not a URL of PostgreSQL's"
        ) from None
    for port in parameters.get("port", "").split(","):
        if port and not port.isdecimal():
            raise ValueError("a port is not a number")
    return parameters
