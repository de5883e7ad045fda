"""The tables `[agents.NAME]`: which settings each backend has, and what is wrong with them.

The backends themselves are not imported: some are not installed, and the others take a second to load.
"""

from __future__ import annotations

from errands.config.setting_kinds import is_number, wrong_setting
from errands.model.limits import BUDGETS
from errands.ports.plugin import AGENTS, installed
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from errands.config.setting_kinds import Kind


def _kinds(text: str) -> dict[str, Kind]:
    return dict(each.split(":") for each in text.split())  # type: ignore[return-value]


COMMON = _kinds("backend:text lane:text budget:budget")
BACKENDS = {
    "offline": _kinds(""),
    "builtin": _kinds(
        "model:text url:address key:secret escalate:model mcp:servers tries:count pause:seconds "
        "patience:seconds"
    ),
    "acp": _kinds("command:command env:variables meta:table patience:seconds model:text"),
    "opencode": _kinds(
        "url:address username:text password:secret agent:text model:text retries:count poll:seconds "
        "patience:seconds timeout:seconds takeover:switch"
    ),
    "claude": _kinds("command:command arguments:words env:variables model:text agent:text retries:count"),
    "codex": _kinds("command:command arguments:words env:variables model:text"),
    "command": _kinds(
        "preset:preset command:command arguments:words env:variables model:text agent:text retries:count"
    ),
}
# The providers whose models run elsewhere; any other name with a colon, such as qwen3:8b, is one of Ollama's.
REMOTE = frozenset(
    """
    alibaba anthropic azure azure-responses bedrock bedrock-mantle cerebras cohere crusoe deepseek elevenlabs
    fireworks gateway github github-copilot google google-cloud groq heroku huggingface litellm meta mistral
    moonshotai nebius openai openai-chat openai-chatgpt openai-codex openai-decisions openai-responses
    openrouter ovhcloud sambanova snowflake system-one together typesafe vercel vllm voyageai xai zai
    """.split()
)
_HERE = ("127.", "localhost", "[::1]", "0.0.0.0")
LOCAL = "local"  # the lane of the runs that share a model on this machine
# The setting that a backend cannot do without, and what to write.
_NEEDED = {
    "builtin": ("model", 'model = "qwen3:8b", or with a provider: "anthropic:claude-sonnet-4-5"'),
    "acp": ("command", 'command = ["opencode", "acp"]'),
}
_NOT_PLAIN = ("arguments", "agent", "retries")  # a plain program runs exactly its command, once
_MODEL = _kinds("model:text url:address key:secret")
_SERVER = _kinds("command:command env:variables url:address headers:variables")


def wrong(name: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every setting that does not exist or has a value of the wrong kind, with what to do.

    For a backend from another package only the common settings are known.
    """
    backend = settings.get("backend", name)
    known = BACKENDS.get(backend) if isinstance(backend, str) else {}
    for key, value in settings.items():
        kind = (COMMON | (known or {})).get(key)
        if backend == "command" and key in _NOT_PLAIN and _is_plain(settings):
            yield key, 'only the preset "claude" uses it; remove it, or add the words to `command`'
        elif kind is not None:
            yield from _wrong_value(key, kind, value)
        elif known is not None:
            yield key, _no_such_key({*COMMON, *known}, key, f"the backend {backend!r}")


def lacking(name: str, settings: Mapping[str, Any], lanes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield what keeps an agent from ever answering: an unknown backend or lane, no model or command."""
    backend = settings.get("backend", name)
    if backend not in BACKENDS and backend not in installed(AGENTS):
        near = did_you_mean(backend, BACKENDS)
        yield "backend", f"unknown backend {backend!r}{near}; write one of: {', '.join(BACKENDS)}"
    key, example = _NEEDED.get(backend, ("", ""))
    if key and not settings.get(key):
        yield key, f"is missing; write {example}"
    lane = settings.get("lane")
    if lane is not None and lane not in lanes:
        yield "lane", f"unknown lane {lane!r}{did_you_mean(lane, lanes)}; known: {', '.join(lanes)}"


def providers(backends: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the provider of every model as the name of a module; `qwen3:8b` seems to have one, too."""
    for settings in backends.values():
        second = settings.get("escalate")
        for model in (settings.get("model"), second.get("model") if isinstance(second, dict) else second):
            if isinstance(model, str) and ":" in model:
                yield model.partition(":")[0].replace("-", "_")


def library(backends: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List the modules that runs of built-in agents load; unknown names are harmless."""
    names = sorted({"openai", "ollama", *providers(backends)})
    parts = [f"pydantic_ai.{part}.{name}" for name in names for part in ("models", "providers")]
    return ["errands.bootstrap", "errands.engine.agents.agent_main", "errands.agents.builtin.prewarm", *parts]


def is_local(name: str, settings: Mapping[str, Any]) -> bool:
    """Return whether an agent's model runs on this machine, so that two runs at once would only be slower."""
    model = settings.get("model")
    if settings.get("backend", name) != "builtin" or not isinstance(model, str):
        return False
    if isinstance(url := settings.get("url"), str):
        return url.partition("://")[2].rpartition("@")[2].startswith(_HERE)
    return model.replace("/", ":").partition(":")[0] not in REMOTE


def lane_of(name: str, backends: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the lane of an agent's runs, unless a task names one."""
    settings = settings_of(name, backends)
    return str(settings.get("lane") or (LOCAL if is_local(name, settings) else "agent"))


def is_agent(name: str, backends: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether there is an agent of that name; `opencode/NAME` is OpenCode's own agent of that name."""
    base, slash, own = name.partition("/")
    if slash and (not own or not has_agents(settings_of(name, backends))):
        return False
    return base in backends or base in BACKENDS


def settings_of(agent: str, backends: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of an agent, its backend among them."""
    base = agent.partition("/")[0]
    return {"backend": base, **backends.get(base, {})}


def has_agents(settings: Mapping[str, Any]) -> bool:
    """Return whether a backend has agents of its own, chosen by name."""
    return settings["backend"] == "opencode" or is_claude(settings)


def is_claude(settings: Mapping[str, Any]) -> bool:
    backend = settings["backend"]
    return bool(backend == "claude" or (backend == "command" and not _is_plain(settings)))


def _is_plain(settings: Mapping[str, Any]) -> bool:
    return bool(settings.get("preset", "plain" if "command" in settings else "claude") == "plain")


def _wrong_value(key: str, kind: Kind, value: Any) -> Iterator[tuple[str, str]]:
    match kind:
        case "budget" if isinstance(value, dict):
            for name, amount in value.items():
                if name not in BUDGETS:
                    yield f"{key}.{name}", _no_such_key(BUDGETS, name, "a budget")
                elif not is_number(amount, int) or amount < 1:
                    yield f"{key}.{name}", f"{amount!r} is not a whole number of at least 1"
        case "model" if isinstance(value, dict):
            yield from _wrong_table(key, _MODEL, value, "a model")
        case "servers" if isinstance(value, dict):
            for name, server in value.items():
                path = f"{key}.{name}"
                if not isinstance(server, dict) or not (server.get("command") or server.get("url")):
                    yield path, "has neither a command nor a url; write one of them"
                else:
                    yield from _wrong_table(path, _SERVER, server, "an MCP server")
        case _ if advice := wrong_setting(kind, value):
            yield key, advice


def _wrong_table(
    path: str, known: Mapping[str, Kind], table: Mapping[str, Any], whose: str
) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if key not in known:
            yield f"{path}.{key}", _no_such_key(known, key, whose)
        elif advice := wrong_setting(known[key], value):
            yield f"{path}.{key}", advice


def _no_such_key(known: Any, key: str, whose: str) -> str:
    return f"{whose} has no such key{did_you_mean(key, known)}; there are: {', '.join(sorted(known))}"
