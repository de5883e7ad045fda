"""Absence: what is said when what stands behind an agent is not there, each with what to do about it."""

from __future__ import annotations

# How the programs that people mean are installed.
_INSTALLED_BY = {
    "claude": "npm install -g @anthropic-ai/claude-code",
    "opencode": "npm install -g opencode-ai",
}
_SETTINGS = "`errands config show` tells its settings"
OLLAMA = (
    "start Ollama with `ollama serve` (it is at https://ollama.com/download), or set `url` of this agent, or "
    "OLLAMA_BASE_URL, to where it is"
)
OPENCODE = (
    "start it with `opencode serve` (it comes with `npm install -g opencode-ai`), or set `url` of this agent "
    "to where it is"
)
SERVER = "start the server, or set `url` of this agent to where it is"


def no_program(program: str) -> str:
    install = _INSTALLED_BY.get(program.rpartition("/")[2])
    how = f"install it with `{install}`" if install else "install it"
    return f"there is no such program; {how}, or name another with `command` of this agent; {_SETTINGS}"


def no_server(advice: str) -> str:
    return f"nobody listens there; {advice}; {_SETTINGS}"


def no_key(variable: str) -> str:
    return f"the variable {variable} is not set; set it, or name the one that has the key with `key_env`"
