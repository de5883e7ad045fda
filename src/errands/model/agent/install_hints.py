"""Install hints: what to do when the program, server or key of an agent is missing."""

from __future__ import annotations

# How to install well-known programs.
INSTALLED_BY = {
    "claude": "npm install -g @anthropic-ai/claude-code",
    "codex": "npm install -g @openai/codex",
    "opencode": "npm install -g opencode-ai",
}
_SETTINGS = "`errands config show` lists its settings"
OLLAMA = (
    "start Ollama with `ollama serve` (from https://ollama.com/download), or set `url` of this agent, or "
    "OLLAMA_BASE_URL, to its address"
)
OPENCODE = (
    "start it with `opencode serve` (from `npm install -g opencode-ai`), or set `url` of this agent to its "
    "address"
)
SERVER = "start the server, or set `url` of this agent to its address"


def no_program(program: str) -> str:
    install = INSTALLED_BY.get(program.rpartition("/")[2])
    how = f"install it with `{install}`" if install else "install it"
    return f"program not found; {how}, or set `command` of this agent to another; {_SETTINGS}"


def no_server(advice: str) -> str:
    return f"nothing is listening there; {advice}; {_SETTINGS}"


def no_key(variable: str) -> str:
    return f"the variable {variable} is not set; set it, or say with `key` where the key is"
