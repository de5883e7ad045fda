"""Where spans are sent, from the standard OpenTelemetry variables."""

from __future__ import annotations

from errands.model.errors import BadValue
from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "OTEL_EXPORTER_OTLP_"
_ENDPOINTS = (f"{_PREFIX}TRACES_ENDPOINT", f"{_PREFIX}ENDPOINT")
_TIMEOUT = 10.0  # seconds


@record
class Settings:
    url: str
    headers: Mapping[str, str]
    timeout: float
    resource: Mapping[str, str]


def is_on(environ: Mapping[str, str]) -> bool:
    if (
        environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or environ.get("OTEL_TRACES_EXPORTER") == "none"
    ):
        return False
    return any(environ.get(each) for each in _ENDPOINTS)


def read(environ: Mapping[str, str]) -> Settings:
    """Parse the variables; raise `BadValue` for one that is wrong."""
    protocol = _given(environ, "PROTOCOL")
    if protocol == "grpc":
        raise BadValue(
            f"{_PREFIX}PROTOCOL is grpc, which is not supported; set an HTTP endpoint, usually port 4318"
        )
    exact, base = (environ.get(each, "") for each in _ENDPOINTS)
    url = exact or f"{base.rstrip('/')}/v1/traces"
    if not url.startswith(("http://", "https://")):
        raise BadValue(
            f"{_ENDPOINTS[0] if exact else _ENDPOINTS[1]} must begin with http:// or https://: {url}"
        )
    timeout = _given(environ, "TIMEOUT")
    if timeout and not timeout.isdecimal():
        raise BadValue(f"{_PREFIX}TIMEOUT must be a number of milliseconds: {timeout!r}")
    resource = _pairs(environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    resource.setdefault("service.name", "errands")
    if environ.get("OTEL_SERVICE_NAME"):
        resource["service.name"] = environ["OTEL_SERVICE_NAME"]
    return Settings(
        url=url,
        headers=_pairs(_given(environ, "HEADERS")),
        timeout=int(timeout) / 1000 if timeout else _TIMEOUT,
        resource=resource,
    )


def _given(environ: Mapping[str, str], name: str) -> str:
    """Return the setting for traces, or the general one."""
    return environ.get(f"{_PREFIX}TRACES_{name}") or environ.get(f"{_PREFIX}{name}", "")


def _pairs(text: str) -> dict[str, str]:
    from urllib.parse import unquote

    pairs = (each.partition("=") for each in text.split(",") if "=" in each)
    return {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}
