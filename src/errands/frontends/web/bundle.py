"""The bundle: the modules of the page joined into one script, and its style sheets into one.

A browser would ask for forty modules one after the other, as each names the next, and each would be
compressed alone: one script arrives sooner and is a third smaller. Comments on lines of their own are left
out; otherwise the modules stay as written. A form of `import` or `export` that is not joined here is refused,
so that a test finds it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

FIRST = "js/main.js"
SCRIPT, STYLES = "bundle.js", "bundle.css"
STYLE_SHEETS = ("css/base.css", "css/parts.css", "css/views.css")
_IMPORT = re.compile(r'^import ([^;]+?) from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def script(files: Mapping[str, str]) -> str:
    """Join the modules that the first one needs; libraries are imported as they are."""
    joined: dict[str, str] = {}
    libraries: dict[str, str] = {}
    _join(FIRST, files, joined, libraries, above=())
    imports = [f'import * as {name} from "./{path}";\n' for path, name in libraries.items()]
    return "".join((*imports, *joined.values()))


def styles(files: Mapping[str, str]) -> str:
    """Join the style sheets, in the order they apply."""
    return "".join(files[path] for path in STYLE_SHEETS)


def _join(
    path: str,
    files: Mapping[str, str],
    joined: dict[str, str],
    libraries: dict[str, str],
    above: tuple[str, ...],
) -> None:
    """Add a module as a function that returns what it exports, after those that it imports."""
    if path in above:
        raise ValueError(f"modules of the page import each other: {' -> '.join((*above, path))}")
    text = _COMMENT.sub("", files[path])
    begins = []
    for what, where in _IMPORT.findall(text):
        needed = posixpath.normpath(posixpath.join(posixpath.dirname(path), where))
        if needed.startswith("vendor/"):
            libraries.setdefault(needed, f"library{len(libraries)}")
            begins.append(_names(what, libraries[needed]))
            continue
        if needed not in joined:
            _join(needed, files, joined, libraries, (*above, path))
        begins.append(_names(what, _name(needed)))
    exports = [name for _, name in _EXPORT.findall(text)]
    code = _EXPORT.sub(r"\1 \2", _IMPORT.sub("", text))
    if other := _OTHER.search(code):
        raise ValueError(f"{path} has a line that cannot be joined with other modules: {other[0]}")
    returns = f"return {{ {', '.join(exports)} }};\n" if exports else ""
    joined[path] = f"const {_name(path)} = (() => {{\n{''.join(begins)}{code}{returns}}})();\n"


def _name(path: str) -> str:
    return "module_" + re.sub(r"\W", "_", path.removeprefix("js/").removesuffix(".js"))


def _names(what: str, source: str) -> str:
    """Return the declaration of what an import names."""
    if what.startswith("{"):
        return f"const {re.sub(r' as ', ': ', what)} = {source};\n"
    if what.startswith("* as "):
        return f"const {what.removeprefix('* as ')} = {source};\n"
    return f"const {what} = {source}.default;\n"
