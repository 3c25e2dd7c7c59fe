"""One exchange with a server over HTTP: bounded in time and size, and every failure in one sentence."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from ...knowledge.errors import VgoError
from .language_model import ModelFailed, ModelGone

MOST_BYTES = 1 << 20
"""Of one answer: a decision has some hundred."""
TOLD = 200
"""Characters of what a server says of an error."""


class Site:
    """Where a server is, and the key that it asks for; the key is sent there and told nowhere."""

    def __init__(self, address: str, key: str) -> None:
        self._address, self._key = address, key
        self._verify = ssl.create_default_context() if address.startswith("https:") else False
        self._proxies = not _is_here(urlsplit(address).hostname or "")
        """Whether the environment may name a proxy; there is none between a machine and itself."""

    def fetch(self, path: str, body: Mapping[str, Any] | None, seconds: float) -> bytes:
        """Send a GET, or a POST with a body; raises ModelFailed for anything but a whole answer in time.

        It runs an event loop of its own, since only that ends a server which sends a byte now and then.
        """
        try:
            return asyncio.run(self._exchange(path, body, seconds))
        except TimeoutError as error:
            raise ModelGone(f"no answer within {seconds:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise ModelGone(f"the server cannot be talked to: {self._plain(str(error)) or 'it hung up'}") from error

    async def _exchange(self, path: str, body: Mapping[str, Any] | None, seconds: float) -> bytes:
        headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {self._key}"} if self._key else {})
        method, url = "POST" if body is not None else "GET", self._address + path
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(headers=headers, verify=self._verify, trust_env=self._proxies, timeout=None) as client,
            client.stream(method, url, json=body) as response,
        ):
            received = b""
            async for piece in response.aiter_raw():
                received += piece
                if len(received) > MOST_BYTES:
                    raise ModelFailed(f"the server answers more than {MOST_BYTES >> 20} MB")
            if response.status_code != httpx.codes.OK:
                said = self._plain(_message(received))
                raise ModelFailed(
                    f"the server answers {response.status_code} to {path}" + (f": {said}" if said else "")
                )
            return received

    def _plain(self, said: str) -> str:
        """Make one bounded line without the key."""
        kept = said.replace(self._key, "[key]") if self._key else said
        return " ".join("".join(char if char.isprintable() else " " for char in kept).split())[:TOLD]


def checked_address(spec: str) -> str:
    """Check the address of a server, and write it without `/v1`; raises VgoError for one that cannot be meant."""
    try:
        parts = urlsplit(spec)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise VgoError(f"{spec} is no address ({error}); give one such as http://127.0.0.1:8080.") from error
    if not host or any(char.isspace() or not char.isprintable() for char in spec):
        raise VgoError(f"{spec} is no address; give one such as http://127.0.0.1:8080.")
    if parts.username is not None or parts.password is not None or parts.query:
        raise VgoError(
            f"The address of {host} holds a user, a password or a query, which would be recorded; "
            "give it without, and a key in VGO_AGENT_API_KEY."
        )
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    chosen = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme.lower()}://{parts.netloc}{path}{chosen}"


def _message(received: bytes) -> str:
    """Find what a server says of an error, where it says it as OpenAI's does; a page in HTML tells nothing."""
    try:
        said = json.loads(received)
    except (ValueError, RecursionError):
        return ""
    error = said.get("error", said.get("detail", "")) if isinstance(said, dict) else ""
    return str(error.get("message", "") if isinstance(error, dict) else error)


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
