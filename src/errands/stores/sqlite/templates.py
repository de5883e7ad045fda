"""Templates: saved drafts, by name."""

from __future__ import annotations

from errands.model.errors import NotFound
from errands.stores.sqlite.columns import micros
from errands.stores.sqlite.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime


class TemplateRows(Table):
    def save_template(self, name: str, draft: str, *, now: datetime) -> None:
        self.db.write("INSERT OR REPLACE INTO templates VALUES (?, ?, ?)", (name, draft, micros(now)))

    def template(self, name: str) -> str:
        rows = self.db.read("SELECT draft FROM templates WHERE name = ?", (name,))
        if not rows:
            raise NotFound(f"there is no template {name!r}; `errands template ls` shows those there are")
        return str(rows[0][0])

    def templates(self) -> dict[str, str]:
        return dict(self.db.read("SELECT name, draft FROM templates ORDER BY name"))

    def remove_template(self, name: str) -> None:
        if not self.db.write("DELETE FROM templates WHERE name = ?", (name,)).rowcount:
            raise NotFound(f"there is no template {name!r}; `errands template ls` shows those there are")
