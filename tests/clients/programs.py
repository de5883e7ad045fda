"""Where the real programs are, and what they need to run with the model for tests and without a network."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

VERSION = "1.18.33"  # of OpenCode
WITHIN = 120.0  # seconds for a program to answer
PLACE = Path(__file__).parents[2] / "tools" / "node_modules" / ".bin"


def program(name: str) -> str:
    """Return a program; skip the test loudly if it is not installed, which fails the run in CI."""
    path = PLACE / name
    if not path.exists():
        pytest.skip(f"{name} is not installed: run tools/programs")
    return str(path)


def ran(words: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], within: float = WITHIN) -> str:
    """Run a program to its end and return its output; one that fails, fails the test with what it said."""
    done = subprocess.run(
        words,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def claude_env(home: Path, url: str) -> dict[str, str]:
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "API_TIMEOUT_MS": "2000",
    }


def have_types(folder: Path) -> None:
    """Fake the types for plugins, which OpenCode would download first; offline, that takes 70 s."""
    package = {"name": "@opencode-ai/plugin", "version": VERSION}
    wanted = {"dependencies": {package["name"]: VERSION}}
    found = {"": wanted, f"node_modules/{package['name']}": {"version": VERSION}}
    place = folder / "node_modules" / package["name"]
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text(json.dumps(package))
    (folder / "package.json").write_text(json.dumps(wanted))
    (folder / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": found}))


def opencode_env(home: Path, url: str) -> dict[str, str]:
    """Write a configuration with the model as its only provider; return the environment that names it."""
    home.mkdir(parents=True, exist_ok=True)
    model = {"name": "fake", "limit": {"context": 200_000, "output": 4000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",  # it is part of the program
        "name": "Fake",
        "options": {"baseURL": url, "apiKey": "dummy"},
        "models": {"fake": model},
    }
    config = {
        "model": "fake/fake",
        "small_model": "fake/fake",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
    }
    path = home / "opencode.json"
    path.write_text(json.dumps(config))
    have_types(home / "config" / "opencode")
    switches = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {
        "HOME": str(home),
        **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")},
        "OPENCODE_CONFIG": str(path),
        **{f"OPENCODE_DISABLE_{name}": "1" for name in switches},
    }


def codex_env(home: Path, url: str) -> dict[str, str]:
    """Write a configuration with the model as its only provider; return the environment that names it."""
    place = home / ".codex"
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.toml").write_text(
        'model = "fake"\nmodel_provider = "fake"\n'
        f'[model_providers.fake]\nname = "Fake"\nbase_url = "{url}"\nwire_api = "responses"\n'
        "request_max_retries = 1\nstream_max_retries = 1\n"
    )
    return {"HOME": str(home), "CODEX_HOME": str(place)}
