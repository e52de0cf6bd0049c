"""Sign-in with OpenID Connect.

Authorization code flow with PKCE. State, nonce and verifier are derived from a secret in a cookie,
so that a response is valid only for the browser, and the session, that made the request. A token
must be signed by the provider, for this site and for this authorization request.
"""

import base64
import hashlib
import hmac
import json
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from threading import Lock
from time import monotonic
from typing import IO, Final
from urllib.parse import quote, urlencode, urlsplit

from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry, decode

from nodulebench.core.json_types import JsonObject
from nodulebench.web.portal.accounts.credentials import digest_of, is_same_secret, new_secret

KNOWN: Final = "/.well-known/openid-configuration"
RETURN: Final = "/sign-in/oidc/return"
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "EdDSA",
)
"""Signatures with a private key of the provider; never with a shared secret, and never none."""
ASKED: Final = "openid profile"
MAX_BYTES, WAITS_S, LEEWAY_S, KNOWN_S, KEYS_S = 256 * 1024, 10.0, 60, 3600.0, 60.0
MAX_SUBJECT = 255
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class OidcError(Exception):
    """A response of the provider, real or pretended, that is not valid; with the reason."""


class ProviderUnreachableError(OidcError):
    """The provider does not answer."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A trusted provider, and how the site is registered there."""

    issuer: str
    client: str
    secret: str = ""
    """Empty: a public client, protected by PKCE only."""
    name: str = ""
    """Display name; empty: the host name."""

    @property
    def shown(self) -> str:
        return self.name or urlsplit(self.issuer).hostname or self.issuer


@dataclass(frozen=True, slots=True)
class ProviderPerson:
    """A user of the provider; only issuer and subject together identify them."""

    issuer: str
    subject: str
    name: str


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """Values that bind a response to the browser that asked, all derived from one secret."""

    secret: str
    session: str = ""
    """The secret of the session, if someone is signed in."""

    def _made(self, what: str) -> str:
        key = (digest_of(self.secret) + self.session).encode()
        digest = hmac.new(key, what.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    @property
    def state(self) -> str:
        """Returned with the response."""
        return self._made("state")

    @property
    def nonce(self) -> str:
        """Contained in the signed token."""
        return self._made("nonce")

    @property
    def verifier(self) -> str:
        """Proves that the token is requested by the browser that began (RFC 7636)."""
        return self._made("verifier")

    @property
    def challenge(self) -> str:
        """The digest of the verifier, which the provider receives first."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def new_authorization_request(session: str) -> AuthorizationRequest:
    return AuthorizationRequest(new_secret(), session)


@dataclass
class Oidc:
    """The OpenID Connect client; reads the provider's configuration on first use."""

    provider: Provider
    address: str
    _lock: Lock = field(default_factory=Lock)
    _stored_configuration: JsonObject = field(default_factory=dict)
    _configuration_at: float = float("-inf")
    _keys: KeySet | None = None
    _keys_at: float = float("-inf")

    def authorization_url(self, authorization: AuthorizationRequest) -> str:
        asked = {
            "response_type": "code",
            "client_id": self.provider.client,
            "redirect_uri": self.address + RETURN,
            "scope": ASKED,
            "state": authorization.state,
            "nonce": authorization.nonce,
            "code_challenge": authorization.challenge,
            "code_challenge_method": "S256",
        }
        at = self._endpoint("authorization_endpoint")
        return f"{at}{'&' if urlsplit(at).query else '?'}{urlencode(asked)}"

    def identify(
        self, authorization: AuthorizationRequest, answer: dict[str, str]
    ) -> ProviderPerson:
        """The user of the provider; OidcError if any part of the returned query is not valid."""
        if not is_same_secret(answer.get("state", ""), authorization.state):
            raise OidcError("state")
        known = self._configuration()
        issuer = answer.get("iss", "")
        names_issuer = bool(known.get("authorization_response_iss_parameter_supported"))
        if issuer != self.provider.issuer and (issuer or names_issuer):
            raise OidcError("issuer of the answer")
        if not answer.get("code"):
            raise OidcError(f"no code: {answer.get('error', '')[:80]}")
        token = self._fetch_tokens(answer["code"], authorization)
        return self._person(str(token.get("id_token", "")), authorization)

    def _person(self, token: str, authorization: AuthorizationRequest) -> ProviderPerson:
        issuer, client = self.provider.issuer, self.provider.client
        wanted = JWTClaimsRegistry(
            leeway=LEEWAY_S,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": client},
            nonce={"essential": True, "value": authorization.nonce},
            **{name: {"essential": True} for name in ("sub", "exp", "iat")},  # type: ignore[arg-type]
        )
        try:
            claims = self._verified_claims(token)
            wanted.validate(claims)
        except (JoseError, ValueError, TypeError) as error:
            raise OidcError(f"token: {type(error).__name__}") from error
        others = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        if claims.get("azp", client if len(others) == 1 else "") != client:
            raise OidcError("token: made for another client")
        if not isinstance(claims["nonce"], str) or len(claims["sub"]) > MAX_SUBJECT:
            raise OidcError("token: form")
        return ProviderPerson(issuer, claims["sub"], str(claims.get("name") or ""))

    def _verified_claims(self, token: str) -> JsonObject:
        try:
            return dict(decode(token, self._key_set(), algorithms=ALGORITHMS).claims)
        except InvalidKeyIdError:  # the provider may have new keys
            return dict(decode(token, self._key_set(is_new=True), algorithms=ALGORITHMS).claims)

    def _key_set(self, *, is_new: bool = False) -> KeySet:
        """The keys of the provider; refreshed at most once a minute."""
        with self._lock:
            age = monotonic() - self._keys_at
            if self._keys is None or age > KNOWN_S or (is_new and age > KEYS_S):
                keys = self._fetch_json(self._endpoint("jwks_uri"))
                self._keys, self._keys_at = KeySet.import_key_set(keys), monotonic()  # type: ignore[arg-type]
            return self._keys

    def _fetch_tokens(self, code: str, authorization: AuthorizationRequest) -> JsonObject:
        """Exchange a code for tokens, which works once."""
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.address + RETURN,
            "client_id": self.provider.client,
            "code_verifier": authorization.verifier,
        }
        headers = {}
        ways = self._configuration().get(
            "token_endpoint_auth_methods_supported", ["client_secret_basic"]
        )
        if self.provider.secret and "client_secret_basic" in ways:
            both = f"{quote(self.provider.client, '')}:{quote(self.provider.secret, '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        elif self.provider.secret:
            sent["client_secret"] = self.provider.secret
        return self._fetch_json(self._endpoint("token_endpoint"), urlencode(sent).encode(), headers)

    def _endpoint(self, name: str) -> str:
        address = self._configuration().get(name)
        if not isinstance(address, str) or not is_safe(address, self.provider.issuer):
            raise OidcError(f"{name} of the provider")
        return address

    def _configuration(self) -> JsonObject:
        """The configuration of the provider; its issuer must be exactly the trusted one."""
        if monotonic() - self._configuration_at > KNOWN_S:
            configuration = self._fetch_json(self.provider.issuer.rstrip("/") + KNOWN)
            if configuration.get("issuer") != self.provider.issuer:
                raise OidcError("issuer of the provider")
            self._stored_configuration, self._configuration_at = configuration, monotonic()
        return self._stored_configuration

    def _fetch_json(
        self, address: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> JsonObject:
        """A JSON object from a provider URL; without redirects, limited in size and time."""
        all_headers = {"Accept": "application/json", **(headers or {})}
        request = urllib.request.Request(address, body, all_headers)  # noqa: S310 - is_safe
        try:
            with _OPENER.open(request, timeout=WAITS_S) as answer:
                content: bytes = answer.read(MAX_BYTES + 1)
        except (OSError, HTTPException) as error:
            raise ProviderUnreachableError(
                f"{urlsplit(address).path}: {type(error).__name__}"
            ) from error
        try:
            document = json.loads(content) if len(content) <= MAX_BYTES else None
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise OidcError(f"answer of {urlsplit(address).path}")
        return document


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that the response comes from the requested host."""

    def redirect_request(
        self,
        req: urllib.request.Request,  # noqa: ARG002
        fp: IO[bytes],  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        return


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


def is_safe(address: str, issuer: str = "") -> bool:
    """Whether a URL uses https; a provider on this machine may use http."""
    parts, home = urlsplit(address), urlsplit(issuer or address)
    is_here = parts.hostname in LOOPBACK and home.hostname in LOOPBACK
    return parts.scheme == "https" or (parts.scheme == "http" and is_here)
