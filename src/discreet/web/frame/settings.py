"""The settings of the pages."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from ...errors import InvalidInput, named
from ...strict_json import read_json

#: The environment variable that passes the settings to the server.
VARIABLE = "DISCREET_PAGES"

#: Host names that only this computer can use.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class PageSettings:
    """What the pages are started with.

    Attributes
    ----------
    hosts
        The host names, with ports, that the pages answer to; links show the first one.
    public_url
        The address at which browsers see the pages, where a proxy ends TLS; links have it instead.
    link_file
        The file that holds the link, for its owner alone; without one it is printed.
    ledgers
        The ledgers that they show and spend from.
    data
        The addresses of data that may be queried.
    out
        The folder that bundles are written into.
    datasets
        Files that declare datasets that may be queried.
    """

    hosts: tuple[str, ...]
    ledgers: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    out: str = "releases"
    public_url: str | None = None
    link_file: str | None = None
    datasets: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """The address of the pages."""
        return self.public_url or f"http://{self.hosts[0]}"

    def to_environment(self) -> dict[str, str]:
        """Return the settings as an environment variable of the server."""
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> PageSettings:
        """Read the settings from the environment of the server."""
        fields = read_json(environment[VARIABLE], VARIABLE)
        return cls(**fields | {name: tuple(fields[name]) for name in ("hosts", "ledgers", "data", "datasets")})


def host_names(host: str, port: int, public_url: str | None = None) -> tuple[str, ...]:
    """Return the host names, with ports, that pages answer to: first the one they listen on.

    A proxy passes on either the public name or the one by which it reaches this server.

    >>> host_names("::1", 80)
    ('[::1]:80', '127.0.0.1:80', 'localhost:80')
    >>> host_names("127.0.0.1", 80, "https://survey.example")[3:]
    ('survey.example', 'survey.example:443')
    """
    literal = f"[{host}]" if ":" in host else host
    names = tuple(f"{name}:{port}" for name in dict.fromkeys((literal, *LOOPBACK)))
    if public_url is None:
        return names
    public = urlsplit(public_url)
    return (*names, public.netloc) if public.port else (*names, public.netloc, f"{public.netloc}:443")


def read_public_url(text: str) -> str:
    """Read the address at which browsers see the pages, and return it as browsers write it in ``Origin``.

    >>> read_public_url("https://Survey.example:443/"), read_public_url("https://Büro.example:8443")
    ('https://survey.example', 'https://xn--bro-hoa.example:8443')
    """
    try:
        parts = urlsplit(text.replace("Σ", "σ"))  # at the end of a word Python's lower case is ς
        name, port = _ascii_name(parts.hostname or ""), parts.port
    except ValueError:  # neither a port nor a name
        name, port = "", None
    if not re.fullmatch(r"https://[^/?#@\s]+/?", text, re.IGNORECASE) or not re.fullmatch(r"[\w.:-]+", name):
        raise InvalidInput(
            f"{named('public_url')} must be an https address without a path.",
            "Give what browsers have in their address bar: https://survey.example",
            argument="public_url", given=text,
        )  # fmt: skip
    host = f"[{name}]" if ":" in name else name
    return f"https://{host}" if port in (None, 443) else f"https://{host}:{port}"


def _ascii_name(name: str) -> str:
    """Return a host's name as browsers write it in ``Origin``.

    They follow the newer rules for international names (UTS #46), in which ß and ς are separate letters; Python's
    codec follows those of 2003, which write them as ss and σ: the name of another host.

    >>> _ascii_name("straße.example"), _ascii_name("strasse.example")
    ('xn--strae-oqa.example', 'strasse.example')
    """
    labels = [_ascii_label(label) if set(label) & set("ßς") else label for label in re.split("[.。．｡]", name)]
    return ".".join(labels).encode("idna").decode()


def _ascii_label(label: str) -> str:
    normal = unicodedata.normalize("NFKC", label)  # lower case already
    return f"xn--{normal.encode('punycode').decode()}"


def is_loopback(host: str) -> bool:
    """Return True if only this computer can reach it.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
