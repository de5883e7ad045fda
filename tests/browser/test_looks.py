"""Every view in both themes, at the width of a phone and of a desk: accessible, and nothing sticks out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WITHIN, Windows
from tests.frontends.web.server import WebServer

pytestmark = pytest.mark.spec("X8")
expect.set_options(timeout=WITHIN)
AXE = Path(__file__).parents[2] / "tools" / "page" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """
async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .filter((each) => ["serious", "critical"].includes(each.impact))
  .map((each) => [each.id, each.nodes.slice(0, 5).map((node) => node.html.slice(0, 200))])
"""
_TOO_WIDE = (
    "() => document.scrollingElement.scrollWidth - Math.ceil(document.body.getBoundingClientRect().width)"
)
VIEWS = (
    "/", "/tasks", "/tasks?state=failed&text=none", "/timeline?window=15m", "/agents", "/schedules",
    "/notices",
    "/figures", "/new", "/new?kind=agent", "/settings", "/ask/{question}",
    "/tasks/{failed}", "/tasks/{failed}?tab=runs", "/tasks/{failed}?tab=trace", "/tasks/{failed}?tab=facts",
    "/tasks/{proposed}", "/tasks/{agent}", "/tasks/{recurring}?tab=schedule", "/tasks/not-there",
)  # fmt: skip


@pytest.fixture(scope="module")
def names(web: WebServer) -> dict[str, Any]:
    """Tasks of every kind, by what they are."""
    colours = "".join(
        f"\\033[{code}mcolour {code}\\033[0m " for code in (*range(30, 38), *range(90, 98), 41, 7)
    )
    proposed = web.propose("rm -rf /nowhere/x")
    agent = web.post("/api/tasks", {"prompt": "run `echo hi`"}).json["row"]["id"]
    return {
        "failed": web.run("--name", "fails", "--", "sh", "-c", f"printf '{colours}\\n'; exit 3"),
        "proposed": proposed,
        "question": web.get(f"/api/tasks/{proposed}").json["row"]["question"],
        "recurring": web.post("/api/tasks", {"command": "true", "every": "1h"}).json["row"]["id"],
        "agent": agent,
    }


def settled(page: Page) -> None:
    """Wait until a view has its content."""
    expect(page.locator("main")).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    page.wait_for_function("() => document.fonts.status === 'loaded'")


def barriers(page: Page) -> tuple[Any, int]:
    """Return what keeps people from using a view, and by how much it sticks out at the side."""
    page.evaluate(AXE.read_text())
    return page.evaluate(_RUN), max(page.evaluate(_TOO_WIDE), 0)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci --prefix tools/page")
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_has_a_serious_barrier_or_scrolls_sideways(
    windows: Windows, names: dict[str, Any], theme: str, width: int
) -> None:
    page = windows.open(
        "/", color_scheme=theme, viewport={"width": width, "height": 800}, reduced_motion="reduce"
    )
    found = {}
    for view in VIEWS:
        page.goto(view.format(**names))
        settled(page)
        seen = barriers(page)
        if seen != ([], 0):
            found[view] = seen
    assert found == {}, json.dumps(found, indent=1)
