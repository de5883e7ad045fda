"""Ordinary files: those whose names say that they hold code, texts for people, or plain data.

No list can name every file with a password. So a file is shown without walls only if its name is one of
these; other files of a project are shown in a sandbox.
"""

from __future__ import annotations

import posixpath

from errands.judge.programs.known_places import HIDDEN, SERVERS
from errands.judge.workspace import is_within
from errands.model.text.regex import is_wild, regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.workspace import Workspace

# Code, markup, pictures, and what compilers make; PHP is missing, because that is also a kind of settings.
_CODE = frozenset(
    """
    py pyi pyx pxd js jsx mjs cjs ts tsx mts cts go rs java kt kts scala sc rb rake gemspec erb haml slim c h
    cc cpp cxx hpp hh hxx inl cs fs fsx vb swift m mm dart ex eex heex exs erl hrl hs lhs ml mli clj cljs
    cljc edn lua pl pm t r jl sh bash zsh fish ps1 psm1 bat cmd vue svelte astro css scss sass less styl html
    htm xhtml md mdx markdown rst adoc asciidoc org tex bib cls sty proto thrift graphql gql nix zig nim v sv
    svh vhd vhdl f f90 f95 f03 asm s cu cuh cl glsl hlsl wgsl vert frag el lisp scm rkt d di pas pp tcl
    coffee elm purs re rei sol vy move cairo wat wit ebnf g4 peg y l lex cmake mk mak am ac in make ninja bzl
    bazel star gradle groovy dockerfile containerfile just justfile feature robot snap patch diff rej po pot
    xlf xliff strings srt vtt svg png jpg jpeg gif webp bmp ico icns tiff psd ttf otf woff woff2 eot mp3 wav
    ogg flac mp4 webm mov avi mkv pdf ps eps ipynb lock sum mod work prof pprof o so a dylib dll exe elf obj
    class jar war whl egg pyc wasm map tsbuildinfo parquet arrow feather npy npz h5 onnx pt pth safetensors
    gguf log
    """.split()
)
# Outside of directories of code these words say that a file of any kind may have a secret.
_TELLING = frozenset(
    """
    password passwords passwd pass pwd pw passphrase secret secrets cred creds credential credentials token
    tokens key keys keystore apikey apikeys login logins account accounts wallet wallets seed mnemonic
    recovery codes vault vaults env envs environment environments vars variables exports setenv private jwt
    auth oauth session sessions cookie cookies config configs conf configuration settings setting prod
    production staging local deploy deployment signing keepass lastpass bitwarden webhook fa otp totp
    initializers firebase aws gcp azure stripe twilio
    """.split()
)
# Those that also count inside a longer word: `mysecrets.md`.
_GLUED = regex(
    r"passw|secrets?$|^secrets|credential|apikey|apitoken|authtoken|accesstoken|privatekey|mnemonic"
)
# Data: harmless if every word of their name is an ordinary one.
_DATA = frozenset(
    """
    json json5 jsonc jsonl ndjson geojson xml php xsd xsl xslt txt text csv tsv bin dat data out err tmp list
    lst diff sql html5 example sample template dist tmpl tpl j2 jinja jinja2 bak old orig new gz bz2 xz zst
    """.split()
)
_WORDS = frozenset(
    """
    a b c d e f g h i j k l m n o p q r s t u v w x y z aa ab foo bar baz qux data dataset input inputs
    output outputs out result results report reports summary list lists table tables test tests testing spec
    specs sample samples example examples demo expected actual golden fixture fixtures snapshot schema index
    item items entry entries name names word words line lines text note notes todo todos readme copying
    notice authors contributors maintainers changelog changes history news install upgrading security
    contributing faq help usage manual version versions release releases log logs error errors err warning
    warnings failures trace traces debug verbose coverage lcov metrics stats statistics benchmark benchmarks
    bench timings profile perf number numbers num count counts total totals point points value values file
    files dir dirs path paths package packages pkg module modules deps dependency dependencies requirements
    constraints build builds dist target lib src bin app main common util utils base simple small medium
    large big full empty short long tiny huge old new before after left right first second third last one two
    three orig original copy current latest previous next train training valid validation eval predictions
    labels features model models vocab tokenizer class classes metadata meta manifest info descr description
    title products orders sales events posts comments articles books cities countries
    languages locale locales messages translations i18n en us gb de fr es it nl pt br ru ja jp zh cn tw ko kr
    pl cs sv other others known unknown size sizes var vars person people sorted unique uniq filtered merged
    cleaned clean raw processed parsed formatted lint eslint ruff mypy tsc pytest jest junit tap ci workflow
    workflows openapi swagger asyncapi queries query tree graph map maps icons colors theme themes fonts
    routes sitemap robots humans patch diff changed modified added removed deleted ids urls links types
    typings html page pages menu nav template templates console stdout stderr nohup make cmake go node python
    ruby rust java bundle chunk stage keymap keywords tags tag branches branch commits commit dos unix crlf
    lf utf ascii endian columns rows cols fields dates times prices rates gate pipe fifo late suite tide
    letter letters seen printed witness order code status progress pid ready done marker stamp timestamp
    health heartbeat flag check checks job jobs task tasks
    """.split()
)
# Well-known files of projects, by their whole names.
_NAMES = """
makefile gnumakefile dockerfile* containerfile* vagrantfile jenkinsfile rakefile gemfile gemfile.lock
guardfile procfile podfile podfile.lock brewfile justfile taskfile.yml taskfile.yaml tiltfile earthfile
cartfile dangerfile berksfile capfile appraisals build workspace module.bazel owners codeowners readme*
authors* contributors* maintainers* changelog* changes* history.md history.rst news* install todo* version
.version *.podspec pkgbuild cname kconfig kbuild go.mod go.sum package.json package-lock.json
npm-shrinkwrap.json composer.json composer.lock bower.json lerna.json nx.json turbo.json angular.json
deno.json* tsconfig* jsconfig* tslint.json biome.json* babel.config.json rush.json project.json
workspace.json manifest.json *.schema.json renovate.json* vcpkg.json cmakepresets.json elm.json shard.yml
pubspec.yml pubspec.yaml pubspec.lock pnpm-lock.yaml pnpm-workspace.yaml openapi* swagger* action.yml
action.yaml mkdocs.yml mkdocs.yaml codecov.yml codecov.yaml environment.yml environment.yaml chart.yaml
conanfile.txt cmakelists.txt robots.txt humans.txt requirements* *requirements.txt pyproject.toml cargo.toml
pipfile pipfile.lock poetry.toml ruff.toml rustfmt.toml clippy.toml deny.toml book.toml taplo.toml
rust-toolchain* buf.yaml buf.gen.yaml buf.work.yaml dub.json dependabot.yml dependabot.yaml tox.ini
pytest.ini mypy.ini setup.cfg logging.ini pylintrc pom.xml build.xml checkstyle* phpunit.xml*
phpstan.neon* meson.build meson_options.txt sconstruct sconscript dune dune-project *.cabal stack.yaml
*.csproj *.fsproj *.vbproj *.vcxproj *.sln *.props *.targets directory.build.* global.json *.xcscheme
project.pbxproj *.storyboard *.xib *.entitlements androidmanifest.xml androidmanifest gradlew mvnw configure
.gitignore .gitattributes .gitmodules .gitkeep .keep .mailmap .dockerignore .npmignore .eslintignore
.prettierignore .stylelintignore .hgignore .helmignore .vercelignore .gcloudignore .slugignore .ignore
.rgignore .fdignore .editorconfig .eslintrc* .prettierrc* .stylelintrc* .babelrc* .swcrc .browserslistrc
.nvmrc .node-version .python-version .ruby-version .tool-versions .terraform-version .go-version
.java-version .sdkmanrc .travis.yml .gitlab-ci.yml .pre-commit-config.yaml .pre-commit-hooks.yaml .flake8
.pylintrc .coveragerc .isort.cfg .ruff.toml .style.yapf .yapfignore .rubocop* .rspec .simplecov .clang-format
.clang-tidy .clangd .cmake-format* .golangci.yml .golangci.yaml .goreleaser.yml .goreleaser.yaml .yamllint*
.markdownlint* .remarkrc* .commitlintrc* .lintstagedrc* .releaserc* .czrc .nycrc* .mocharc* .c8rc*
.size-limit.json .readthedocs.yml .readthedocs.yaml .codecov.yml .dprint.json .jshintrc .jscsrc .bowerrc
.rustfmt.toml .credo.exs .formatter.exs .scalafmt.conf .scalafix.conf .swiftlint.yml .swiftformat
.php-cs-fixer* .phpcs.xml* .shellcheckrc .hadolint.yaml .watchmanconfig .postcssrc* .parcelrc .tern-project
.ackrc .agignore .ctags .bashrc .bash_profile .bash_logout .bash_aliases .profile .zshrc .zprofile .zlogin
.inputrc .vimrc .tmux.conf *.example *.sample *.template constraints.txt license licence license.txt
licence.txt license.md licence.md license-mit license-apache copying copying.lesser notice notice.txt
notice.md license.rst *.config.js *.config.ts *.config.mjs *.config.cjs *.config.mts info.plist
""".split()
# Directories of code and texts, where such words are names and not values.
CODE = frozenset(
    """src lib libs app apps test tests spec specs doc docs packages pkg cmd internal include examples scripts
    crates modules components pages api core server client frontend backend web ui cli tools bench benches
    node_modules vendor site-packages dist build target migrations templates public static assets""".split()
)
# Directories of which everything is published, or belongs to no one in particular.
_PUBLIC = frozenset(
    """
    node_modules site-packages dist-packages fixtures testdata __snapshots__ locales .github docs doc
    """.split()
)
# The system's trees, where other rules say what may be read, and those of files that were just made.
_TREES = (
    *(f"/usr/{name}" for name in "bin sbin lib lib32 lib64 libexec include share games".split()),
    *(f"/usr/local/{name}" for name in "bin sbin lib lib64 libexec include share games go man".split()),
    "/lib", "/lib64", "/bin", "/sbin", "/nix/store", "/proc", "/sys", "/dev", "/etc", "/run", "/var/run",
    "/var/lib", "/var/log", "/private/etc",
)  # fmt: skip
_TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp")
# Outside of the project, and in files that were just made, only these words count.
_GUARDED = frozenset(
    """
    password passwords passwd secret secrets credential credentials creds jwt otp totp wallet wallets vault
    vaults keystore cookie cookies keys private recovery confidential
    """.split()
)
# In a pattern these say that it was written for a secret, and not only for settings.
_SOUGHT = _GUARDED | frozenset(
    """
    key pass pw pwd auth oauth cred login logins session sessions seed signing env
    """.split()
)
_SAYING = regex(r"(?i)passw|passphrase|secret|token|credential|creds|api.?key|mnemonic|private|wallet|vault")
_WORD = regex(r"[^\W\d_]+")
_CAMEL = regex(r"(?<=[a-z])(?=[A-Z])")
_exact = frozenset(name for name in _NAMES if "*" not in name)
_endings = tuple(name[1:] for name in _NAMES if name[0] == "*")
_beginnings = tuple(name[:-1] for name in _NAMES if name[-1] == "*")


def is_ordinary(word: str, workspace: Workspace) -> bool:
    """Return whether a file may be shown without walls, as far as its name tells; a link counts as both."""
    if word in ("", "-", ".", "..") or word.endswith("/") or workspace.is_directory(word):
        return True
    word = workspace.home + word[1:] if word.startswith("~/") else word
    written = posixpath.normpath(posixpath.join(workspace.cwd, word))
    real = workspace.real(word)
    return _is_ordinary(written, workspace.project, workspace.home) and (
        real == written or _is_ordinary(real, workspace.real(workspace.project), workspace.home)
    )


def says_secret(name: str) -> bool:
    """Return whether a word in the fixed part of a pattern says that it is about secrets."""
    return _SAYING.search(name) is not None or not _SOUGHT.isdisjoint(_words(name))


def _is_ordinary(path: str, project: str, home: str) -> bool:
    if path.startswith(SERVERS):
        return False
    *folders, name = path.removeprefix(f"{project}/").split("/")
    if folders[:1] == [""]:  # outside of the project
        if any(is_within(path, tree) for tree in (*_TREES, *(f"{home}/{name}" for name in HIDDEN))):
            return True
        is_guarded = not _GUARDED.isdisjoint(
            _words(posixpath.relpath(path.removeprefix("/private"), project))
        )
        if is_guarded or any(is_within(path, tree) for tree in _TEMPORARY):
            return not is_guarded
        folders = []
    if not _PUBLIC.isdisjoint(folders) or _is_well_known(name):
        return True
    is_code = folders != [] and folders[0] in CODE
    words = _words("/".join((*folders, name)))
    if any(folder.startswith(".") for folder in folders) and not _has_code_ending(name):
        return False  # settings and data of some tool
    is_telling = not _TELLING.isdisjoint(words) or any(_GLUED.search(word) for word in words)
    return _has_ordinary_name(name) and (is_code or not is_telling)


def _words(path: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", path).casefold())


def _is_well_known(name: str) -> bool:
    lowered = name.casefold().rstrip("~")
    return not is_wild(lowered) and (
        lowered in _exact or lowered.endswith(_endings) or lowered.startswith(_beginnings)
    )


def _has_code_ending(name: str) -> bool:
    stem, _, ending = name.casefold().rstrip("~").rpartition(".")
    return stem != "" and ending in _CODE


def _has_ordinary_name(name: str) -> bool:
    if _has_code_ending(name):
        return True
    lowered = name.casefold().rstrip("~")
    if is_wild(lowered) or lowered.startswith("."):
        return False  # most hidden files are settings
    if lowered.endswith(".php") and name[0].isupper():
        return True  # a class
    parts = lowered.split(".")
    while len(parts) > 1 and (parts[-1] in _DATA or parts[-1] in _CODE or parts[-1].isdigit()):
        parts.pop()
    return _WORDS.issuperset(_WORD.findall(".".join(parts)))
