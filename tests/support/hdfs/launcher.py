"""A real HDFS for tests: a namenode and a datanode in one JVM, on free ports of 127.0.0.1."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from tests.support.hbase.launcher import free_ports
from tests.support.jars import fetched, pyspark_jars
from tests.support.jvm.server import JavaServer

_HERE = Path(__file__).parent


class HdfsServer:
    """HDFS with its data in a folder.

    Attributes:
        url: of its root, without a slash at the end.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._conf = folder / "conf"
        self._conf.mkdir(parents=True)
        ports = free_ports(5)
        self.url = f"hdfs://127.0.0.1:{ports[0]}"
        properties = _properties(folder, ports)
        entries = [f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items()]
        site = "\n".join(["<configuration>", *entries, "</configuration>"])
        (self._conf / "hdfs-site.xml").write_text(site)
        libraries = fetched(_HERE / "ivy.xml", "HDFS", "56 MB")
        class_path = [str(self._conf), f"{libraries}/*", f"{pyspark_jars()}/*"]
        self._server = JavaServer(_HERE / "HdfsMain.java", class_path, folder, "256m")

    def stop(self) -> None:
        """End it and remove its data."""
        self._server.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@functools.cache
def shared_server() -> HdfsServer:
    """Return a server for the time of this process."""
    folder = Path(tempfile.mkdtemp(prefix="parquetry-hdfs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = HdfsServer(folder / "server")
    atexit.register(server.stop)
    return server


def _properties(folder: Path, ports: list[int]) -> dict[str, str]:
    names = (
        "dfs.namenode.rpc-address",
        "dfs.namenode.http-address",
        "dfs.datanode.address",
        "dfs.datanode.http.address",
        "dfs.datanode.ipc.address",
    )
    return {
        "fs.defaultFS": f"hdfs://127.0.0.1:{ports[0]}",
        "dfs.replication": "1",
        "dfs.permissions.superusergroup": "nobody",
        "dfs.namenode.name.dir": str(folder / "names"),
        "dfs.datanode.data.dir": str(folder / "data"),
        "dfs.datanode.hostname": "127.0.0.1",
        "dfs.namenode.secondary.http-address": "127.0.0.1:0",
        "dfs.namenode.edits.noeditlogchannelflush": "true",
        **{name: f"127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)},
    }
