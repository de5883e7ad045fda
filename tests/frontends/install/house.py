"""A person's files and a project of theirs, to install into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from errands.frontends.install.installation import ClientInstallation


class House:
    """A person's files, and a project of theirs."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.project = place / "project"
        self.project.mkdir()
        self.environ = {"HOME": str(place / "home"), "XDG_CONFIG_HOME": str(place / "home" / ".config")}

    def installation(
        self, client: str, *, project: bool = False, dialect: str | None = None, trust: bool | None = None
    ) -> ClientInstallation:
        where = str(self.project) if project else None
        return ClientInstallation(client, environ=self.environ, project=where, dialect=dialect, trust=trust)

    def install(self, client: str, **options: Any) -> list[str]:
        """Install; return the changed files."""
        return self._carry_out(self.installation(client, **options), removing=False)

    def uninstall(self, client: str, **options: Any) -> list[str]:
        return self._carry_out(self.installation(client, **options), removing=True)

    def _carry_out(self, made: ClientInstallation, *, removing: bool) -> list[str]:
        changes = made.plan(removing=removing)
        made.carry_out()
        return [path for path, _ in changes]

    def file(self, name: str, text: str = "") -> Path:
        path = self.place / name
        if text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return path

    def content(self) -> dict[str, str]:
        """Every file with its text, and every directory with nothing in it, but for the project."""
        return {
            str(path.relative_to(self.place)): path.read_bytes().decode() if path.is_file() else "/"
            for path in sorted(self.place.rglob("*"))
            if path.is_file() or (path != self.project and not any(path.iterdir()))
        }
