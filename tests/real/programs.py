"""Where the real programs are, and what they need to run with the model for tests and without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

PLACE = Path(__file__).parents[2] / "tools" / "node_modules" / ".bin"


def program(name: str) -> str:
    """Find a program; the test is skipped, loudly, when it is not installed, and in CI that fails the run."""
    path = PLACE / name
    if not path.exists():
        pytest.skip(f"{name} is not installed: run tools/programs")
    return str(path)


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
