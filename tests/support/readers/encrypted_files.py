"""Parquet files with encrypted columns, written by PyArrow."""

from __future__ import annotations

import base64

from pyarrow.parquet import encryption


class PlainKeys(encryption.KmsClient):
    """A service for keys that wraps them in nothing."""

    def wrap_key(self, key: bytes, master: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, master: str) -> bytes:
        return base64.b64decode(wrapped)


def encryption_of(*columns: str, plaintext_footer: bool = True) -> object:
    """Return the properties of a file some of whose columns are encrypted."""
    config = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"k": list(columns)}, plaintext_footer=plaintext_footer
    )
    factory = encryption.CryptoFactory(lambda _: PlainKeys())
    return factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
