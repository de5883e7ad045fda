"""Mask secrets in the texts of tasks; the engine is only asked where there may be one."""

from __future__ import annotations

from errands.model.errors import NotFound, StoreUnreadable
from errands.model.text.secrets import is_credential, may_have_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from errands.engine.core import EngineCore


class TextMask:
    """Masks the texts of many tasks; a command often contains the value of a variable."""

    def __init__(self, engine: EngineCore, environ: Mapping[str, str]) -> None:
        self._engine = engine
        self._values = [value.strip() for name, value in environ.items() if is_credential(name, value)]

    def text(self, task_id: str, text: str) -> str:
        if not may_have_secret(text) and not any(value in text for value in self._values):
            return text
        from errands.model.text.mask import Mask

        try:
            mask = self._engine.mask(task_id)
        except (NotFound, StoreUnreadable):  # cleared meanwhile, or damaged
            mask = Mask({})
        return mask.text(text)
