"""A real HBase for tests: one JVM, or two if the Thrift2 server is to be killed by itself.

All sockets are on 127.0.0.1, on ports that were free a moment ago. The JVMs end when their standard input
does, hence also when the process that started them is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import queue
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tests.support.hbase.artifacts import libraries
from tests.support.jars import java, pyspark_jars

START_SECONDS = 180
ANSWER_SECONDS = 60
MAIN = Path(__file__).with_name("HBaseMain.java")

# What bin/hbase passes to Java 11 and later.
OPENED = (
    "java.io",
    "java.nio",
    "java.lang",
    "java.lang.reflect",
    "java.util",
    "java.util.concurrent",
    "sun.nio.ch",
)
JVM_FLAGS = [
    "-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
    "--add-modules=jdk.unsupported",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in (*OPENED, "jdk.internal.ref")),
    *(
        f"--add-exports={package}=ALL-UNNAMED"
        for package in (
            "java.base/jdk.internal.misc",
            "java.security.jgss/sun.security.krb5",
            "java.base/sun.net.dns",
            "java.base/sun.net.util",
        )
    ),
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    # to verify the classes of its jars takes a second of its start
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
]

LOG4J = """log4j.rootLogger=WARN, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File=${parquetry.log}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that no process listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Process:
    """A JVM that runs a part of HBase, or all of it."""

    def __init__(self, part: Literal["cluster", "thrift", "all"], folder: Path, port: int, heap: str) -> None:
        # Janino, which compiles the main class, looks at more classes than the JVM will: some name Jackson.
        jars = [
            pyspark_jars() / f"{name}-[0-9]*.jar" for name in ("janino", "commons-compiler", "jackson-core")
        ]
        path = [str(folder / "conf"), str(libraries() / "*")]
        path += [str(jar) for pattern in jars for jar in sorted(pattern.parent.glob(pattern.name))]
        self.log = folder / f"{part}.log"
        with open(folder / f"{part}.out", "ab") as errors:
            self._process = subprocess.Popen(
                [
                    java(),
                    *JVM_FLAGS,
                    f"-Xmx{heap}",
                    f"-Dparquetry.log={self.log}",
                    "-cp",
                    os.pathsep.join(path),
                    "org.codehaus.janino.SimpleCompiler",
                    str(MAIN),
                    "HBaseMain",
                    part,
                    str(port),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._part, self._folder = part, folder
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put("")

    def wait_until_ready(self) -> None:
        """Return when the process can be used; what libraries print before that is passed over."""
        deadline = time.monotonic() + START_SECONDS
        while (line := self._next(deadline - time.monotonic())) != "READY":
            if not line:
                break
        else:
            return
        self.kill()
        said = (self._folder / f"{self._part}.out").read_text()[-2000:]
        logged = self.log.read_text()[-4000:] if self.log.exists() else ""
        raise RuntimeError(f"HBase ({self._part}) did not start\n{said}\n{logged}")

    def _next(self, seconds: float) -> str:
        try:
            return self._lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return ""

    def ask(self, command: str) -> str:
        """Send a command and return the answer, which is one line."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        answer = self._next(ANSWER_SECONDS)
        if not answer or answer.startswith("error"):
            raise RuntimeError(f"HBase did not {command!r}: {answer or 'no answer'}; its log is {self.log}")
        return answer

    def stop(self) -> None:
        """End it in good order."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._leave()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

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


class HBaseServer:
    """HBase with a Thrift2 server.

    Args:
        folder: for its data, configuration and logs.
        apart: whether the Thrift2 server is a process of its own.
        heap: of the JVM with the region server.
        settings: further properties of hbase-site.xml.
    """

    def __init__(
        self,
        folder: Path,
        *,
        apart: bool = False,
        heap: str = "512m",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.apart, self._heap = folder, apart, heap
        self._thrift: Process | None = None
        self.port, zookeeper, master, region_server = free_ports(4)
        conf = folder / "conf"
        conf.mkdir(parents=True)
        (conf / "log4j.properties").write_text(LOG4J)
        properties = _properties(folder.absolute(), zookeeper, master, region_server) | dict(settings or {})
        entries = [f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items()]
        (conf / "hbase-site.xml").write_text("\n".join(["<configuration>", *entries, "</configuration>"]))
        self.start()

    def start(self) -> None:
        """Start all of it, and return once it can be used."""
        self.start_cluster()
        if self.apart:
            self.start_thrift()
        else:
            self._wait_for_thrift()

    def start_cluster(self) -> None:
        """Start the master and the region server; also the Thrift2 server, if that is not apart."""
        self._cluster = Process("cluster" if self.apart else "all", self.folder, self.port, self._heap)
        self._cluster.wait_until_ready()

    def start_thrift(self) -> None:
        """Start a Thrift2 server that is apart, unless it runs."""
        if self._thrift is not None and self._thrift.is_running:
            return
        self._thrift = Process("thrift", self.folder, self.port, "128m")
        self._thrift.wait_until_ready()
        self._wait_for_thrift()

    def _wait_for_thrift(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def url(self, table: str, options: str = "") -> str:
        """Return the URL of a store."""
        return f"hbase://127.0.0.1:{self.port}/{table}{options}"

    def ask(self, command: str) -> str:
        """Send a command to the cluster; see HBaseMain."""
        return self._cluster.ask(command)

    def rows_examined(self, table: str) -> int:
        """Return how many rows of a table were read so far, also rows that a filter held back."""
        return sum(map(int, self.ask(f"reads {table}").split()))

    def kill_cluster(self) -> None:
        """Kill the master and the region server."""
        self._cluster.kill()

    def kill_thrift(self) -> None:
        """Kill a Thrift2 server that is apart."""
        assert self._thrift is not None
        self._thrift.kill()

    def stop(self) -> None:
        """End it and remove its data."""
        if self._thrift is not None:
            self._thrift.kill()
        self._cluster.stop()
        shutil.rmtree(self.folder / "data", ignore_errors=True)


@functools.cache
def shared_server() -> HBaseServer:
    """Return the server that all tests of this process share; it drops idle clients after two seconds."""
    folder = tempfile.mkdtemp(prefix="parquetry-hbase-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {"hbase.thrift.server.socket.read.timeout": "2000"}
    server = HBaseServer(Path(folder) / "server", settings=settings)
    atexit.register(server.stop)
    return server


def _properties(folder: Path, zookeeper: int, master: int, region_server: int) -> dict[str, str]:
    return {
        "hbase.cluster.distributed": "false",
        "hbase.rootdir": (folder / "data" / "root").as_uri(),
        "hbase.tmp.dir": str(folder / "data" / "scratch"),
        "hbase.zookeeper.property.dataDir": str(folder / "data" / "zk"),
        "hbase.zookeeper.quorum": "127.0.0.1",
        "hbase.zookeeper.property.clientPort": str(zookeeper),
        "hbase.unsafe.stream.capability.enforce": "false",
        "hbase.wal.provider": "filesystem",
        "hbase.wal.meta_provider": "filesystem",
        "hbase.master.port": str(master),
        "hbase.regionserver.port": str(region_server),
        "hbase.master.ipc.address": "127.0.0.1",
        "hbase.regionserver.ipc.address": "127.0.0.1",
        "hbase.master.hostname": "localhost",
        "hbase.regionserver.hostname": "localhost",
        # The web pages are not in the jars.
        "hbase.master.info.port": "-1",
        "hbase.regionserver.info.port": "-1",
        "hbase.thrift.info.port": "-1",
        # Ready in 5 to 10 seconds instead of 20.
        "hbase.regionserver.msginterval": "300",
        "hbase.master.wait.on.regionservers.interval": "100",
        "hbase.master.wait.on.regionservers.timeout": "500",
        # Each table that rows are put in would hold two megabytes of its own; the tests make hundreds.
        "hbase.hregion.memstore.mslab.enabled": "false",
        # Failures are reported at once instead of after a minute.
        "hbase.client.retries.number": "4",
        "hbase.client.pause": "50",
    }
