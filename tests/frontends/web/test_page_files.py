"""The files of the page: libraries as npm has them, the keys of the terminal, and nothing that makes HTML."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from errands.frontends.tools.keys import KEYS
from errands.frontends.web import bundle, static
from errands.frontends.web.api.bodies import FORM
from errands.frontends.web.static import page_file

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "src/errands/frontends/web/page"
TOOLS = ROOT / "tools" / "page"
OURS = sorted(PAGE.glob("js/**/*.js"))
# Names of keys: here as browsers call them.
_NAMES = {
    "down": "ArrowDown",
    "up": "ArrowUp",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "escape": "Escape",
}

pytestmark = pytest.mark.spec("X8")


def test_the_libraries_have_the_versions_of_the_lock_and_their_licences() -> None:
    locked = json.loads((TOOLS / "package-lock.json").read_text())["packages"]
    licences = (PAGE / "vendor/LICENSES.txt").read_text()
    for name in ("preact", "htm"):
        version = locked[f"node_modules/{name}"]["version"]
        assert re.search(rf"^{name} {re.escape(version)}$", licences, re.MULTILINE), name
    assert "The MIT License" in licences
    assert "Apache License" in licences


@pytest.mark.skipif(not (TOOLS / "node_modules").is_dir(), reason="not installed: npm ci --prefix tools/page")
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
def test_the_libraries_are_copies() -> None:
    done = subprocess.run([ROOT / "tools/vendor", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_has_the_keys_of_the_terminal() -> None:
    found = re.findall(r'\[((?:"[^"]+"(?:, )?)+)\],\s*"(\w+)",\s*"(\w+)",', (PAGE / "js/keys.js").read_text())
    page = {(action, place): set(json.loads(f"[{keys}]")) for keys, action, place in found}
    terminal = {(key.action, key.place): {_NAMES.get(each, each) for each in key.keys} for key in KEYS}
    assert len(page.keys() & terminal.keys()) >= 30
    for (action, place), keys in page.items():
        if (action, place) in terminal:
            assert keys <= terminal[action, place], action
        else:  # what only the page does has a key that nothing else has
            assert not [other for other in terminal.values() if other & keys], action


@pytest.mark.parametrize(
    "word",
    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"],
)
def test_nothing_makes_html_of_text(word: str) -> None:
    assert OURS
    assert [str(each) for each in OURS if word in each.read_text()] == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    for path in [*OURS, *PAGE.glob("css/*.css"), PAGE / "index.html"]:
        assert not re.search(
            r"(https?:)?//[a-z0-9.-]+\.[a-z]{2,}",
            re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE),
        ), path


def test_the_page_is_small() -> None:
    """As it is sent, all of it; the licences are not part of what a browser reads."""
    sent = [page_file("/", "gzip")]
    for name in static.files():
        if name not in ("index.html", "vendor/LICENSES.txt"):
            sent.append(page_file(f"/page/{static.version()}/{name}", "gzip"))
    assert {each.headers.get("content-encoding") for each in sent} == {"gzip"}
    assert sum(len(each.body) for each in sent) <= 60_000


def test_every_module_and_style_sheet_is_in_the_bundle() -> None:
    script, styles = (static.files()[name].decode() for name in (bundle.SCRIPT, bundle.STYLES))
    for path in OURS:
        name = re.sub(r"\W", "_", path.relative_to(PAGE / "js").with_suffix("").as_posix())
        assert script.count(f"const module_{name} = ") == 1, path
    assert [each.relative_to(PAGE).as_posix() for each in sorted(PAGE.glob("css/*.css"))] == sorted(
        bundle.STYLE_SHEETS
    )
    for path in PAGE.glob("css/*.css"):
        assert path.read_text() in styles


def test_the_bundle_has_the_code_of_a_module_without_its_comments() -> None:
    code = (
        "// What it is.\n/** Types. @param {any} x */\nconst a = (x) => {\n  // Why.\n"
        '  const y = /** @type {any} */ (x);\n  /** @type {any} */ (y).z = "// no comment";\n'
        "  return y; // it\n};\n/**\n * Long.\n */\na(1);\n"
    )
    assert bundle.script({"js/main.js": code}) == (
        "const module_main = (() => {\nconst a = (x) => {\n  const y = /** @type {any} */ (x);\n"
        '  /** @type {any} */ (y).z = "// no comment";\n  return y; // it\n};\na(1);\n})();\n'
    )


def test_options_with_words_have_a_section_and_exist() -> None:
    """A new option needs neither: it stands at the end, with the help of the command line."""
    text = (PAGE / "js/views/options.js").read_text()
    words = set(re.findall(r"^  (\w+): \[", text, re.MULTILINE))
    sections = " ".join(re.findall(r'^  \["[^"]*", "([^"]+)"\],$', text, re.MULTILINE)).split()
    assert sorted(words) == sorted(sections)
    assert words <= {option.name for option in FORM}


def test_modules_are_joined_in_the_order_in_which_they_need_each_other() -> None:
    files = {
        "js/main.js": 'import { b as c, d } from "./b.js";\nimport * as all from "./a.js";\nc(d, all);\n',
        "js/a.js": 'import made from "../vendor/made.mjs";\nexport class A {}\nexport const x = made;\n',
        "js/b.js": 'import {\n  A,\n  x,\n} from "./a.js";\nexport async function b() {}\n'
        "export const d = x;\n",
    }
    assert bundle.script(files) == (
        'import * as library0 from "./vendor/made.mjs";\n'
        "const module_a = (() => {\nconst made = library0.default;\nclass A {}\nconst x = made;\n"
        "return { A, x };\n})();\n"
        "const module_b = (() => {\nconst {\n  A,\n  x,\n} = module_a;\nasync function b() {}\nconst d = x;\n"
        "return { b, d };\n})();\n"
        "const module_main = (() => {\nconst { b: c, d } = module_b;\nconst all = module_a;\nc(d, all);\n"
        "})();\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "export default 1;",
        "export let x = 1;",
        "export { x };",
        'import "./a.js";',
        'export * from "./a.js";',
        'import { main } from "./main.js";',
    ],
)
def test_what_cannot_be_joined_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be joined|import each other"):
        bundle.script({"js/main.js": f"{line}\n", "js/a.js": ""})


def test_no_file_is_too_long() -> None:
    for path in [*OURS, *PAGE.glob("css/*.css")]:
        assert len(path.read_text().splitlines()) <= 400, path
