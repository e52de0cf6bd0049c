"""A small provider of OpenID Connect on loopback, honest or not, and a browser that goes there."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc.jwk import KeySet, RSAKey
from joserfc.jwt import encode

CLIENT, SECRET = "portal", "only the two of us know"


@cache
def first_key() -> RSAKey:
    """The key of every provider that has no other; making one takes a while."""
    return RSAKey.generate_key(2048, {"kid": "one"})


@dataclass
class FakeProvider:
    """What it says of itself, and whom it knows; tests change it to lie."""

    issuer: str = ""
    subject: str = "248289761001"
    key: RSAKey = field(default_factory=lambda: first_key())
    about: dict[str, Any] = field(default_factory=dict)
    change: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """What becomes of the claims of a token."""
    sign: Callable[[dict[str, Any]], str] | None = None
    """How a token is signed; None: as it should be."""
    asked: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def answer(self, path: str, body: bytes, authorization: str) -> tuple[int, Any]:
        """Status and content."""
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            at = {
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
            }
            return 200, {"issuer": self.issuer, **at, **self.about}
        if path == "/jwks":
            return 200, KeySet([self.key]).as_dict(private=False)
        if path == "/token":
            return self._token(dict(parse_qsl(body.decode())), authorization)
        return 404, {}

    def allow(self, address: str) -> str:
        """Sign a person in; the address to which their browser returns."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = token_urlsafe()
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.issuer}
        return f"{urlsplit(asked['redirect_uri']).path}?{urlencode(back)}"

    def _token(self, sent: dict[str, str], authorization: str) -> tuple[int, Any]:
        both = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '%20')}".encode()).decode()
        asked = self._codes.pop(sent["code"], None)  # a code is worth something once
        verified = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest())
        if (
            asked is None
            or authorization != f"Basic {both}"
            or sent["redirect_uri"] != asked["redirect_uri"]
            or verified.rstrip(b"=").decode() != asked["code_challenge"]
        ):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": self.subject, "aud": CLIENT, "nonce": asked["nonce"]}
        claims |= {"iat": now, "exp": now + 300, "name": "Ada of the provider"}
        claims |= {"email": "ada@example.org", "preferred_username": "ada"}
        claims = self.change(claims)
        token = self.signed(claims) if self.sign is None else self.sign(claims)
        return 200, {"id_token": token, "access_token": "x", "token_type": "Bearer"}

    def signed(self, claims: dict[str, Any]) -> str:
        """A token as it should be."""
        return encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)


@contextmanager
def oidc_provider() -> Iterator[FakeProvider]:
    """A provider that answers on loopback."""
    provider = FakeProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._tell(b"")

        def do_POST(self) -> None:
            self._tell(self.rfile.read(int(self.headers["Content-Length"])))

        def _tell(self, body: bytes) -> None:
            status, answer = provider.answer(self.path, body, self.headers.get("Authorization", ""))
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", answer.decode())
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def query_of(path: str) -> dict[str, str]:
    """What an address asks."""
    return {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
