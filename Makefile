# Every target sets itself up: Python 3.11 or later and Java 17 are all that must be there.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# SPARK=4.2 names a series of Spark (a folder of bridge/versions) other than the newest, in an environment of its own.
SPARK :=
# CHANGED=main names a revision of git: only tests that the changes since then can reach are run.
CHANGED :=
# PART=1/2 leaves out half of the files of test-core and test-fast.
PART :=
# AUDIT=1: tests that need Spark audit what they read and write; AUDIT=5/24: one test in twenty-four, and no other tests.
AUDIT :=
# PYTHON=/path/to/python3.14 names an interpreter, which has environments of its own, too.
PYTHON ?=
OF_PYTHON := $(if $(PYTHON),-$(shell "$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
export PYTHON
SERIES := $(notdir $(wildcard bridge/versions/*))
VENV ?= .venv$(OF_PYTHON)$(if $(SPARK),-spark-$(SPARK))
FAST ?= .venv-fast$(OF_PYTHON)
SITE ?= .venv-site
DBT ?= .venv-dbt
RELEASE ?= .venv-release
# Folders of PySpark, one for each series, that the bridge is compiled against; a folder of one's own stays.
PYSPARKS ?= build/pyspark
SF ?= 0.1
STORAGE ?= local
DEMO_DATA ?= demo-data/sf$(SF)
BENCH_DATA ?= demo-data/bench
BENCH ?=
BENCH_SCALE ?= $(if $(filter file,$(origin SF)),1,$(SF))
export BENCH_ROUNDS ?= 3
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder

# Tests start many processes: an environment that forbids it would have each of them compile everything again.
export PYTHONDONTWRITEBYTECODE :=

# What the demo needs is there sooner than what the tests need, and is in the same environment.
DEMO_READY = $(if $(wildcard $(READY)),$(READY),$(VENV)/.parquetry-demo)

OF_SERIES := $(if $(SPARK)$(AUDIT),tests/spark)
READY := $(VENV)/.parquetry
RUN := $(VENV)/bin/python

.PHONY: help environment bridge demo advice test test-all test-core test-fast lint bench bench-metastore preview hbase wheel maven-bundle reproducible \
  check-dist check-release docs site golden reach clean java

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

environment: java $(READY) ## make the environment of the tests, and nothing else (SPARK=4.2, PYTHON=python3.14)

bridge: java $(READY) ## compile the bridge for the environment's Spark, and nothing else (SPARK=4.2, PYTHON=python3.14)
	@$(RUN) -c 'from parquetry.spark import bridge_jar; print(bridge_jar.jar())'

demo: java $(if $(filter s3,$(STORAGE)),$(READY),$(DEMO_READY)) ## ask TPC-DS beside plain Spark: what each side reads, and why (SF=1, STORAGE=s3, DEMO_DATA=folder, PICTURE=docs/images/demo.svg)
	@$(RUN) -m demo.run --scale $(SF) --storage $(STORAGE) --folder "$(DEMO_DATA)" $(if $(PICTURE),--picture "$(PICTURE)")

advice: $(DEMO_READY) ## ask the adviser which layout TPC-DS's store_sales should have, without Spark (SF=1, PICTURE=docs/images/advice.svg)
	@$(RUN) -m demo.advice --scale $(SF) --folder demo-data/advice $(if $(PICTURE),--picture "$(PICTURE)")

test: java $(READY) ## run all tests (PYTEST_ARGS=… for some; SPARK=4.2: those of Spark, on Spark 4.2; AUDIT=1: those of Spark, audited; CHANGED=main: those that changes since then can reach)
	@PARQUETRY_CHANGED="$(CHANGED)" PARQUETRY_TEST_AUDIT="$(AUDIT)" $(RUN) -m pytest $(PYTEST_ARGS) $(OF_SERIES)

test-all: java $(READY) $(DBT)/.parquetry ## run all tests with all cases of the exhaustive ones, of which the others run a sample; then those of Spark, audited
	@PARQUETRY_TEST_SAMPLE=1 PARQUETRY_DBT="$(DBT)" $(RUN) -m pytest $(PYTEST_ARGS) $(OF_SERIES)
	@PARQUETRY_TEST_AUDIT=1 $(RUN) -m pytest $(PYTEST_ARGS) tests/spark

test-core: java $(READY) ## run a core of the tests that need Spark (SPARK=4.2, PYTHON=python3.14; PART=1/2: half of it)
	@PARQUETRY_PART="$(PART)" $(RUN) -m pytest $(PYTEST_ARGS) -m core tests/spark

test-fast: $(FAST)/.parquetry ## run what needs neither Java nor a server, exhaustive tests by samples, in some minutes (PYTHON=python3.14; PART=1/2: half of it)
	@PARQUETRY_PART="$(PART)" PARQUETRY_TEST_SAMPLE=20 $(FAST)/bin/python -m pytest $(PYTEST_ARGS) -m "not spark and not hbase and not postgresql" \
	  tests/conformance tests/property src/parquetry tests/unit

lint: $(READY) ## check style, types and prose
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check
	@$(RUN) -m mypy
	@$(RUN) scripts/prose.py

bench: java $(READY) ## measure ratios side by side (BENCH="scans planning" for some of them; BENCH_SCALE=0.1 for a try)
	@$(RUN) -m benchmarks.run --scale $(BENCH_SCALE) --folder "$(BENCH_DATA)" $(BENCH)

bench-metastore: java $(READY) ## find partitions among a million: SQLite, PostgreSQL, HBase, Hive's metastore, DuckLake (BENCH_SCALE=0.1 for a try)
	@$(RUN) -m pip install --quiet --disable-pip-version-check --group bench
	@$(RUN) -m benchmarks.run --scale $(BENCH_SCALE) --folder "$(BENCH_DATA)" metastore

preview: java $(READY) ## try the newest preview of Spark, if there is one: compile the bridge, run a few tests (PREVIEW=4.2.0.dev5: any version)
	@PYTHONPATH=src $(RUN) -m scripts.preview $(if $(PREVIEW),--version "$(PREVIEW)")

hbase: java $(READY) ## start a real HBase to try things on, until Enter is pressed
	@PYTHONPATH=src $(RUN) -m tests.support.hbase

# The jar must not stay: in a source tree it would be taken before the sources, however they have changed since.
wheel: java $(READY) ## build dist/*.whl, which carries the bridge compiled for each series of Spark, and dist/*.tar.gz
	@trap 'rm -rf src/parquetry/spark/jars build/pyspark' EXIT; rm -rf dist src/parquetry/spark/jars build/pyspark; \
	for series in $(SERIES); do \
	  [ -d "$(PYSPARKS)/$$series" ] || \
	  $(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --target "$(PYSPARKS)/$$series" "pyspark==$$series.*"; \
	done; \
	PYTHONPATH=src $(RUN) -m parquetry.spark.bridge_jar "$(PYSPARKS)"/*/pyspark; \
	$(RUN) -m hatchling build

maven-bundle: wheel ## build what Maven Central takes: the wheel's jars with sources and POMs, in dist/maven (SIGN=key of GnuPG)
	@PYTHONPATH=src $(RUN) -m scripts.release.maven $(if $(SIGN),--sign "$(SIGN)") dist/*.whl dist/maven

reproducible: java $(READY) ## build everything twice, in other folders and times, and compare byte for byte; leaves it in dist/
	@scripts/release/reproducible "$(VENV)"

check-dist: $(RELEASE)/.parquetry ## check dist/ as package indexes do: metadata, long description, contents, SBOM
	@$(RELEASE)/bin/python -m twine check --strict dist/*.whl dist/*.tar.gz
	@$(RELEASE)/bin/check-wheel-contents dist/*.whl
	@$(RELEASE)/bin/python -m scripts.release.check_sbom dist/*.whl

check-release: ## check that a tag may be published (TAG=v0.1.0): version, change log, repository
	@python3 -m scripts.release.check_release "$(TAG)"

docs: $(READY) ## write the generated pages of docs/ again
	@$(RUN) -m parquetry.config.reference > docs/configuration.md
	@$(RUN) -m parquetry.cli.reference > docs/cli.md
	@PYTHONPATH=src $(RUN) -m scripts.errors_page > docs/errors.md
	@if [ -e benchmarks/results/tpcds.json ]; then $(RUN) -m benchmarks.tpcds.page; fi

site: $(SITE)/.parquetry ## build the site into site/, and fail if a link or an anchor leads nowhere; open site/index.html
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict

reach: java $(READY) ## record anew which modules each file of tests uses (tests/reach.json), for make test CHANGED=…
	@notes=$$(mktemp -d); PARQUETRY_REACH="$$notes" $(RUN) -m pytest $(PYTEST_ARGS); rm -r "$$notes"

golden: java $(READY) ## record anew what Spark asks the planner (tests/golden/protocol.jsonl)
	@PARQUETRY_RECORD=1 $(RUN) -m pytest tests/spark/suites/test_recorded_questions.py

clean: ## remove all that was made here: the environment, the demo's data, builds, caches
	rm -rf .venv .venv-* demo-data site dist build src/parquetry/spark/jars .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

java:
	@scripts/setup "$(VENV)" java

$(READY): pyproject.toml scripts/setup
	@scripts/setup "$(VENV)" $(SPARK)

$(VENV)/.parquetry-demo: pyproject.toml scripts/setup
	@scripts/setup "$(VENV)" demo

$(FAST)/.parquetry: pyproject.toml scripts/setup
	@scripts/setup "$(FAST)" fast

$(SITE)/.parquetry: pyproject.toml scripts/setup
	@scripts/setup "$(SITE)" site

$(RELEASE)/.parquetry: pyproject.toml scripts/setup
	@scripts/setup "$(RELEASE)" release

$(DBT)/.parquetry: pyproject.toml scripts/setup
	@scripts/setup "$(DBT)" dbt
