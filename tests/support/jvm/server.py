"""A server for tests in a JVM: a main class in Java, compiled at its start.

It prints READY, and ends with its input.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.jars import java, pyspark_jars

_START_SECONDS = 120
_STOP_SECONDS = 20
_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)


def compiler_jars() -> list[Path]:
    """Return the jars of Janino, which compiles the main class."""
    names = ("janino", "commons-compiler")
    return [jar for name in names for jar in sorted(pyspark_jars().glob(f"{name}-[0-9]*.jar"))]


class JavaServer:
    """A JVM that serves until it is stopped, or until the process that started it ends.

    Args:
        main: the file of the main class.
        class_path: folders, jars, and folders of jars with `/*`.
        folder: for its log.
        heap: of the JVM, such as ``256m``.
        arguments: of the main class.
    """

    def __init__(
        self,
        main: Path,
        class_path: Sequence[str],
        folder: Path,
        heap: str,
        arguments: Sequence[str] = (),
    ) -> None:
        self._log = folder / f"{main.stem}.log"
        path = os.pathsep.join([*class_path, *map(str, compiler_jars())])
        command = [java(), *_FLAGS, f"-Xmx{heap}", "-cp", path]
        command += ["org.codehaus.janino.SimpleCompiler", str(main), main.stem, *arguments]
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder
            )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._wait_until_ready()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put("")

    def _wait_until_ready(self) -> None:
        """Return when the server says that it can be used; what libraries print before is passed over."""
        deadline = time.monotonic() + _START_SECONDS
        line = None
        while line != "READY":
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                line = ""
            if not line and (self._process.poll() is not None or time.monotonic() > deadline):
                self.kill()
                raise RuntimeError(f"{self._log.stem} did not start\n{self._log.read_text()[-4000:]}")

    def stop(self) -> None:
        """End it in good order."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._leave()

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._leave()

    def _leave(self) -> None:
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
