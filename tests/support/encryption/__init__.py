"""Keys for encrypted Parquet files: the key server in memory that Parquet's own tests have."""

from __future__ import annotations

from pathlib import Path

from tests.support.jars import fetched

SETTINGS = {
    "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    "parquet.encryption.kms.client.class": "org.apache.parquet.crypto.keytools.mocks.InMemoryKMS",
    "parquet.encryption.key.list": "footerKey:AAECAwQFBgcICQoLDA0ODw==,columnKey:AAECAAECAAECAAECAAECAA==",
}
"""Hadoop's settings of a session that has the keys."""


def key_server_jars() -> list[Path]:
    """Return the jar of Parquet's own tests, fetched if need be."""
    return sorted(fetched(Path(__file__).with_name("ivy.xml"), "Encryption", "1 MB").glob("*.jar"))
