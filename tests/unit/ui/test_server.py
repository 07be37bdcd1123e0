"""The served page: who gets answers, what a browser may do, and how errors look. No browser runs here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry import ui
from parquetry.cli.main import main
from parquetry.iceberg import Application, IcebergCatalog
from parquetry.metastore import Metastore
from parquetry.serving import OpenedMetastore
from parquetry.ui.answers import Answers
from parquetry.ui.application import Beside, PageApplication, page_files
from tests.support.page.served import ask, served

STATIC = Path(ui.__file__).parent / "static"


@pytest.fixture(scope="module")
def address(metastore: Metastore) -> Iterator[str]:
    """A page without a token."""
    with served(PageApplication(Answers(OpenedMetastore(metastore)))) as address:
        yield address


def test_the_page_comes_from_this_server_alone(address: str) -> None:
    """Every file that the page names is served with its type, and none has an address elsewhere."""
    page = ask(address, "/")
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    named = re.findall(r'(?:src|href)="(static/[^"]+)"', page.content.decode())
    assert len(named) == 4
    for name, content in page_files().items():
        text = content.decode()
        assert ask(address, f"/{'' if name == 'index.html' else name}").content == content
        named += [f"static/{module}" for module in re.findall(r'from "\./([^"]+)"', text)]
        elsewhere = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert elsewhere <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(
            r"\bstyle=|\bon[a-z]+=\"|<script>|eval\(|innerHTML = (?!(answer|report)\.html)", text
        ), name
    assert set(named) <= page_files().keys()
    assert ask(address, "/static/main.js").headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/api/warehouse", "/api/nothing", "/none"])
def test_a_browser_may_do_little_with_each_response(address: str, path: str) -> None:
    """Every response has the policy: no script in the page, no frame around it, nothing from elsewhere."""
    headers = ask(address, path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert (
        policy["default-src"]
        == policy["frame-ancestors"]
        == policy["base-uri"]
        == policy["form-action"]
        == "'none'"
    )
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_requests_can_only_read(address: str, method: str) -> None:
    """The server refuses any other method than GET and HEAD, on any path."""
    refused = ask(address, "/api/warehouse", method=method)
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")
    head = ask(address, "/api/warehouse", method="HEAD")
    assert (head.status, head.content) == (200, b"")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8484", "127.0.0.1.evil.example", "192.168.0.9:8484"]
)
@pytest.mark.parametrize("path", ["/", "/api/warehouse", "/static/main.js"])
def test_other_hosts_are_refused(address: str, host: str, path: str) -> None:
    """A name that was bound to this machine (DNS rebinding) gets neither answers nor the page."""
    refused = ask(address, path, {"Host": host})
    assert refused.status == 403
    assert "is not this machine" in refused.json["error"]
    assert ask(address, path, {"Host": "localhost:1"}).status == 200


def test_other_sites_get_no_answers(address: str) -> None:
    """The server refuses requests that a browser makes for pages of other sites, and answers its own."""
    assert ask(address, "/api/warehouse", {"Sec-Fetch-Site": "cross-site"}).status == 403
    for site in ("same-origin", "none"):
        assert ask(address, "/api/warehouse", {"Sec-Fetch-Site": site}).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../answers.py",
        "/static/%2e%2e/answers.py",
        "/../../etc/passwd",
        "/static/",
        "/api/",
        "/static/index.html",
        "//etc/passwd",
    ],
)
def test_nothing_else_is_served(address: str, path: str) -> None:
    """A path that is not the page's has no file, however it is spelled."""
    assert ask(address, path).status == 404


def test_a_token_is_needed_for_every_answer(metastore: Metastore) -> None:
    """With a token everybody gets the files of the page, and its holders get answers, by any host's name."""
    with served(PageApplication(Answers(OpenedMetastore(metastore)), "s3cret")) as address:
        for path in ("/api/warehouse", "/api/tables", "/api/none"):
            assert ask(address, path).status == 401
            assert ask(address, path, {"Authorization": "Bearer wrong"}).status == 401
            assert ask(address, path, {"Authorization": "Basic s3cret"}).status == 401
            assert ask(address, path, token="s3cret").status == 401, "not in an address"
        assert (
            ask(address, "/api/warehouse", {"Authorization": "Bearer s3cret", "Host": "lake.example"}).status
            == 200
        )
        assert ask(address, "/").status == 200
        assert b"s3cret" not in b"".join(page_files().values())


def test_errors_say_what_is_wrong(address: str) -> None:
    """An error has a status and a message, and the error of a condition has its position."""
    missing = ask(address, "/api/cells", table="shop.none")
    assert missing.status == 404
    assert "shop.none does not exist" in missing.json["error"]
    wrong = ask(address, "/api/plan", table="shop.orders", where="id >")
    assert (wrong.status, wrong.json["position"]) == (400, 4)
    assert "\n" not in wrong.json["error"]
    deep = "(" * 3_000 + "id = 1" + ")" * 3_000
    assert ask(address, "/api/plan", table="shop.orders", where=deep).status in (200, 400)
    assert ask(address, "/api/plan", table="shop.orders", where="x" * 33_000).status == 414
    assert ask(address, "/api/cells", table="shop.orders", cells="many").status == 400
    assert ask(address, "/api/cells").status == 400


def test_the_page_is_beside_a_catalog(metastore: Metastore) -> None:
    """One process serves an Iceberg catalog and, below /ui, the page."""
    page = PageApplication(Answers(OpenedMetastore(metastore)))
    with served(Beside(Application(IcebergCatalog(metastore)), page, "/ui")) as address:
        assert "defaults" in ask(address, "/v1/config").json
        moved = ask(address, "/ui")
        assert (moved.status, moved.headers["location"]) == (308, "ui/")
        assert ask(address, "/ui/").content == page_files()["index.html"]
        assert ask(address, "/ui/static/main.js").content == page_files()["static/main.js"]
        assert ask(address, "/ui/api/tables").json["rows"]
        assert ask(address, "/ui/api/tables", {"Host": "evil.example"}).status == 403
        assert ask(address, "/uix").status != 200


def test_a_page_for_others_needs_a_token(metastore: Metastore, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a token, the command does not listen on an address that others reach."""
    with pytest.raises(SystemExit) as ended:
        main(["ui", "-w", metastore.warehouse, "--host", "0.0.0.0"])
    assert ended.value.code == 1
    assert "give --token" in capsys.readouterr().err


def test_a_saved_report_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`parquetry report` prints the text, or a page that is a file by itself."""
    file = tmp_path / "q<1>.json"
    file.write_text(
        '{"scans": [{"table": "lake.db.t", "steps": [{"name": "files", "kept": 1, "of": 4, "by": ["id = 1"]}]}]}'
    )
    for more in ([], ["--html"]):
        with pytest.raises(SystemExit):
            main(["report", str(file), *more])
    text, page = capsys.readouterr().out.split("\n", 1)
    assert text == "lake.db.t: files 1 of 4 (id = 1)"
    assert "<title>q&lt;1&gt;</title>" in page
    assert ".parquetry-funnel" in page
    assert not re.search(r"<(link|script|img)|url\(", page)
    with pytest.raises(SystemExit):
        main(["report", __file__])
    assert "has no report of a query" in capsys.readouterr().err


def test_all_files_are_in_the_package() -> None:
    """All files that the server reads are beside its modules, so a wheel has them (`only-include`)."""
    assert {f"static/{file.name}" for file in STATIC.iterdir()} == page_files().keys() - {
        "index.html",
        "static/report.css",
    } | {"static/index.html"}
