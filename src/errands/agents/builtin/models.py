"""Models: created from the settings.

A name with a provider's prefix, such as `anthropic:claude-sonnet-4-5`, means that provider, with its own way
to find credentials. Any other name is a model of the server at `url`, which speaks OpenAI's chat completions;
without a `url` it is one of the Ollama on this machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from errands.config.secret import read_secret
from errands.model.agent.install_hints import OLLAMA, SERVER, no_key, no_server
from errands.model.errors import AgentError, BadValue

_OLLAMA = "http://127.0.0.1:11434/v1"
_LONGEST = 200  # characters of what a server says about an error


def model(settings: Mapping[str, Any]) -> Model:
    """Create a model from `model`, `url` and `key`, which says where the key is."""
    name = settings.get("model")
    if not name:
        raise AgentError(
            "the built-in agent has no model; name one in your configuration, for example "
            '[agents.builtin] model = "ollama:qwen3", or use --agent offline'
        )
    url, key = settings.get("url"), _key(settings.get("key"))
    if not has_provider(name):
        name = f"{'openai-chat' if url else 'ollama'}:{name}"

    def make(provider: str) -> Provider[Any]:
        at = url or (os.environ.get("OLLAMA_BASE_URL") or _OLLAMA if provider == "ollama" else None)
        if at is None and key is None:
            return infer_provider(provider)
        kind: Any = infer_provider_class(provider)
        if at is None:
            return cast("Provider[Any]", kind(api_key=key))
        # Never the key from the environment: it belongs to the provider, not to this address.
        return cast("Provider[Any]", kind(base_url=at, api_key=key or "none"))

    try:
        made = infer_model(name, make)
    except (UserError, ImportError, TypeError, ValueError) as error:
        raise AgentError(f"the model {name!r} cannot be used: {_missing(error)}") from error
    client: Any = getattr(made, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0  # we retry ourselves, a known number of times
    return made


def _key(place: str | None) -> str | None:
    try:
        return None if place is None else read_secret(place)
    except BadValue as error:
        raise AgentError(f"the key of the model: {error}") from error


def _missing(error: Exception) -> str:
    """Explain what a model lacks, a key or a library; the library's own message is about its classes."""
    said = str(error)
    if isinstance(error, UserError) and (found := re.search(r"`([A-Z][A-Z0-9_]*_(?:KEY|TOKEN))`", said)):
        return no_key(found[1])
    if isinstance(error, ImportError) and (found := re.search(r'pip install "([^"]+)"', said)):
        return f"its library is not installed; install it with: pip install '{found[1]}'"
    return said


def absence(model: Model, error: BaseException | None) -> str:
    """Explain what to do if a model's server, or the model on it, is missing; empty if neither is."""
    is_ollama, place = model.system == "ollama", (model.base_url or "").rstrip("/")
    if is_ollama and isinstance(error, ModelHTTPError) and error.status_code == 404:
        name = model.model_name
        return f"{place} has no such model; get it with `ollama pull {name}`, or name another one"
    # The providers' libraries differ, but agree on the name of a failed connection.
    while error is not None and type(error).__name__ != "ConnectError":
        error = error.__cause__
    return "" if error is None else f"{place}: {no_server(OLLAMA if is_ollama else SERVER)}"


def refusal(error: BaseException) -> str:
    """Describe how a server refused a request: the code, and the beginning of its message."""
    if not isinstance(error, ModelHTTPError):
        return ""
    try:
        meant = f" ({HTTPStatus(error.status_code).phrase})"
    except ValueError:
        meant = ""
    said: object = error.body
    for key in ("error", "message"):  # as most servers have it
        if isinstance(said, dict) and key in said:
            said = said[key]
    words = " ".join(str(said or "").split())
    words = f"{words[:_LONGEST]}..." if len(words) > _LONGEST else words
    return f"the server answered {error.status_code}{meant}" + (f": {words}" if words else "")


def has_provider(name: str) -> bool:
    """Return whether a model's name starts with a provider; `qwen3:8b` does not."""
    try:
        infer_provider_class(name.partition(":")[0] if ":" in name else "")
    except ValueError:
        return False
    except ImportError:
        pass  # a provider whose library is missing, which creating it reports
    return True
