"""A fresh machine for each test of an installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frontends.install.house import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)
