"""Listings of multipart uploads, which S3Proxy answers in part only: the test's proxy makes up for it.

S3Proxy refuses a listing with `max-uploads`, which Hadoop always sends, and says of every upload that it
began just now. So the proxy asks without that parameter, which needs a signature of its own. It remembers
when each upload began, and puts these times into the reply.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
import urllib.parse
from datetime import UTC, datetime
from email.utils import formatdate

_ID = re.compile(rb"<UploadId>([^<]+)</UploadId>")
_LISTED = re.compile(rb"(<UploadId>([^<]+)</UploadId>(?:(?!</Upload>).)*?<Initiated>)[^<]{24}", re.DOTALL)
_UNDERSTOOD = ("uploads", "prefix", "encoding-type")


def understood(target: str, credentials: tuple[str, str]) -> list[bytes]:
    """Return the head of a request for a listing, as S3Proxy understands it: all uploads in one reply.

    Args:
        target: path and query of the request that a client has made.
        credentials: the access key and the secret key, for the second version of S3's signatures.
    """
    parts = urllib.parse.urlsplit(target)
    query = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    kept = urllib.parse.urlencode([(name, value) for name, value in query if name in _UNDERSTOOD])
    date = formatdate(usegmt=True)
    text = f"GET\n\n\n{date}\n{parts.path}?uploads"
    key, secret = credentials
    signature = base64.b64encode(hmac.new(secret.encode(), text.encode(), hashlib.sha1).digest()).decode()
    lines = [f"GET {parts.path}?{kept} HTTP/1.1", "Host: 127.0.0.1", f"Date: {date}"]
    return [f"{line}\r\n".encode() for line in (*lines, f"Authorization: AWS {key}:{signature}", "")]


def with_times(reply: bytes, began: dict[str, float]) -> bytes:
    """Return the body of a reply about uploads with the time when each began.

    Args:
        reply: as S3Proxy has it. An upload that it names for the first time has begun now.
        began: by id, in seconds since the epoch.
    """
    for found in _ID.finditer(reply):
        began.setdefault(found[1].decode(), time.time())

    def corrected(listed: re.Match[bytes]) -> bytes:
        moment = datetime.fromtimestamp(began[listed[2].decode()], UTC)
        return listed[1] + moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()

    return _LISTED.sub(corrected, reply)
