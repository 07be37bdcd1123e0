"""Who may ask a server: everybody on this machine, or those who have its secret."""

from __future__ import annotations

from parquetry.errors import ConfigurationError

LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine reaches."""


def require_secret(host: str, secret: str | None, remedy: str) -> None:
    """Make sure that a server that others reach has a secret.

    Args:
        host: the address that it listens on.
        secret: a token or a password, or None.
        remedy: what to do instead, for the message.

    Raises:
        ConfigurationError: others could ask without a secret.
    """
    if secret is None and host not in LOCAL_HOSTS:
        raise ConfigurationError(
            f"On {host} everybody who reaches this machine could read names and statistics: {remedy}."
        )
