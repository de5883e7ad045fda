"""The variables behind walls: of a sandbox, and of a command that only reads.

A sandbox gets those of the caller, without secrets and without ways out. What only reads gets a list of
harmless ones, and a search path on which nothing that a run could have written is found.
"""

from __future__ import annotations

from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "COOKIE", "PRIVATE", "WEBHOOK")
_SECRET_ENDS = ("_PW", "CREDS", "JWT", "BEARER", "MNEMONIC", "AUTHORIZATION", "SSHPASS", "CONNECTION_STRING")
# They lead to sockets and services that are absent inside, or to a network.
_AWAY = frozenset(
    """SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR
    DOCKER_HOST KUBECONFIG DATABASE_URL PGPASSFILE NETRC TMP TEMP""".split()
)
_PASSWORD = regex(r"://[^/\s@:]*:[^/\s@]+@|https?://[^/\s@]+@")  # in an address, or a token instead of a name
_LABELLED = regex(r"(?i)-----BEGIN|\bpass(?:word|wd|phrase)?=[^\s;&]")
_AWAY_BEGIN = ("DBUS_", "ERRANDS_", "AWS_", "AZURE_", "GOOGLE_APPLICATION_")


def read_only_variables(base: Mapping[str, str], cwd: str, errands_home: str) -> dict[str, str]:
    """Return the variables of a caller that a command which only reads inherits."""
    from errands.judge.evidence.local_workspace import own_home, trusted_path
    from errands.judge.shell.variables import inherited

    path = trusted_path(cwd, base, distrusted=errands_home)
    return {**inherited(base, own_home=own_home()), "PATH": path}


def inner_variables(base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a caller that a sandbox may see; what a task adds itself is not left out."""
    found = {name: value for name, value in base.items() if not _is_left_out(name.upper(), value)}
    return {**found, "TMPDIR": "/tmp"}  # it has one of its own; another place would not exist there


def _is_left_out(name: str, value: str) -> bool:
    from errands.model.text.secrets import SHAPES, WORDS, is_credential

    return (
        name in _AWAY
        or name.startswith(_AWAY_BEGIN)
        or name.endswith("_PROXY")
        or any(word in name for word in _SECRET)
        or name.endswith(_SECRET_ENDS)
        or is_credential(name, value)
        or _PASSWORD.search(value) is not None
        or _LABELLED.search(value) is not None
        # Only of the shapes that begin like something in it: masking each value would take 4 ms.
        or any(start in value and regex(shape).search(value) for _, start, shape in (*SHAPES, *WORDS))
    )
