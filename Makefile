# `make help` lists what there is. `make demo` and `make test` need nothing done before.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# What a run may be given: make test-pytest ARGS='-k lease', make test-pgtap ARGS=tests/pgtap/access
MAJORS ?= 18 15
ARGS ?=

# make demo: one's own repository, branch, check and agent; PUSH=1 writes to the original.
REPOSITORY ?=
REF ?=
CHECK ?=
AGENT ?=
PUSH ?=
export REPOSITORY REF CHECK AGENT PUSH

# make verify-operations DSN=… against a deployed database; see docs/runbook.md.
DSN ?=
REAPER_DSN ?= $(DSN)
TARGET_ENVIRONMENT ?= unnamed
OPERATOR ?= $(shell id -un)
EVIDENCE ?= evidence.json
VERIFY ?=

# make audit DSN=… FORMAT=text|json|sarif|tap, and the severity at which it fails.
FORMAT ?= text
FAIL_ON ?= medium

with_venv := PATH="$(CURDIR)/.venv/bin:$$PATH"
test := $(with_venv) .venv/bin/python tools/test $(foreach major,$(MAJORS),--major $(major))
python_config := --config python_client/pyproject.toml
# A tool has no ending; its first line says that it is Python.
python_paths := python_client tests examples bench $(shell grep -l '^\#!.*python3$$' tools/*)

.PHONY: help setup db bench check check-python check-sql test test-pgtap test-pytest demo docs sync \
	round-trip verify-operations audit clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

setup: ## install what is missing: Debian packages (as root), .venv
	@tools/setup

demo: setup ## the whole story on a sample repository, or on REPOSITORY=, REF=, CHECK=, AGENT=, PUSH=1
	@$(with_venv) tools/with-postgres 18 --keep .fencepost/cluster --fresh -- tools/demo

test: check ## every test on PostgreSQL 18 and 15, and all linters
	@$(test)

test-pgtap: setup ## pgTAP only; ARGS= names files or folders, MAJORS= the majors
	@$(test) --pgtap $(ARGS)

test-pytest: setup ## pytest only; ARGS= are pytest's
	@$(test) --pytest $(ARGS)

check: check-python check-sql ## all linters

check-python: setup ## ruff and mypy
	@.venv/bin/ruff check --quiet --output-format concise $(python_config) $(python_paths)
	@.venv/bin/ruff format --quiet --check $(python_config) $(python_paths)
	@tools/check-types

check-sql: setup ## sqlfluff, squawk, pgspot, pglast; plpgsql_check over every body, on 15
	@tools/setup --lint
	@tools/check-sql
	@.venv/bin/python -m pytest -qq -c python_client/pyproject.toml --rootdir . \
		tests/pytest/static/test_deploy_scripts.py tests/pytest/static/test_sharding.py
	@$(with_venv) tools/with-postgres 15 --set fsync=off -- \
		sh -c '{ tools/deploy bodies && tools/deploy --superuser bodies; } >/dev/null && \
			tools/check-bodies bodies'

round-trip: setup ## deploy, revert, deploy: the dumps must be equal
	@$(test) --pytest tests/pytest/plan/test_round_trip.py

bench: setup ## ratios, as tables; ARGS= are those of python -m bench, MAJORS= the majors
	@$(with_venv); for major in $(MAJORS); do \
		tools/with-postgres "$$major" -- .venv/bin/python -m bench $(ARGS); \
	done

db: setup ## a cluster that stays, with the plan deployed; `make clean` ends it
	@$(with_venv) tools/with-postgres 18 --keep .fencepost/db -- tools/deploy fencepost
	@folder=$$(cat .fencepost/db); printf '%s\n' \
		"PGHOST=$$folder PGPASSFILE=$$folder/pass/postgres psql -U postgres fencepost"

docs: setup ## renew docs/reference, docs/security.md and audit/expected.json
	@$(with_venv) tools/with-postgres 18 -- bash -euc 'tools/deploy fencepost >/dev/null; \
		tools/reference --database fencepost; \
		tools/deploy --superuser fencepost >/dev/null; \
		tools/audit --dsn dbname=fencepost --describe >.expected; mv .expected audit/expected.json'
	@.venv/bin/python -m tests.pytest.attacks.page docs/security.md

sync: setup ## renew the client's sync classes from the async ones
	@tools/generate-sync

verify-operations: setup ## what docs/runbook.md asks of a database that is used: DSN=, REAPER_DSN=
	@.venv/bin/fencepost operations verify --dsn '$(DSN)' --reaper-dsn '$(REAPER_DSN)' \
		--environment '$(TARGET_ENVIRONMENT)' --operator '$(OPERATOR)' \
		--commit "$$(git rev-parse HEAD)" --output '$(EVIDENCE)' $(VERIFY)
	@.venv/bin/fencepost operations evidence --require-success '$(EVIDENCE)'

audit: setup ## what is not as it has to be in a deployed database: DSN=, FORMAT=, FAIL_ON=
	@.venv/bin/python tools/audit --dsn '$(DSN)' --format '$(FORMAT)' --fail-on '$(FAIL_ON)'

clean: ## stop the kept clusters and remove what they and the demo left
	@for kept in .fencepost/cluster .fencepost/db; do \
		if [[ -s $$kept ]]; then tools/with-postgres --stop "$$(< $$kept)"; fi; \
	done
	@rm -rf .fencepost
