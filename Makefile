# Every target does the set-up that it needs; a second run of a set-up does nothing.
# PYTHON=/path/to/python3.X chooses the interpreter of .venv (3.11 to 3.14).
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
BIN := .venv/bin
# The modules that compile a knowledge table, each run as `python -m MODULE [--check]`.
KNOWLEDGE := $(shell find src/lockgate -name build.py | sort | sed -e 's|^src/||' -e 's|/|.|g' -e 's|\.py$$||')
PYTEST_ARGS ?=
# Without compiled files, every worker and every process that a test starts would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE
# Half of the tests wait for processes and for time to pass: three workers on two processors keep both busy.
JOBS ?= $(shell getconf _NPROCESSORS_ONLN | awk '{ print int($$1 * 3 / 2 + 0.5) }')
XDIST := --numprocesses=$(JOBS) --dist=worksteal
# Rooms whose tests write many small stores: their folders lie in memory where there is such a place.
IN_MEMORY := store gate clients cli
STRESS ?= 4
TIME ?= 60
FUZZ_TARGETS ?= $(notdir $(wildcard evals/fuzz/corpus/*))

.PHONY: help demo test lint site house doors format unit room e2e stress faults evals days containment fuzz knowledge reference answers library coverage news changelog lock setup system axe screenshots picture hooks clients managers clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup library ## set everything up and show the main job with real hooks
	@$(BIN)/lockgate demo

test: setup library system axe clients managers lint ## set everything up and run every check but the nightly rows
	@$(BIN)/pytest $(XDIST) -m 'not nightly' $(PYTEST_ARGS)

lint: setup ## style, types, import rules, stale knowledge, stale pages, broken links
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/mypy --platform darwin --no-warn-unreachable --cache-dir .mypy_cache/darwin
	@MYPYPATH=tests $(BIN)/mypy -p e2e
	@$(BIN)/python scripts/house/check_names.py tests evals scripts examples
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory house
	@for module in $(KNOWLEDGE); do $(BIN)/python -m "$$module" --check || exit 1; done
	@$(BIN)/python scripts/reference.py --check
	@$(MAKE) --no-print-directory site

site: setup ## the documents as pages, into build/site; a link that leads nowhere is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>&1 | { grep -v '^INFO ' || true; }

house: setup ## circles of imports and imports against the planned rooms: their number may only fall
	@$(BIN)/python scripts/house/check_house.py src/lockgate --rooms scripts/house/rooms.tsv --short --ceiling scripts/house/ceiling.json
	@$(BIN)/python scripts/house/check_doors.py src/lockgate --ceiling scripts/house/ceiling.json
	@$(BIN)/python scripts/house/check_duplicates.py src/lockgate --short --ceiling scripts/house/ceiling.json
	@$(BIN)/python scripts/house/check_sentences.py src/lockgate
	@$(BIN)/python scripts/house/check_sentences.py README.md CONTRIBUTING.md SECURITY.md docs

doors: setup ## write what other rooms may import into __all__ of each room
	@$(BIN)/python scripts/house/check_doors.py src/lockgate --write
	@$(BIN)/ruff check --fix --quiet src
	@$(BIN)/ruff format --quiet src

format: setup ## mend what ruff can mend
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

unit: setup library system axe managers ## all tests but those with real agent clients
	@$(BIN)/pytest $(XDIST) -m 'not e2e' $(PYTEST_ARGS)

room: setup library ## the quick tests of one room: ROOM=shell
	@paths=$$(awk -F '\t' -v room="$(ROOM)" '$$1 == room { print $$2 }' scripts/house/tests.tsv); \
	test -n "$$paths" || { echo "room: ROOM is one of $$(cut -f 1 scripts/house/tests.tsv | tr '\n' ' ')" >&2; exit 2; }; \
	$(if $(filter $(ROOM),$(IN_MEMORY)),$(if $(wildcard /dev/shm),PYTEST_DEBUG_TEMPROOT=/dev/shm ))$(BIN)/pytest $(XDIST) -p no:schemathesis --hypothesis-profile=quick -m 'not e2e and not stress and not slow' $$paths $(PYTEST_ARGS)

e2e: setup library clients ## the tests with real agent clients, with their nightly rows
	@$(BIN)/pytest $(XDIST) tests/e2e $(PYTEST_ARGS)

stress: setup library system ## crowds, kills and random examples, in numbers (STRESS=4 times as many)
	@STRESS=$(STRESS) $(BIN)/pytest $(XDIST) -m 'stress and not e2e' $(PYTEST_ARGS)

faults: setup library system ## break everything under a gate while agents work (TIME=60 seconds)
	@$(BIN)/python evals/faults/run.py --minutes $$(( ($(TIME) + 59) / 60 ))

evals: setup library ## measure the analysis and the pattern library; with SESSIONS=FOLDER also public sessions
	@$(BIN)/python evals/shell/shell_corpora.py --misses --times
	@$(BIN)/python evals/shell/probes.py
	@$(BIN)/python evals/patterns/run.py --packages --compare
	@$(BIN)/python evals/patterns/redacted.py
	@for window in $(if $(SESSIONS),24x80 40x120); do for policy in '' --both-asked; do \
	  echo "public sessions, a person in front of $$window $$policy"; \
	  $(BIN)/python evals/days/replay.py --from "$(SESSIONS)" --in-front --window $$window $$policy; done; done

containment: setup library system ## try every way out of the sandbox, and other people's projects in it (needs PyPI, npm, Debian)
	@$(BIN)/python evals/containment/exfiltration.py
	@$(BIN)/python evals/containment/honest.py

days: setup library system clients ## whole days of real clients, with and without Lockgate (needs PyPI, npm, Debian)
	@$(BIN)/python evals/days/compare_days.py --in-front
	@$(BIN)/python evals/days/compare_days.py

fuzz: setup ## look for inputs that break a law (TIME=60 seconds for each reader)
	@test -x .fuzz/venv/bin/python || $(BIN)/python -m venv .fuzz/venv
	@for file in requirements.lock evals/fuzz/requirements.txt; do \
	  .fuzz/venv/bin/pip install --quiet --disable-pip-version-check -r "$$file"; done
	@for target in $(FUZZ_TARGETS); do \
	  PYTHONPATH=src .fuzz/venv/bin/python evals/fuzz/fuzz.py "$$target" -max_total_time=$(TIME) -verbosity=0; done

knowledge: setup ## compile the YAML tables to what the hook reads
	@for module in $(KNOWLEDGE); do $(BIN)/python -m "$$module" || exit 1; done
	@$(BIN)/python scripts/known_roles.py

reference: setup ## the pages of docs/reference, from the code
	@$(BIN)/python scripts/reference.py

answers: setup ## write the answers to recorded inputs of each client anew, after a change that is wanted
	@$(BIN)/python tests/hook/recorded_answers.py

library: setup ## compile the shipped patterns, so that no hook has to
	@$(BIN)/python -m lockgate.configuration.pattern_library.prepare

coverage: setup library ## which lines the quick tests run (ROOM=shell for the tests of one room), into build/coverage
	@paths=$$(awk -F '\t' -v room="$(ROOM)" 'room == "" || $$1 == room { print $$2 }' scripts/house/tests.tsv); \
	test -n "$$paths" || { echo "coverage: ROOM is one of $$(cut -f 1 scripts/house/tests.tsv | tr '\n' ' ')" >&2; exit 2; }; \
	$(BIN)/coverage erase; \
	$(BIN)/coverage run -m pytest $(XDIST) -m 'not e2e and not stress' $$paths $(PYTEST_ARGS); \
	$(BIN)/coverage combine --quiet; \
	$(BIN)/coverage html --quiet; \
	$(BIN)/coverage report $(if $(ROOM),--include='src/lockgate/$(ROOM)/*') | tee build/coverage/report.txt

news: setup ## what the files in changes/ say of the next release
	@$(BIN)/towncrier build --draft --version next

changelog: setup ## move the files in changes/ into CHANGELOG.md: VERSION=1.2.3
	@test -n "$(VERSION)" || { echo "changelog: give VERSION=1.2.3" >&2; exit 2; }
	@$(BIN)/towncrier build --yes --version "$(VERSION)"

lock: ## resolve pyproject.toml into the lock files (UPGRADE=1 for the newest versions)
	@scripts/lock.sh

setup: ## .venv from the lock file
	@scripts/setup.sh

system: ## what the tests need from the system
	@scripts/setup_system.sh

axe: ## what the browser tests look at pages with, into .axe
	@scripts/install_axe.sh

screenshots: setup library system ## the pictures of the dashboard, into docs/images (needs pngquant)
	@$(BIN)/python scripts/screenshots.py

picture: setup library ## the picture of the demo, for the README
	@$(BIN)/python scripts/demo_picture.py

hooks: setup ## have git run the checks before a commit and before a push
	@$(BIN)/pre-commit install

clients: ## the real agent clients, into .clients
	@scripts/install_clients.sh

managers: ## the package managers that tests of installs run, into .managers
	@scripts/install_clients.sh tests/installs/managers .managers

clean: ## remove everything that is made
	rm -rf .venv .venvs .axe .clients .managers dist build .fuzz .evals .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.*
	rm -f src/lockgate/lockgate-hook
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
