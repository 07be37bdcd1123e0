"""The ASGI application of the page: its files, and answers as JSON. Requests can only be GET and HEAD.

Without a token, a request must name this machine as its host (`serving.refuse_caller`). With one, everybody
gets the files of the page, as they have no data, and each answer needs the token. A browser keeps it for its
tab alone; it is never part of an address that is sent.

What a response allows a browser to do is little: scripts, styles and data of this server, nothing within the
page itself, no frame around it. So a name with markup in it could run nothing, even if it were not escaped.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from parquetry import errors
from parquetry.locations import current_file_systems, set_file_systems
from parquetry.prune import page_style
from parquetry.serving import Receive, Send, live, refuse_caller
from parquetry.ui.answers import Answers

_MAX_ANSWERING_THREADS = 6
"""Requests that are answered at once. The others wait."""
_MAX_QUERY_BYTES = 32 << 10
"""Length of the parameters of a request."""
_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".json": b"application/json",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The things that a browser may do with the page."""
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
_LOG = logging.getLogger("parquetry")


class Response(NamedTuple):
    """A response: its status, its body, and the ending of a file of its type."""

    status: int
    content: bytes
    ending: str = ".json"


class PageApplication:
    """The ASGI application of a page.

    Args:
        answers: to the page's requests.
        token: that requests for answers must have as `Authorization: Bearer …`, or None.
    """

    def __init__(self, answers: Answers, token: str | None = None) -> None:
        self._answers = answers
        self._token = None if token is None else token.encode()
        self._files = page_files()
        self._threads = ThreadPoolExecutor(
            _MAX_ANSWERING_THREADS,
            "page",
            initializer=set_file_systems,
            initargs=(current_file_systems(),),
        )

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, or take part in the start and the end of the server."""
        if scope["type"] == "lifespan":
            await live(receive, send, lambda: self._threads.shutdown(wait=False, cancel_futures=True))
            return
        response = await self._respond(scope)
        headers = [
            *_HEADERS,
            (b"content-type", _TYPES[response.ending]),
            (b"content-length", str(len(response.content)).encode()),
            *([(b"allow", b"GET, HEAD")] if response.status == 405 else []),
        ]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else response.content
        await send({"type": "http.response.body", "body": body})

    async def _respond(self, scope: dict[str, Any]) -> Response:
        """Return the response to a request."""
        if scope["method"] not in ("GET", "HEAD"):
            return _error(405, "The page is for reading alone: ask by GET.")
        path = unquote(scope["raw_path"].decode("latin-1")).removeprefix(scope.get("root_path", ""))
        wanted = path.removeprefix("/") or "index.html"
        is_answer = wanted.startswith("api/")
        refusal = None
        if is_answer or self._token is None:
            refusal = refuse_caller(scope["headers"], self._token)
        if refusal is None and is_answer and dict(scope["headers"]).get(b"sec-fetch-site") == b"cross-site":
            return _error(403, "Another site's page has asked: open this page itself.")
        if refusal is not None:
            return _error(refusal.status, refusal.message)
        if not is_answer:
            content = self._files.get(wanted)
            if content is None:
                return _error(404, f"There is no page {wanted[:80]!r}.")
            return Response(200, content, wanted[wanted.rindex(".") :])
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, self._answer, wanted.removeprefix("api/"), scope["query_string"]
        )

    def _answer(self, path: str, query: bytes) -> Response:
        """Return the response with an answer."""
        if not self._answers.knows(path):
            return _error(404, f"There is no answer {path[:80]!r}.")
        if len(query) > _MAX_QUERY_BYTES:
            return _error(414, "The request is too long: shorten the condition.")
        try:
            given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="strict"))
            return Response(200, msgspec.json.encode(self._answers.answer(path, given)))
        except errors.FilterError as error:
            body = {"error": error.message.partition("\n")[0], "position": error.position}
            return Response(400, msgspec.json.encode(body))
        except errors.TableNotFoundError as error:
            return _error(404, error.message)
        except (errors.NamespaceNotFoundError, FileNotFoundError) as error:
            return _error(404, str(error))
        except (errors.StoreError, errors.WarehouseError) as error:
            return _error(503, error.message)
        except errors.ParquetryError as error:
            return _error(400, error.message)
        except RecursionError:
            return _error(400, "The condition is nested too deep.")
        except ValueError as error:
            return _error(400, str(error))
        except Exception as error:  # noqa: BLE001 - the last resort: the page always gets an answer
            _LOG.error("GET %s failed", path, exc_info=error)
            return _error(500, f"The server failed ({type(error).__name__}); its log has the details.")


def page_files() -> dict[str, bytes]:
    """Return the page's files by the paths of requests."""
    folder = resources.files(__package__).joinpath("static")
    files = {f"static/{file.name}": file.read_bytes() for file in folder.iterdir() if file.is_file()}
    files["index.html"] = files.pop("static/index.html")
    files["static/report.css"] = page_style().encode()
    return files


def _error(status: int, message: str) -> Response:
    return Response(status, msgspec.json.encode({"error": message}))


class Beside:
    """An application with the page below a path of its own, in one process.

    Args:
        other: the application that has all other paths.
        page: the page.
        path: of the page, such as `/ui`.
    """

    def __init__(self, other: Any, page: PageApplication, path: str) -> None:
        self._other, self._page, self._path = other, page, path

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Hand a request to the application that it is for."""
        path = scope.get("path", "")
        if scope["type"] == "http" and path == self._path:  # so that the page's own addresses are below it
            headers = [(b"location", f"{self._path.rpartition('/')[2]}/".encode()), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 308, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        elif scope["type"] == "http" and path.startswith(f"{self._path}/"):
            await self._page({**scope, "root_path": self._path}, receive, send)
        else:
            await self._other(scope, receive, send)
