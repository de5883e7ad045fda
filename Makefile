# Every target makes its own .venv; nothing needs to be installed before but Python 3.11, make and git. The tests with
# real clients need Node.js as well, which tools/programs gets by itself where there is none.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
VENV := .venv/installed
PROGRAMS := tools/node_modules/installed
PACKAGES := tools/packages/agents/installed
PAGE := tools/page/node_modules/installed
WHEELS := tools/wheels/downloaded
# Tests wait for processes three times as long as they compute: nine modules at once keep two cores busy.
WORKERS ?= 9
# Other people's programs compute more.
AT_ONCE ?= 3
# Folders of tests that targets of their own run.
OTHERS := $(addprefix --ignore=,tests/browser tests/clients tests/long)
# Requests of `make fuzz` for each operation of the web API, and as many again that break its description.
EXAMPLES ?= 500
# Without compiled files every start of the command line would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

# Run tests. Each target remembers its own failures, so that several can run beside one another.
tests = rm -f .pytest_cache/$@/v/cache/lastfailed; $(BIN)/python -m pytest -o cache_dir=.pytest_cache/$@ $(1)

.PHONY: help demo fleet test test-hosts test-placed test-browser test-long test-clients again check bench chaos fuzz conformance spec prove goldens docs site screenshots dist lock fmt clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV) ## Show what Errands does, in a minute, on a store of its own
	@$(BIN)/errands demo

fleet: $(VENV) ## Start PostgreSQL and three hosts, run something on each, kill one, and clean up (a minute and a half)
	@tools/postgres
	@PATH="$(CURDIR)/$(BIN):$$PATH" examples/fleet.sh

test: $(VENV) ## Run the tests of our own code, a round of chaos included; those below need more time or other programs
	-@tools/apt bubblewrap
	-@tools/apt strace
	-@tools/apt gawk original-awk
	@$(call tests,-p tests.forked --at-once $(WORKERS) -m 'not postgres' $(OTHERS))

test-hosts: $(VENV) ## Run the tests of fleets, with a PostgreSQL server of their own
	-@tools/postgres
	@$(call tests,-p tests.forked --at-once $(WORKERS) -m postgres $(OTHERS))

test-placed: $(VENV) ## Run the scenarios once more, with every run carried out by another home of a fleet
	-@tools/postgres
	@$(call tests,-p tests.forked --at-once 4 --placed tests/scenarios --ignore-glob '*/test_hosts*')

test-browser: $(VENV) $(PAGE) ## Run the tests of the web page in a real Chromium
	-@tools/apt chromium
	@$(call tests,-p tests.forked --at-once 2 tests/browser)

test-long: $(VENV) ## Run the long tests of our own code: chaos, engines broken on purpose, killed fleets, random requests, traced commands
	-@tools/apt bubblewrap
	-@tools/apt strace
	-@tools/apt iproute2
	-@tools/postgres
	@$(call tests,-p tests.forked --at-once 2 tests/long)

test-clients: $(VENV) $(PROGRAMS) $(PACKAGES) $(WHEELS) ## Run the tests with real clients, installers and packages (downloads three gigabytes)
	-@tools/apt bubblewrap tmux
	@$(call tests,-p tests.forked --at-once $(AT_ONCE) tests/clients)

again: $(VENV) ## Run the tests that failed once more, one at a time; more than five are too many (OF=test-long: those of that target)
	@$(BIN)/python -m tests.rerun_failed $(OF)

check: $(VENV) $(PAGE) ## Check style, types, layers and documents
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check . || { echo "*** run 'make fmt'"; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m errands.frontends.cli.reference --check
	@PATH="$$PATH:$(CURDIR)/$(BIN)"; cd tools/page && if [ -e node_modules/installed ]; then \
	node_modules/.bin/biome check --error-on-warnings --config-path . ../../src/errands/frontends/web/page/js \
	&& node_modules/.bin/tsc && ../vendor --check; fi

bench: $(VENV) ## Measure speed, memory and scale against peers
	@tools/apt task-spooler
	@tools/peers
	@tools/postgres
	@$(BIN)/python -m benchmarks

chaos: $(VENV) ## Kill, stop, starve and cut off real engines, on one host and on four, and count what was lost
	@$(BIN)/python -m tests.chaos
	@tools/apt iproute2
	@tools/postgres
	@$(BIN)/python -m tests.chaos.fleet
	@$(BIN)/python -m tests.chaos.fleet --check "kill of daemon and host process" --check partition --check sleep --check "loss of what may run again" --check failover --check "kill of the daemon" --check "restart of PostgreSQL"
	@$(BIN)/python -m tests.chaos.fleet --mutant "no fuse" --check "kill of daemon and host process" --runs 10
	@$(BIN)/python -m tests.chaos.fleet --mutant "no epoch" --check sleep --runs 10
	@$(BIN)/python -m tests.chaos.fleet --mutant "no attempt" --check "loss of what may run again" --runs 10
	@$(BIN)/python -m tests.chaos.fleet --mutant "no quiet time" --check failover --runs 10

fuzz: $(VENV) ## Disguise harmful commands, run what passes of a million lines under a tracer, and send requests made from the API's description
	@tools/apt bubblewrap
	@tools/apt strace
	-@tools/apt acl fd-find gawk plocate ripgrep tree
	@EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -q tests/long/test_web_fuzz.py
	@$(BIN)/python -m tests.fuzz.fuzz
	@$(BIN)/python -m tests.fuzz.traced

conformance: $(VENV) $(PROGRAMS) ## Run the official conformance suite of MCP against our server
	@$(BIN)/python -m pytest -q tests/clients/test_conformance.py

spec: $(VENV) ## List the requirements without a test
	@$(BIN)/python -m tests.requirements

prove: $(VENV) $(PROGRAMS) ## Break each requirement on purpose, and see its tests fail (IDS="L9 O6": only these)
	@$(BIN)/python -m tests.proof --at-once $(AT_ONCE) $(IDS)

goldens: $(VENV) ## Rewrite the expected screens of every verb at three widths; then read the difference
	@GOLDENS=write $(BIN)/python -m pytest -q tests/frontends/chat/test_goldens.py tests/frontends/cli/test_goldens.py tests/frontends/top/test_goldens.py

docs: $(VENV) ## Rewrite the generated documents
	@$(BIN)/python -m errands.frontends.cli.reference
	@$(BIN)/python -m errands.frontends.web.api.reference

screenshots: $(VENV) ## Take new pictures of the web page, and film an approval on a phone
	-@tools/apt chromium
	@$(BIN)/python tools/screenshots
	@$(BIN)/python tools/film

site: $(VENV) ## Build the documentation as a web site in build/site
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --doctree-dir build/doctrees docs build/site

dist: $(VENV) ## Build the source archive and the wheel in dist
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation

lock: $(VENV) ## Update tools/lock.txt to the newest versions of all dependencies
	@$(BIN)/uv pip compile --quiet --upgrade --universal --all-extras --group dev --no-header --no-annotate \
	--output-file tools/lock.txt pyproject.toml

fmt: $(VENV) ## Format the code
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .
	@[ ! -e $(PAGE) ] || tools/page/node_modules/.bin/biome check --write --config-path tools/page src/errands/frontends/web/page/js

clean: ## Remove what the other targets made
	rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache tools/node_modules tools/page/node_modules tools/packages/*/ tools/wheels
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV): pyproject.toml bin/errands tools/venv tools/lock.txt
	@PYTHON='$(PYTHON)' tools/venv
	@touch $@

$(PROGRAMS): tools/package.json tools/package-lock.json tools/programs | $(VENV)
	@if tools/programs; then touch $@; elif [ "$$CI" = true ]; then exit 1; \
	else echo '*** OpenCode, Claude Code, Codex, Gemini CLI, the MCP Inspector and the conformance suite could not be installed:' \
	'the tests that need them are skipped, and counted at the end; tools/programs tries again' >&2; fi

$(PAGE): tools/page/package.json tools/page/package-lock.json tools/page-tools | $(VENV)
	@if tools/page-tools; then touch $@; elif [ "$$CI" = true ]; then exit 1; \
	else echo '*** the JavaScript of the web page is not checked; tools/page-tools tries again' >&2; fi

$(PACKAGES): tools/environments $(wildcard tools/packages/*.txt) | $(VENV)
	@if tools/environments; then touch $@; elif [ "$$CI" = true ]; then exit 1; \
	else echo '*** the tests with these packages are skipped, and counted at the end; tools/environments tries again' >&2; fi

$(WHEELS): tools/wheelhouse tools/lock.txt | $(VENV)
	@if tools/wheelhouse; then touch $@; elif [ "$$CI" = true ]; then exit 1; \
	else echo '*** the tests that install the wheel are skipped, and counted at the end; tools/wheelhouse tries again' >&2; fi
