"""Passwords of stores: no form of a URL shows one, and configured URLs are without."""

from __future__ import annotations

import logging
from collections.abc import Callable
from urllib.parse import quote

import pytest

import parquetry
from parquetry.errors import ConfigurationError
from parquetry.store.opening import open_store, split_store
from parquetry.store.passwords import split_passwords, without_password, without_passwords

FORMS = [
    "postgresql://ann:{p}@h/lake",
    " postgresql://ann:{p}@h/lake",
    "POSTGRESQL://ann:{p}@h/lake",
    "postgres://ann:{p}@h,i:5432/lake?sslmode=require",
    "postgresql:ann:{p}@h/lake",
    "postgresql:/ann:{p}@h/lake",
    "postgresql//ann:{p}@h/lake",
    "postgresql://ann:{p}/lake",
    "postgresql://ann:12/{p}@h/lake",
    "postgresql://ann:12?timeout={p}@h/lake",
    "postgresql://ann%3A{p}@h/lake",
    "postgresql://:{p}@h/lake",
    "postgresql://h/lake?password={p}",
    "postgresql://ann@h/lake?password=a@{p}",
    "postgresql://ann@h/lake?password=a&{p}=b",
    "postgresql://ann@h/lake?sslpassword={p}&sslmode=require",
    "postgresql://ann@h/lake?passfile=/home/{p}",
    "postgresql://ann@h/lake?pass%77ord={p}",
    "postgresql://ann@h/lake?pasword={p}",
    "postgresql://ann@h/lake?options=-cpassword={p}",
    "user=ann password={p} host=h",
    "user=ann password='{p}' host=h",
    'user=ann password = "{p}"',
    "host=h passfile=/{p}",
    "jdbc:postgresql://h/lake?user=ann&password={p}",
    "hbase://ann:{p}@h/t",
    "https://ann:{p}@h/t",
    "ann:{p}@h/lake",
    "ann:{p}",
    "postgresql ://ann:{p}",
    '{{"user": "ann", "password": "{p}"}}',
]
PASSWORDS = [
    "SECRET",
    "p/SECRET",
    "p?SECRET",
    "p@SECRET",
    "p#SECRET",
    "p SECRET",
    "p%SECRET",
    "'SECRET'",
    "p:SECRET",
    "password=SECRET",
    "SECRET password=SECRET",
    "a/b?c@d#e f%g:SECRET&h=SECRET",
    quote("p/SE@CRET", safe="").replace("%40", "SECRET"),
]


CASES = [(form, password) for form in FORMS for password in PASSWORDS if "@" in form or "@" not in password]
"""`ann:p@SECRET/lake` is a right URL, of the server SECRET."""


@pytest.mark.parametrize(("form", "password"), CASES)
def test_no_form_shows_a_password(form: str, password: str) -> None:
    """Neither the shown form of a URL nor an error about it has any part of the password."""
    url = form.format(p=password)
    assert "SECRET" not in without_password(url)
    try:
        shown = str(split_store(url)[0])
    except ConfigurationError as error:
        shown = f"{error}{error.__cause__}{error.__context__}"
    for option in ("pasword=", "options=", "passfile=", "pass%77ord=", "timeout="):
        shown = (
            "" if option in shown else shown
        )  # options that the server would refuse, or the name of a file
    assert "SECRET" not in shown or "%3A" in url


def test_urls_without_a_password_are_shown() -> None:
    """The shown URL keeps the server, the database and the options that are not secret."""
    for url in (
        "postgresql://ann@h,i:5432/lake?table=team.lake&sslmode=require",
        "postgresql://[::1]:5432/lake",
        "postgresql://%2Fvar%2Frun/lake",
        "postgresql://?service=lake",
        "postgers://ann@db/lake",
        "sqlite:///lake/a@b.sqlite",
        "memry",
    ):
        assert without_password(url) == url
    assert without_password("postgresql://ann:x@db/lake") == "postgresql://ann:***@db/lake"
    assert len(without_password("x" * 5000)) < 300


@pytest.mark.parametrize("special", "/?@# ")
@pytest.mark.parametrize(
    "use",
    [
        lambda url: open_store(url, "/lake"),
        pytest.param(lambda url: parquetry.settings("lake", "/lake", store=url), marks=pytest.mark.spark),
    ],
)
def test_an_unencoded_character_is_refused(use: Callable[[str], object], special: str) -> None:
    """An ambiguous URL is refused.

    The error says how to encode a character, and where else a password can be given.
    """
    for url in (f"postgresql://ann:a{special}SECRET@h/lake", f"postgresql://ann:SECRET{special}b@h/lake"):
        with pytest.raises(ConfigurationError, match="Percent-encode special characters") as caught:
            use(url)
        assert "store.password" in caught.value.message
        assert "SECRET" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="two hexadecimal digits"):
        open_store("postgresql://ann:100%SECRET@h/lake", "/lake")


def test_encoded_characters_are_taken_apart() -> None:
    """Every character can be in a password, percent-encoded; the rest of the URL stays as it is."""
    password = "".join(map(chr, range(1, 256)))
    url = f"postgresql://ann:{quote(password, safe='')}@h:5432/lake?table=t&sslpassword=a%26b"
    assert split_passwords(url) == (
        "postgresql://ann@h:5432/lake?table=t",
        {"password": password, "sslpassword": "a&b"},
    )
    assert split_passwords("postgresql://h/lake?password=a+b") == ("postgresql://h/lake", {"password": "a+b"})
    assert split_passwords("sqlite:////a/b.sqlite") == ("sqlite:////a/b.sqlite", {})


@pytest.mark.spark
def test_settings_have_the_password_apart(caplog: pytest.LogCaptureFixture) -> None:
    """The password of a URL becomes a setting whose name Spark redacts, and a warning is logged.

    A password beside the URL comes first.
    """
    prefix = "spark.sql.catalog.lake"
    with caplog.at_level(logging.DEBUG):
        made = parquetry.settings("lake", "/lake", store="postgresql://ann:SECRET@h/lake?sslpassword=OTHER")
        both = parquetry.settings("lake", "/lake", store="postgresql://ann:x@h/lake", store_password="y")
    assert made[f"{prefix}.store"] == "postgresql://ann@h/lake"
    assert made[f"{prefix}.store.password"] == "SECRET"
    assert made[f"{prefix}.store.sslpassword"] == "OTHER"
    assert both[f"{prefix}.store.password"] == "y"
    assert "has a password" in caplog.text
    assert "SECRET" not in caplog.text
    assert "OTHER" not in caplog.text


@pytest.mark.spark
@pytest.mark.parametrize(
    "store", ["user=ann password=SECRET", "jdbc:postgresql://ann:SECRET@h", "hbase://ann:SECRET@h/t"]
)
def test_settings_refuse_what_is_no_store(store: str) -> None:
    """The URL of an unknown store is refused before its password gets into Spark's settings."""
    with pytest.raises(ConfigurationError, match="is not known") as caught:
        parquetry.settings("lake", "/lake", store=store)
    assert "SECRET" not in str(caught.value)


def test_a_store_that_takes_no_password() -> None:
    """A password for a store that has none is a mistake, and is not repeated."""
    with pytest.raises(ConfigurationError, match="takes no password") as caught:
        open_store("memory", "/lake", passwords={"password": "SECRET"})
    assert "SECRET" not in str(caught.value)


def test_errors_of_others() -> None:
    """A password is blotted out of a server's words, encoded or not; a short one as a word."""
    assert without_passwords("a p%40ss p@ss b", ["p@ss"]) == "a *** *** b"
    assert without_passwords("a table 'a'", ["a", ""]) == "*** table '***'"
