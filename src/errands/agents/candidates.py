"""Candidates: the agents that could be set up on this machine, found without asking any model.

A model on this machine comes first: it costs nothing, and nothing leaves the machine. Then come the programs
that the person is logged in to, then the keys in the environment.
"""

from __future__ import annotations

import json
import os
import shutil

from errands.agents.readiness import ready
from errands.http import request
from errands.model.agent.candidate import Candidate
from errands.model.errors import ErrandsError
from errands.model.record import evolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

WITHIN = 1.0  # seconds for Ollama to answer
LONGEST = 16 << 20  # bytes of an answer; a machine may have many models
OLLAMA = "http://127.0.0.1:11434"
# The variable with a key, whose it is, and the model to begin with.
KEYS = (
    ("ANTHROPIC_API_KEY", "Anthropic", "anthropic:claude-sonnet-4-5"),
    ("OPENAI_API_KEY", "OpenAI", "openai:gpt-5.1"),
    ("GEMINI_API_KEY", "Google", "google:gemini-2.5-pro"),
    ("GOOGLE_API_KEY", "Google", "google:gemini-2.5-pro"),
    ("OPENROUTER_API_KEY", "OpenRouter", "openrouter:anthropic/claude-sonnet-4-5"),
    ("MISTRAL_API_KEY", "Mistral", "mistral:mistral-large-latest"),
    ("GROQ_API_KEY", "Groq", "groq:openai/gpt-oss-120b"),
    ("DEEPSEEK_API_KEY", "DeepSeek", "deepseek:deepseek-chat"),
)


def candidates(environ: Mapping[str, str]) -> list[Candidate]:
    """List the agents that could be set up here, the first to choose first."""
    found = [*_ollama(environ), *_programs(environ), *_keys(environ)]
    return sorted((_checked(each) for each in found), key=lambda each: bool(each.trouble))


def _checked(candidate: Candidate) -> Candidate:
    try:
        ready(candidate.agent, candidate.settings)
    except ErrandsError as error:
        return evolve(candidate, trouble=str(error))
    return candidate


def _ollama(environ: Mapping[str, str]) -> Iterator[Candidate]:
    at = (environ.get("OLLAMA_BASE_URL") or "").removesuffix("/v1").rstrip("/") or OLLAMA
    try:
        models = _read(f"{at}/api/tags").get("models") or []
    except (OSError, ValueError):
        return
    names = [str(each["name"]) for each in models if isinstance(each, dict) and "name" in each]
    able = [each for each in names if "tools" in _capabilities(at, each)]
    if able:
        yield Candidate(
            name="ollama",
            agent="builtin",
            found=f"Ollama at {at}, with the model {able[0]}; nothing leaves this machine",
            settings={"model": f"ollama:{able[0]}"},
        )
    else:
        has = f"none of its models ({', '.join(names)}) can use tools" if names else "it has no model"
        yield Candidate(
            name="ollama",
            agent="builtin",
            found=f"Ollama at {at}",
            settings={"model": "ollama:qwen3"},
            trouble=f"{has}; get one with `ollama pull qwen3`",
        )


def _capabilities(at: str, model: str) -> list[str]:
    try:
        said = _read(f"{at}/api/show", {"model": model}).get("capabilities") or ["tools"]
    except (OSError, ValueError):
        return []
    return [str(each) for each in said]


def _read(url: str, body: Mapping[str, str] | None = None) -> dict[str, Any]:
    content = None if body is None else json.dumps(body).encode()
    method = "GET" if content is None else "POST"
    answer = request(method, url, headers={}, body=content, timeout=WITHIN, longest=LONGEST)
    found = answer.json()
    if answer.code != 200 or not isinstance(found, dict):
        raise ValueError(url)
    return found


def _programs(environ: Mapping[str, str]) -> Iterator[Candidate]:
    path = environ.get("PATH", os.defpath)
    for name, title in (("claude", "Claude Code"), ("codex", "Codex"), ("opencode", "OpenCode")):
        program = shutil.which(name, path=path)
        if program is None:
            continue
        said = f"{title}, {program}, with its own login and model"
        if name == "opencode":
            # Without a server to be started first, as the backend `opencode` needs one.
            settings = {"backend": "acp", "command": [program, "acp"]}
            yield Candidate(name=name, agent="opencode-acp", found=said, settings=settings)
        else:
            yield Candidate(name=name, agent=name, found=said)


def _keys(environ: Mapping[str, str]) -> Iterator[Candidate]:
    seen: set[str] = set()
    for variable, whose, model in KEYS:
        provider = model.partition(":")[0]
        if environ.get(variable) and provider not in seen:
            seen.add(provider)
            found = f"a key of {whose} in {variable}, which pays for the model {model}"
            yield Candidate(name=provider, agent="builtin", found=found, settings={"model": model})
