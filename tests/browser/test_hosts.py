"""The hosts of the fleet on the first screen, where the home belongs to one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import WITHIN, Windows
from tests.browser.test_looks import AXE, barriers
from tests.frontends.web.server import WebServer
from tests.postgres import Server

pytestmark = pytest.mark.spec("X12")
expect.set_options(timeout=WITHIN)
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The name of an empty database."""
    name = postgres.create_database()
    yield name
    postgres.drop_database(name)


def test_the_first_screen_shows_the_hosts_of_the_fleet_and_says_when_it_cannot_ask_them(
    windows: Windows, web: WebServer, postgres: Server, database: str
) -> None:
    page = windows.open("/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/hosts" in request.url else None)
    expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    hosts = page.get_by_role("region", name="Hosts")
    expect(hosts).to_have_count(0)
    assert asked == []

    web.errands("host", "join", postgres.url(database), "--name", "laptop", "--slots", "0")
    its = f"'id-big', 'big', array['gpu', '{HOSTILE}'], 4, '9.8.7', 'boot-1'"
    postgres.execute(f"select fleet.join({its})", database=database)
    page.reload()
    for text in ("big", "0 of 4", "up", "gpu", HOSTILE, "seen", "9.8.7"):
        expect(hosts).to_contain_text(text)

    fleet = web.home / "fleet.json"
    fleet.write_text(json.dumps({**json.loads(fleet.read_text()), "url": "env:NO_SUCH_FLEET"}))
    expect(hosts).to_contain_text("which is not set; set it")
    expect(hosts).to_contain_text("9.8.7")  # as the fleet said before
    expect(page.get_by_role("heading", name="Lanes")).to_be_visible()
    if AXE.exists():
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            for width in (360, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                assert barriers(page) == ([], 0), (theme, width)

    page.get_by_role("link", name="Their tasks").click()
    expect(page).to_have_url(re.compile("kind=remote"))
    expect(page.get_by_role("button", name="remote")).to_have_attribute("aria-pressed", "true")
