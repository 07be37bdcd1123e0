"""A real S3 server for tests, S3Proxy, with its objects in memory; and the jars that Hadoop needs for S3."""

from __future__ import annotations

import atexit
import base64
import email.utils
import functools
import hashlib
import hmac
import http.client
import shutil
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.fs as pafs

from tests.support.hbase.launcher import free_ports
from tests.support.jars import fetched
from tests.support.jvm.server import JavaServer
from tests.support.s3.proxy import S3TestProxy

_HERE = Path(__file__).parent
ACCESS_KEY, SECRET_KEY, REGION = "lakekey", "lakesecret", "us-east-1"
_PUT_THREADS = 8
_LOGBACK = """<configuration>
<appender name="LOG" class="ch.qos.logback.core.ConsoleAppender"><target>System.err</target>
<encoder><pattern>%d %p %c: %m%n</pattern></encoder></appender>
<root level="warn"><appender-ref ref="LOG"/></root></configuration>
"""


def s3a_jars() -> list[Path]:
    """Return the jars of `s3a:` that PySpark lacks, fetched if need be: hadoop-aws, and Amazon's SDK."""
    return sorted(fetched(_HERE / "s3a.xml", "S3A", "16 MB").glob("*.jar"))


class S3Server:
    """An S3 server, and a proxy before it that counts requests and can disturb them.

    Args:
        folder: to be made, for its log and settings.
        heap: of its JVM, which holds the objects.

    Attributes:
        proxy: what clients should ask.
        endpoint: of the proxy, as a URL.
    """

    def __init__(self, folder: Path, heap: str = "384m") -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        (port,) = free_ports(1)
        properties = folder / "s3proxy.properties"
        properties.write_text(_properties(port))
        (folder / "logback.xml").write_text(_LOGBACK)
        libraries = fetched(_HERE / "server.xml", "S3Proxy", "49 MB")
        class_path = [str(folder), f"{libraries}/*"]
        self._server = JavaServer(
            _HERE / "S3Main.java", class_path, folder, heap, [str(properties), str(port)]
        )
        self._port = port
        self.proxy = S3TestProxy(port, (ACCESS_KEY, SECRET_KEY))
        self.endpoint = f"http://127.0.0.1:{self.proxy.port}"

    def client(self) -> pafs.S3FileSystem:
        """Return Arrow's client of this server, which may make buckets."""
        return pafs.S3FileSystem(
            access_key=ACCESS_KEY,
            secret_key=SECRET_KEY,
            region=REGION,
            scheme="http",
            endpoint_override=f"127.0.0.1:{self.proxy.port}",
            allow_bucket_creation=True,
        )

    def make_bucket(self, name: str) -> None:
        """Make a bucket."""
        self.client().create_dir(name)

    def put_all(self, bucket: str, keys: Iterable[str], data: bytes) -> None:
        """Write many objects with the same bytes, past the proxy."""
        keys = list(keys)
        with ThreadPoolExecutor(_PUT_THREADS) as pool:
            list(
                pool.map(
                    lambda some: self._put(bucket, some, data),
                    [keys[n::_PUT_THREADS] for n in range(_PUT_THREADS)],
                )
            )

    def _put(self, bucket: str, keys: Iterable[str], data: bytes) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        for key in keys:
            path, date = f"/{bucket}/{key}", email.utils.formatdate(usegmt=True)
            digest = hmac.new(SECRET_KEY.encode(), f"PUT\n\n\n{date}\n{path}".encode(), hashlib.sha1).digest()
            signature = f"AWS {ACCESS_KEY}:{base64.b64encode(digest).decode()}"
            connection.request("PUT", path, data, {"Date": date, "Authorization": signature})
            reply = connection.getresponse()
            reply.read()
            assert reply.status == 200, f"{path}: {reply.status} {reply.reason}"
        connection.close()

    def settings(self) -> dict[str, str]:
        """Return the settings that a Spark session needs to reach this server."""
        options = {
            "endpoint": self.endpoint,
            "endpoint.region": REGION,
            "access.key": ACCESS_KEY,
            "secret.key": SECRET_KEY,
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            # the default reads ahead in threads of its own, so that a file may have one request or two
            "input.stream.type": "classic",
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in options.items()}

    def stop(self) -> None:
        """End it; its objects are gone."""
        self.proxy.close()
        self._server.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@functools.cache
def shared_server() -> S3Server:
    """Return a server for the time of this process."""
    folder = Path(tempfile.mkdtemp(prefix="parquetry-s3-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = S3Server(folder / "server")
    atexit.register(server.stop)
    return server


def _properties(port: int) -> str:
    # `transient` lists objects as S3 does; `transient-nio2` would list directories among them
    return f"""s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={ACCESS_KEY}
s3proxy.credential={SECRET_KEY}
s3proxy.ignore-unknown-headers=true
jclouds.provider=transient
jclouds.identity=any
jclouds.credential=any
"""
