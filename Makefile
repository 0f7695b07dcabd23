# Everything a person or CI does with this project, by one name each; `make` alone lists them.
# It must not know more than commands: versions are in pyproject.toml, requirements.lock and the poms.

PYTHON ?= python3
MVN ?= mvn
ONCE ?=
SEED ?=
MINUTES ?= 20
PROCESSES ?= 2
PYTEST_ARGS ?=
RECORDS ?= 50000

# What is locked: all that people may ask for, and what developers need. Not `all`, which pip-compile
# would lock as this folder.
EXTRAS := dev gateway postgres protobuf spark

BIN := .venv/bin
# Trino is a download of 0.8 GB, for its own tests alone.
POMS := $(filter-out stack/jars/trino.pom.xml,$(wildcard stack/jars/*.pom.xml))
JARS := $(POMS:stack/jars/%.pom.xml=build/jars/%/.stamp)
NATIVE := setup.py $(shell find hotset -name '*.[ch]')
SANITIZERS := -fsanitize=address,undefined
COPY_JARS := org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies

.DELETE_ON_ERROR:
.PHONY: help setup lock demo test test-long test-trino test-fast lint types bench oracle sanitize docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.stamp $(JARS) ## install Python packages into .venv and fetch the jars of local services

demo: .venv/.stamp build/jars/kafka/.stamp ## start everything here and show a record in SQL before any commit (ONCE=1: show, then end)
	@ONCE='$(ONCE)' $(BIN)/python -m stack.demo

test: setup ## run all tests but the long ones, in two processes (PYTEST_ARGS='-k cut' runs some, PROCESSES=0 runs in one)
	@$(BIN)/python -m pytest -n $(PROCESSES) -m "not long" $(PYTEST_ARGS)

test-long: setup ## run the long tests: live writers, the long loop and faults of the oracle, random tables, benchmarks
	@$(BIN)/python -m pytest -n $(PROCESSES) -m long $(PYTEST_ARGS)

test-trino: setup build/jars/trino/.unpacked ## run the tests with Trino, which is a download of 0.8 GB and wants Java 24
	@$(BIN)/python -m pytest -m long tests/sql_gateway/iceberg/test_trino.py $(PYTEST_ARGS)

test-fast: setup ## run the tests that start no service and take seconds
	@$(BIN)/python -m pytest -n $(PROCESSES) -m "not service and not oracle and not long" $(PYTEST_ARGS)

lint: setup ## check style and formatting
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: setup ## check types
	@$(BIN)/mypy

bench: setup ## measure freshness, exactness and speed
	@$(BIN)/python -m benchmarks

oracle: setup ## hurt everything by seed and judge every answer (SEED=7 MINUTES=20)
	@$(BIN)/python -m tests.oracle --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

sanitize: .venv/.stamp ## build the C modules with GCC's sanitizers, in a copy, and hurt records there (RECORDS=50000 SEED=7)
	@rm -rf build/sanitized && mkdir -p build/sanitized && cp -R setup.py pyproject.toml README.md LICENSE hotset tests build/sanitized
	@find build/sanitized -name '*.so' -delete
	@cd build/sanitized && CFLAGS='-O1 -g $(SANITIZERS) -fno-sanitize-recover=all' LDFLAGS='$(SANITIZERS)' \
		$(abspath $(BIN))/python setup.py --quiet build_ext --inplace
	@cd build/sanitized && export PYTHONMALLOC=malloc ARROW_DEFAULT_MEMORY_POOL=system ASAN_OPTIONS=detect_leaks=0 \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" && \
		$(abspath $(BIN))/python -c 'import hotset.decode.json._json, hotset.decode.avro._interpreter, hotset.decode.protobuf._wire' && \
		for format in json avro protobuf framed; do $(abspath $(BIN))/python -m tests.fuzz $$format \
		--records $(RECORDS) $(if $(SEED),--seed $(SEED)) || exit 1; done

docs: setup ## render OPTIONS.md, ERRORS.md and DOCTOR.md from the code
	@$(BIN)/python -m kafkaiceberg docs

lock: setup ## choose package versions anew from pyproject.toml
	@$(BIN)/pip-compile --quiet --upgrade --generate-hashes $(EXTRAS:%=--extra %) --strip-extras --allow-unsafe \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
		--output-file requirements.lock pyproject.toml

clean: ## remove everything that make has made
	rm -rf .venv build *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find hotset -name '*.so' -delete
	rm -rf spark-warehouse metastore_db derby.log

.venv/.stamp: requirements.lock pyproject.toml $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@echo "setup: creating .venv"
	@$(PYTHON) -m venv .venv
	@echo "setup: installing the locked Python packages (some minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@echo "setup: installing kafkaiceberg itself"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

build/jars/%/.stamp: stack/jars/%.pom.xml
	@command -v $(MVN) >/dev/null || { echo "setup: Maven ($(MVN)) is needed to fetch jars" >&2; exit 1; }
	@echo "setup: fetching the jars of $*"
	@rm -rf $(@D)
	@$(MVN) -q -B -Dstyle.color=never -f $< $(COPY_JARS) -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(@D)
	@touch $@

# Maven makes empty files of the archive's hard links.
build/jars/trino/.unpacked: build/jars/trino/.stamp
	@tar -xzf $(@D)/trino-server-*.tar.gz -C $(@D) --strip-components=1
	@rm $(@D)/trino-server-*.tar.gz
	@touch $@
