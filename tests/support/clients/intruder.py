"""A process that may not ask a session's planner, and tries.

Run it as `python intruder.py PORT QUESTION NAME...`; each NAME is a possible name of the planner.

It prints a line for each try: what was tried, and what came back.
"""

from __future__ import annotations

import socket
import sys


def answer(port: int, said: bytes, wait: float = 5, lines: int = 1) -> bytes:
    """Send bytes to a callback server; return its answer: some lines, fewer if it hangs up.

    Raises:
        TimeoutError: it was silent for some seconds.
    """
    found = b""
    with socket.create_connection(("127.0.0.1", port), wait) as connection:
        connection.settimeout(wait)
        try:
            connection.sendall(said)
            while found.count(b"\n") < lines and (part := connection.recv(4096)):
                found += part
        except ConnectionError:
            return found
    return found


def call(name: str, question: str) -> bytes:
    """Return the call of a planner in Py4J's protocol."""
    return f"c\n{name}\nask\ns{question}\ne\n".encode()


def main() -> None:
    """Try everything with each name."""
    port, question = int(sys.argv[1]), sys.argv[2]
    for name in sys.argv[3:]:
        plain = call(name, question)
        head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nOrigin: https://example.org\r\n"
        tries = {
            "plain": plain,
            "wrong token": b"A\nguess\ne\n" + plain,
            "no token": b"A\n\ne\n" + plain,
            "collected": f"g\n{name}\ne\n".encode(),
            "page": head + b"Content-Length: %d\r\n\r\n" % len(plain) + plain,
            # Without a token the server ignores the first line and the second as a call of no object; the
            # third begins anew.
            "page, in turn": head + b"Content-Length: %d\r\n\r\nx\n" % (len(plain) + 2) + plain,
        }
        for tried, said in tries.items():
            print(f"{name[:2]}… {tried}: {answer(port, said)!r}")


if __name__ == "__main__":
    main()
