"""The variables of a sandbox: those of the caller, without secrets and without ways out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "COOKIE", "PRIVATE")
# They lead to sockets and services that are absent inside, or to a network.
_AWAY = frozenset(
    """SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR
    DOCKER_HOST KUBECONFIG DATABASE_URL PGPASSFILE NETRC""".split()
)
_AWAY_BEGIN = ("DBUS_", "ERRANDS_", "AWS_", "AZURE_", "GOOGLE_APPLICATION_")


def inner_variables(base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a caller that a sandbox may see; what a task adds itself is not left out."""
    return {name: value for name, value in base.items() if not _is_left_out(name.upper())}


def _is_left_out(name: str) -> bool:
    return (
        name in _AWAY
        or name.startswith(_AWAY_BEGIN)
        or name.endswith("_PROXY")
        or any(word in name for word in _SECRET)
    )
