"""Call a server at 127.0.0.1:4743 for each line on standard input, as grand-challenge.org does.

Runs as a separate program in the network of a sandbox, and needs only Python. Prints "ready" when
``GET /health`` answers 200, then for every line one ``POST /invoke``: "done" if it answers 201.
"""

import http.client
import os
import sys
import time

PORT = 4743
_ASKS_S = 0.05


def _answer(method: str, path: str, seconds: float | None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=seconds)
    try:
        connection.request(method, path, body=b"" if method == "POST" else None)
        return connection.getresponse().status
    finally:
        connection.close()


def main() -> None:
    """Serve until standard input ends."""
    parent = os.getppid()
    while os.getppid() == parent:  # the parent keeps the time, and may have been killed
        try:
            if _answer("GET", "/health", 10.0) == http.client.OK:
                break
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(_ASKS_S)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        try:
            status = _answer("POST", "/invoke", None)
            answer = "done" if status == http.client.CREATED else f"failed: status {status}"
        except (OSError, http.client.HTTPException) as error:
            answer = f"failed: {type(error).__name__}"
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
