"""Needs: what programs need besides the files of their project, such as a network, a service or a person."""

from __future__ import annotations

from itertools import takewhile

from errands.model.text.regex import regex

# Programs that write files, but only where their operands say.
WRITERS = frozenset(
    """cp gcp rsync mv gmv mkdir touch ln install tee patch split csplit mkfifo mktemp chmod sed gsed sort tar
    unzip zip 7z 7za ar gzip gunzip xz unxz bzip2 bunzip2 zstd ruff black isort autopep8 yapf prettier
    eslint gofmt rustfmt clang-format sqlite3 duckdb""".split()
)
_SERVERS = frozenset("uvicorn gunicorn hypercorn daphne serve http-server live-server nodemon".split())
# Programs that need a network, a service or a person, whatever they are asked for.
ALWAYS = _SERVERS | frozenset(
    """docker podman nerdctl docker-compose less more most ed ex vi vim nvim nano emacs pico code xdg-open
    open twine ssh-agent tmux screen yes gio systemd-run brew ngrok
    ollama uvx pipx errands claude codex gemini opencode aider goose cursor-agent notify-send xclip xsel
    wl-copy wl-paste pbcopy pbpaste tailscale cloudflared adb
    setpriv unshare nsenter runuser chroot wall secret-tool security pass at batch
    curlie grpcurl hurl wscat autossh sshpass sshfs ssh-copy-id ssh-keyscan lftp tftp smbclient rpcclient
    snmpwalk snmpget kdig delv dog fping hping3 arping masscan ngrep gnutls-cli msmtp swaks avahi-resolve
    systemd-resolve croc wormhole b2 mc restic borg duplicity dropbox mosquitto_pub mosquitto_sub nats
    mycli pgcli usql sqlcmd sqlplus snowsql bq influx etcdctl consul nomad rabbitmqadmin pg_dumpall vacuumdb
    reindexdb mysqlimport mongorestore mongoexport mongoimport pg_isready k6
    kubectx kubens stern argocd flux istioctl k3d eksctl kops hcloud ibmcloud aliyun oci scw linode-cli tea
    railway surge cf eb stripe twilio newrelic sentry-cli salt knife chef-client ansible-console
    skopeo ctr crictl crane buildah lima limactl colima multipass lxc virsh vboxmanage machinectl
    localtunnel lt travis semantic-release release-it jenkins-cli sudoedit gosu su-exec capsh newgrp
    sg run0 setcap skill slay initctl sv supervisorctl pm2 forever hwclock netplan ethtool tc hdparm
    kexec depmod dpkg-reconfigure dpkg-divert apt-mark add-apt-repository update-alternatives vipw vigr chfn
    wg wg-quick busctl dbus-send gdbus qdbus gsettings dconf xdotool atrm""".split()
)
# Programs that run a package of the project, or download it first.
DOWNLOADERS = frozenset("npx pnpx bunx".split())
TYPICAL = frozenset(
    """tsc tsx ts-node eslint prettier biome jest vitest mocha ava tap nyc c8 playwright cypress webpack
    vite rollup esbuild parcel turbo nx lerna next nuxt astro ng vue-tsc svelte-check stylelint tailwindcss
    postcss pyright sass prisma drizzle-kit typedoc jsdoc knip depcheck madge tsup swc babel rspack
    storybook lint-staged commitlint sequelize-cli typeorm knex size-limit publint attw api-extractor oxlint
    xo standard jscpd cspell dprint markdownlint markdownlint-cli markdownlint-cli2 react-scripts hardhat
    solhint concurrently ajv alex auto-changelog browserslist bundlesize changeset cross-env depcruise
    dependency-cruiser docusaurus doctoc dpdm eleventy esno formatjs gatsby graphql-codegen grunt gulp hexo
    html-validate i18next-parser jasmine jiti jsonlint karma license-checker manypkg microbundle ncc nest
    node-gyp npm-run-all nps nuxi openapi-typescript pkg-size qunit relay-compiler remark remix run-p run-s
    semver skott sort-package-json source-map-explorer spectral stryker svgo svgr syncpack terser textlint
    tree-sitter ts-prune ts-unused-exports tsc-alias tsd type-coverage unbuild unimported vitepress
    web-test-runner webpack-bundle-analyzer wtr zx ast-grep backstop bundlewatch cap codeceptjs cucumber-js
    detox electron-builder ember esbuild-visualizer eslint_d expo import-sort jscodeshift jshint json5
    lit-analyzer loki metro nightwatch orval prettier-eslint quicktype react-native redocly
    stencil tap-dot tap-spec tape testcafe ts-json-schema-generator tslint typescript
    uvu wdio zora @11ty/eleventy @angular/cli @biomejs/biome @cucumber/cucumber @eslint/migrate-config
    @graphql-codegen/cli @nestjs/cli @playwright/test @redocly/cli @stencil/core @stryker-mutator/core
    @sveltejs/package @swc/cli @tailwindcss/cli @tanstack/router-cli @vue/cli-service @wdio/cli""".split()
)
READING_GIT = frozenset(
    """annotate blame cat-file check-attr check-ignore check-ref-format cherry count-objects describe diff
    diff-files diff-index diff-tree for-each-ref grep help log ls-files ls-tree merge-base merge-tree name-rev
    range-diff reflog rev-list rev-parse shortlog show show-branch show-ref status var verify-commit version
    whatchanged""".split()
)
# Subcommands, targets and modules that need a network, publish something, delete, or serve others.
_SUBCOMMANDS = {
    **dict.fromkeys(
        "npm pnpm yarn bun".split(),
        """install i ci add update upgrade up remove rm uninstall un publish login logout link unlink audit
        outdated view info show search dlx create init fund whoami adduser deprecate dist-tag import x
        start dev serve server preview storybook deploy release watch clean""",
    ),
    "cargo": "install uninstall publish login logout search update fetch add owner yank clean",
    "go": "get install clean tidy download vendor",
    "pip": "install download wheel uninstall index search",
    "uv": "sync add remove lock tool python publish self cache",
    "poetry": "install add remove update lock publish self cache init new config",
    "pdm": "install add remove update lock publish self cache init sync",
    "pipenv": "install uninstall update lock sync",
    "hatch": "publish env new",
    "rye": "sync add remove lock publish self",
    "dotnet": "restore add remove nuget tool workload clean",
    "gem": "install uninstall update push fetch yank signin owner cleanup",
    "bundle": "install update add remove",
    "composer": "install update require remove",
    **dict.fromkeys("mvn mvnw".split(), "deploy"),
    **dict.fromkeys("gradle gradlew".split(), "publish bootRun"),
    "mix": "deps.get hex.publish",
    "pre-commit": "install uninstall autoupdate",
    "rustup": "update install toolchain component target self default",
    "deno": "install add upgrade publish",
    "git": "push pull fetch clone ls-remote submodule",
    **dict.fromkeys(
        "make gmake just task rake ninja ant invoke inv tox nox".split(),
        """deploy publish release upload push install uninstall clean distclean mrproper start serve dev""",
    ),
    "python": "http.server ensurepip runserver errands",
    "pytest": "--pastebin",
    "flask": "run",
    "rails": "server s db:drop db:reset",
    **dict.fromkeys("playwright @playwright/test cypress".split(), "install"),
    **dict.fromkeys(
        "next nuxt nuxi astro gatsby remix storybook webpack vite vitepress react-scripts".split(),
        "dev develop serve server start preview",
    ),
    **dict.fromkeys("ng @angular/cli".split(), "add deploy new update serve"),
    **dict.fromkeys("nest @nestjs/cli vue @vue/cli".split(), "add new create update upgrade start serve"),
    **dict.fromkeys("redocly @redocly/cli".split(), "push push-status login"),
    "expo": "install login publish start register",
    "react-native": "init start run-android run-ios",
    "electron-builder": "publish always onTag onTagOrDraft",
    "metro": "serve",
    **dict.fromkeys("cdk cdktf sam serverless sls terragrunt".split(), "deploy destroy delete remove invoke"),
    **dict.fromkeys("lerna nx changeset goreleaser fastlane".split(), "publish release serve"),
    **dict.fromkeys("nvm fnm".split(), "install uninstall ls-remote list-remote"),
    **dict.fromkeys("volta asdf mise pyenv rbenv".split(), "install uninstall use plugin prune"),
    **dict.fromkeys("conan pod vcpkg luarocks".split(), "install remove upload trunk"),
    **dict.fromkeys("opam cpan cpanm pecl pear".split(), "install remove update upgrade"),
    **dict.fromkeys("flutter dart".split(), "pub upgrade"),
    "nuget": "push restore install",
}  # fmt: skip
_SERVING = frozenset("start dev serve server preview storybook watch".split())
_SERVES = "starts a server, which does not end by itself"
# What some of these words mean; the others need a network.
_SAID = (
    (
        _SERVING | frozenset("http.server runserver develop s bootRun run-android run-ios".split()),
        _SERVES,
    ),
    (
        frozenset(
            """clean distclean mrproper cleanup remove rm uninstall un unlink prune delete destroy
            db:drop db:reset""".split()
        ),
        "removes something",
    ),
    (
        frozenset("publish deploy release upload push unpublish deprecate dist-tag".split()),
        "publishes or deploys something",
    ),
)
# Scripts of a package whose names say so; a subcommand of that name (`npm ci`) is none of them.
_SCRIPTS = _SERVING | frozenset("install uninstall update upgrade publish deploy release login clean".split())
# Endings of the names of scripts that start no server: `server:test`, `storybook:build`.
_CHECKING = frozenset(
    "test tests build check lint types typecheck unit e2e compile once coverage docs".split()
)
# A subcommand of these that is followed by one of those only shows something, or runs what is there.
_LISTING = {
    **dict.fromkeys("rustup uv hatch".split(), frozenset("list find dir show".split())),
    "dotnet": frozenset("list run".split()),
}
_PACKAGERS = frozenset("npm pnpm yarn bun".split())
# What follows these subcommands is for the script that they run.
_TESTING = frozenset("test t tst".split())
_NEW_TEMPLATES = frozenset("install uninstall update search".split())
# They run another program in the project's environment.
_RUNNING = frozenset("uv poetry pipenv pdm rye bundle conda mamba micromamba".split())
# Options whose value is the next word, and only says where something is done.
_PLACING = {
    "npm": frozenset("--prefix -C -w --workspace".split()),
    "pnpm": frozenset("-C --dir -F --filter".split()),
    "yarn": frozenset(("--cwd",)),
    "bun": frozenset("--cwd -F --filter".split()),
    "uv": frozenset("--directory --project --package --python -p --extra --group --with".split()),
    **dict.fromkeys("conda mamba micromamba".split(), frozenset("-n --name -p --prefix --cwd".split())),
}
# How many words of these may name what they do.
_DEEP = {
    **dict.fromkeys("npm pnpm yarn bun make gmake just task rake ninja ant invoke inv tox nox".split(), 3),
    "flask": 3,
    **dict.fromkeys("python go mvn mvnw gradle gradlew rails".split(), 2),
}
_DRY = frozenset(("-n", "--dry-run", "--dry", "--just-print", "--recon"))
# A numbered version is taken from the project if it fits; `@latest` is always looked up.
_NUMBERED = regex(r"(?<=.)@[\^~]?\d[\w.]*$")
# Options of those that download, which have no value.
_AGREEING = frozenset("-y --yes --no --no-install -q --quiet --offline --prefer-offline --bun --".split())
_FETCHING = {name: frozenset(words.split()) for name, words in _SUBCOMMANDS.items()}


def need_of(name: str, words: tuple[str, ...]) -> str:
    """Return what a use of a program needs or does that a sandbox does not allow; "" if there is nothing."""
    if name in _SERVERS:
        return _SERVES
    if name in ALWAYS:
        return "needs a network, a service or a person, which a sandbox does not have"
    if not needs_network(name, words):
        return ""
    if name == "flask":
        return _SERVES
    said = {part for word in words if word[:1] != "-" for part in (word, word.partition(":")[0])}
    return next(
        (says for telling, says in _SAID if not telling.isdisjoint(said)),
        "needs a network, which a sandbox does not have",
    )


def needs_network(name: str, words: tuple[str, ...]) -> bool:
    """Return whether a use of a program needs a network, publishes, deletes or serves."""
    name = name.rstrip("0123456789.") if name not in _FETCHING else name
    known = _FETCHING.get(name, frozenset())
    named = _named(name, words)
    if named[:1] == ["pip"] and name in ("python", "uv"):
        return needs_network("pip", tuple(named[1:]))
    if name == "rsync":
        return any(":" in word for word in named)
    if not _LISTING.get(name, frozenset()).isdisjoint(named[1:2]):
        return False
    if name in _PACKAGERS and (named == ["init"] or not _TESTING.isdisjoint(named[:1])):
        return False
    if name in _PACKAGERS and not {"run", "run-script"}.isdisjoint(named[:1]):
        return any(map(_script_needs, named[1:3]))
    if name == "dotnet" and named[:1] == ["new"]:
        return not _NEW_TEMPLATES.isdisjoint(named[1:2])
    if named[:1] == ["run"] and name == "go" and any("@" in word for word in named):
        return True
    if _is_dry(name, words):
        return False
    if named[:1] == ["x"] and name == "bun" and named[1:2] and named[1] in TYPICAL:
        return False
    if named[:1] in (["exec"], ["x"]) and any(word.startswith("--package") for word in words):
        return True
    if named[:1] in (["run"], ["exec"]) and name in _RUNNING and len(named) > 1:
        return named[1] in ALWAYS or needs_network(named[1], tuple(named[2:]))
    # A script, a target or a module may be named after other words: `npm run deploy`, `python -m pip`.
    named = named[: _DEEP.get(name, 1)]
    return any(word in known or word.partition(":")[0] in known for word in named)


def _named(name: str, words: tuple[str, ...]) -> list[str]:
    """Return the words that are no options, without what a package manager only passes to a script."""
    placing = _PLACING.get(name, frozenset())
    named: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--" and named and name in _PACKAGERS and named[0] not in ("exec", "x", "dlx"):
            break
        if word in placing:
            next(rest, None)
        elif word[:1] != "-":
            named.append(word)
    return named


def _is_dry(name: str, words: tuple[str, ...]) -> bool:
    """Return whether a runner of recipes only says what it would do."""
    if name in ("make", "gmake"):
        return not _DRY.isdisjoint(words)
    # What follows a recipe may be meant for it.
    options = takewhile(lambda word: word[:1] == "-", words)
    return name in ("just", "task", "rake") and not _DRY.isdisjoint(options)


def _script_needs(script: str) -> bool:
    first, _, rest = script.partition(":")
    return first in _SCRIPTS and not (first in _SERVING and rest.rpartition(":")[2] in _CHECKING)


def is_typical(words: tuple[str, ...]) -> bool:
    """Return whether `npx` or the like is told to run tools that projects usually have."""
    packages: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in ("-p", "--package"):
            packages.append(value if equals else next(rest, ""))
        elif name in _PLACING["npm"]:
            next(iter(()) if equals else rest, None)
        elif not word.startswith("-"):
            packages.append(word)
            break
        elif word not in _AGREEING:
            return False  # such as `-c LINE`; the value of another might be taken for a tool
    tools = [_NUMBERED.sub("", each) for each in packages]
    return bool(tools) and TYPICAL.issuperset(tools) and not needs_network(tools[-1], tuple(rest))
