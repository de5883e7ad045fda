"""All breakages, one module for each part of docs/requirements.md."""

from __future__ import annotations

import importlib
import pkgutil

from tests.proof.breakage import Breakage


def all_breakages() -> list[Breakage]:
    """Return every breakage, sorted by the id of its requirement."""
    found: list[Breakage] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").BREAKAGES
    return sorted(found, key=lambda each: (each.spec[0], int(each.spec[1:])))
