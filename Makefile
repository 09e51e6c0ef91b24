# One command for each task. `make` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup demo demo-check test check lint generate pictures laws long drift faults soak sqllogictest bench bench-quick figures logs logs-billion scale fmt docs clean

BIN := .venv/bin
INSTALLED := .venv/.installed
NOTEBOOK := notebooks/01_first_picture
ROWS := 10M
LOGS := logs
PYTEST := $(BIN)/python -m pytest
# Jupyter refuses to run as root without this option; containers often have no other user.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## Make .venv and install everything (nothing to do while pyproject.toml is unchanged)

$(INSTALLED): pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh
	@touch $@

demo: setup $(NOTEBOOK).ipynb ## Open JupyterLab on the first notebook: a year of flights becomes a live chart
	@$(BIN)/whimbrel warm
	@$(BIN)/python -c "import whimbrel as wb; wb.datasets.flights()"
	@echo "JupyterLab answers on this machine only; the address with its token is printed below. Ctrl-C ends it."
	@$(BIN)/jupyter lab --ip=127.0.0.1 --log-level=WARN $(AS_ROOT) --LabApp.default_url=/lab/tree/$(NOTEBOOK).ipynb

%.ipynb: %.py $(INSTALLED)
	@$(BIN)/jupytext --quiet --to ipynb --output $@ $<

demo-check: setup ## Run the same notebook without a browser and print its last figures
	@$(BIN)/whimbrel warm
	@$(BIN)/python scripts/run_notebook.py $(NOTEBOOK).py

test: setup ## All tests but the long ones, three parts at a time, and the ten slowest; as root on Debian or Ubuntu missing system packages are installed first
	@sh scripts/system.sh
	@sh scripts/maven.sh
	@sh scripts/test.sh

check: setup ## What CI runs: lint beside test, then long
	@$(MAKE) --no-print-directory -j2 lint test
	@$(MAKE) --no-print-directory long

lint: setup ## Style, types and import contracts
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

generate: setup ## Generate the operators' package names, the methods of streams and docs/operators
	@$(BIN)/python scripts/generate_methods.py
	@$(BIN)/python scripts/generate_docs.py
	@$(BIN)/python scripts/generate_functions.py

faults: setup ## Run all feeds against all faults and write the results into docs/feeds.md
	@sh scripts/system.sh
	@sh scripts/maven.sh
	@$(BIN)/python scripts/generate_faults.py

sqllogictest: setup ## Run queries of SQLite's collection and write the table of refusals into docs/sql.md
	@sh scripts/maven.sh
	@PYTHONPATH=. $(BIN)/python scripts/generate_sqllogictest.py

pictures: setup ## Draw the pictures of the documentation from views and a page in JupyterLab
	@PYTHONPATH=. $(BIN)/python scripts/generate_pictures.py

laws: setup ## The laws on 2,000 examples each instead of 40 (make laws SEED=3: the same ones again; EXAMPLES=200: fewer)
	@WHIMBREL_HYPOTHESIS=nightly WHIMBREL_EXAMPLES=$(EXAMPLES) $(PYTEST) tests/laws -m "" --timeout=7200 \
		$(if $(SEED),--hypothesis-seed=$(SEED))

long: setup ## The other tests but soaks: a Spark cluster, processes that are killed, more browsers, notebooks and cases
	@sh scripts/system.sh
	@sh scripts/maven.sh
	@sh scripts/test.sh long

drift: setup ## Slide over a hundred million events and compare the last windows with fresh ones (about a minute)
	@$(BIN)/python -m bench.drift

soak: setup ## Tests that repeat something very often, then ten minutes of a stream in a browser: memory stays flat
	@sh scripts/test.sh soak
	@$(BIN)/python -m bench.soak

bench: setup ## Measure against Polars, DuckDB and the limit loop
	@$(BIN)/python -m bench

bench-quick: setup ## Every benchmark on smaller data; fails where answers differ from those of the peers
	@$(PYTEST) tests/house/test_bench.py -m "soak or long"

figures: setup ## Measure the figures of notebook 10 at full size (about an hour, on a machine that does nothing else)
	@$(BIN)/python -m bench C --json bench/figures/sorting.json
	@$(BIN)/python -m bench D --json bench/figures/latencies.json

logs: setup ## Write a log of ROWS=10M rows to LOGS=logs through Spark: skewed users, disorder, a week (about 15 bytes a row)
	@$(BIN)/python -m bench.logs $(LOGS)/$(ROWS) --rows $(ROWS)

logs-billion: ## The same with a billion rows: 15 GB, about half an hour on two cores
	@$(MAKE) logs ROWS=1B

scale: setup ## Load, back-test and ask early on such a log (make scale ROWS=100M); say what each step took and held
	@$(BIN)/python -m bench.scale $(LOGS)/$(ROWS) --rows $(ROWS)

fmt: setup ## Fix what ruff can fix
	$(BIN)/ruff check --fix

docs: setup ## Check that every name and code block in the documentation works
	@$(PYTEST) tests/docs tests/house

clean: ## Remove all generated files, .venv included
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache notebooks/*.ipynb
	find engine workbench tests bench -name __pycache__ -prune -exec rm -rf {} +
