"""A server wants a password with every special character: all ways to pass it work, and nothing shows it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

import parquetry
from parquetry.errors import ParquetryError
from parquetry.metastore import open_metastore
from tests.support.postgresql.launcher import DATABASE, PostgreSQLServer

PASSWORD = "p/SECRET?@# %'\":password=x"
ENCODED = quote(PASSWORD, safe="")


class Guarded(NamedTuple):
    """A server, the URL of a metastore in it without the password, and its warehouse."""

    server: PostgreSQLServer
    url: str
    warehouse: Path

    def with_password(self, password: str) -> str:
        """Return the URL with a password, encoded."""
        return self.url.replace("bob@", f"bob:{quote(password, safe='')}@")


@pytest.fixture(scope="module")
def guarded(own_server: PostgreSQLServer, tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    """A metastore that a user without its password cannot open."""
    own_server.create_user("bob", PASSWORD)
    url = f"postgresql://bob@127.0.0.1:{own_server.port}/{DATABASE}?table=guarded&patience=0.5"
    made = Guarded(own_server, url, tmp_path_factory.mktemp("guarded"))
    open_metastore(str(made.warehouse), url, create=True, passwords={"password": PASSWORD})
    return made


def tables(guarded: Guarded, url: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `parquetry tables` with variables of the environment."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    return subprocess.run(
        [sys.executable, "-m", "parquetry.cli.main", "tables", "-w", str(guarded.warehouse), "--store", url],
        env={**environment, "HOME": str(tmp_path), **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_every_way_to_give_it(guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be in the URL, encoded; beside the URL; in our variable or libpq's; in a file of libpq's.

    Without it, the server refuses the connection.
    """
    parquetry.open(guarded.warehouse, guarded.with_password(PASSWORD)).close()
    parquetry.open(guarded.warehouse, f"{guarded.url}&password={ENCODED}").close()
    parquetry.open(guarded.warehouse, guarded.url, store_password=PASSWORD).close()
    parquetry.open(guarded.warehouse, guarded.with_password("wrong"), store_password=PASSWORD).close()
    with pytest.raises(ParquetryError, match="no password supplied"):
        parquetry.open(guarded.warehouse, guarded.url)
    monkeypatch.setenv("PARQUETRY_STORE_PASSWORD", PASSWORD)
    parquetry.open(guarded.warehouse, guarded.url).close()
    monkeypatch.delenv("PARQUETRY_STORE_PASSWORD")
    for variables in (
        {"PARQUETRY_STORE_PASSWORD": PASSWORD},
        {"PGPASSWORD": PASSWORD},
        {"PARQUETRY_STORE_PASSWORD": PASSWORD, "PGPASSWORD": "wrong"},
    ):
        done = tables(guarded, guarded.url, tmp_path, **variables)
        assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path / "passwords"
    file.write_text("*:*:*:bob:" + PASSWORD.replace("\\", "\\\\").replace(":", "\\:") + "\n")
    file.chmod(0o600)
    assert tables(guarded, guarded.url, tmp_path, PGPASSFILE=str(file)).returncode == 0
    assert tables(guarded, guarded.url, tmp_path).returncode == 1


def test_nothing_shows_it(guarded: Guarded, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither errors with their causes, nor logs at DEBUG, nor objects' representations have the password."""
    wrong = "WRONG/" + PASSWORD
    with caplog.at_level(logging.DEBUG):
        opened = parquetry.open(guarded.warehouse, guarded.with_password(PASSWORD))
        opened.tables()
        shown = [repr(opened), repr(vars(opened)), repr(opened._metastore.store)]
        opened.close()
        for url, given in (
            (guarded.with_password(wrong), None),
            (guarded.url, wrong),
            (f"{guarded.url}&password={quote(wrong, safe='')}&colour=red", None),
            (guarded.with_password(wrong).replace("127.0.0.1", "127.0.0.2"), None),
            (guarded.with_password(wrong).replace(f":{guarded.server.port}/", ":1/"), None),
            (guarded.url.replace("bob@", f"bob:{PASSWORD}@"), None),
        ):
            with pytest.raises(ParquetryError) as caught:
                parquetry.open(guarded.warehouse, url, store_password=given)
            lines = traceback.format_exception(caught.value)
            shown += [line for line in lines if not line.startswith("  File")]
    done = tables(guarded, guarded.with_password(wrong), tmp_path)
    assert done.returncode == 1
    for text in (*shown, caplog.text, done.stdout, done.stderr):
        assert PASSWORD not in text
        assert ENCODED not in text
        assert "SECRET" not in text
    assert "has a password" in done.stderr


@pytest.mark.parametrize("flags", [(), ("--flags",), ("--json",)])
def test_conf_prints_none(guarded: Guarded, flags: tuple[str, ...]) -> None:
    """`parquetry conf` prints the URL without its password, and says on standard error where to put it."""
    url = guarded.with_password(PASSWORD)
    done = subprocess.run(
        [sys.executable, "-m", "parquetry.cli.main", "conf", *flags, "-w", guarded.warehouse, "--store", url],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert guarded.url in done.stdout
    assert "SECRET" not in done.stdout + done.stderr
    assert "spark.sql.catalog.lake.store.password is not printed" in done.stderr
    assert "PGPASSWORD" in done.stderr
    assert ("# spark.sql.catalog.lake.store.password ***" in done.stdout) is (not flags)
