# Every target sets up its own .venv first; only python3 (3.11 or newer) with pip is needed.
PYTHON ?= python3
VENV := .venv
CLASSIC := .venv-classic
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SECONDS ?= 600
PYTEST := $(BIN)/python -m pytest -n auto

.DEFAULT_GOAL := help
.PHONY: help setup tools demo test test-all fuzz lint bench docs proto clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

setup: $(STAMP)  ## make .venv with everything that development needs

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sdybridge needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# Their tests are skipped, with the reason, where one is missing.
tools:  ## install gdb, lldb and chromium from Debian, for the tests that run in them (needs root)
	@if command -v gdb > /dev/null && command -v lldb > /dev/null && command -v chromium > /dev/null; then \
	  echo "gdb, lldb and chromium are installed"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get -qq update && apt-get -qq install --no-install-recommends gdb lldb chromium > /dev/null; \
	else \
	  echo "install gdb, lldb and chromium as root: on Debian with 'sudo make tools'"; exit 1; \
	fi

demo: $(STAMP)  ## export a real JAX training step and let XLA check the result
	$(BIN)/python examples/demo.py

test: $(STAMP) lint  ## lint, types and every test (a few minutes)
	$(PYTEST) -m 'not slow'

test-all: $(VENV)/.docs $(CLASSIC)/.installed lint  ## test, with the long sweeps, the older XLA and the site too
	$(PYTEST)

$(CLASSIC)/.installed:
	$(PYTHON) -m venv $(CLASSIC)
	$(CLASSIC)/bin/python -m pip install --quiet --disable-pip-version-check jaxlib==0.6.2
	touch $@

fuzz: $(STAMP)  ## random inputs into every reader for ten minutes, or SECONDS=...
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

lint: $(STAMP)  ## ruff and strict mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)  ## measure against jaxlib and JAX, as ratios in one run
	$(BIN)/python -m benchmarks

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

# Without --quiet, which hides warnings from --strict.
docs: $(VENV)/.docs  ## build the documentation as a site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open build/site/index.html"

# protoc 26 is the last whose modules do not tie themselves to a range of protobuf releases: they run with 5.29 to 7.x.
proto:  ## regenerate the protobuf module from its .proto
	$(PYTHON) -m venv build/protoc
	build/protoc/bin/python -m pip install --quiet --disable-pip-version-check 'grpcio-tools==1.65.5' 'setuptools<81'
	build/protoc/bin/python -m grpc_tools.protoc --proto_path=src --python_out=src --pyi_out=src src/sdybridge/hlo/op_sharding.proto

clean:  ## remove the environment and every generated file
	rm -rf $(VENV) $(CLASSIC) build dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
