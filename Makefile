# Targets: install, demo, serve, test, nightly, check, docs, pictures, bench, soak, studies, dist. Each installs what it needs into .venv.

PYTHON ?= python3
BIN := .venv/bin
# What is installed beside the collector: its add-ons, and the studies.
ADDONS := $(patsubst %/pyproject.toml,./%,$(wildcard collector/addons/*/pyproject.toml)) ./docs/studies
# Rooms with the extras that every target needs.
ROOMS := -e ./shared -e './client[analyst,pandas,plot,sealed]' -e './collector[all,cluster,parquet,plot,postgres]' \
  $(addprefix -e ,$(ADDONS))
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The tests start hundreds of processes. Keep compiled modules for the next process, even if the
# environment says otherwise.
export PYTHONDONTWRITEBYTECODE :=
PROJECTS := pyproject.toml $(addsuffix /pyproject.toml,shared client collector $(ADDONS))

.PHONY: install demo test nightly check docs pictures bench soak studies serve dist wheels npm clean \
  check-types check-manual check-style check-scripts collected

install: .venv/.installed client/node_modules/.installed

demo: .venv/.installed
	rm -f demo.db demo.db-shm demo.db-wal demo.db-turn
	$(BIN)/halftruth demo --keep demo.db

# Run a collector on halftruth.db; make serve PORT=9000 uses another port.
PORT ?= 8000
serve: .venv/.installed client/node_modules/.installed
	$(BIN)/halftruth serve --port $(PORT)

# Four processes on two cores, since tests often wait. Idle processes take over tests from busy ones.
# One thread for each process, since several would wait for each other.
test nightly soak: export OPENBLAS_NUM_THREADS := 1
test: .venv/.developed client/node_modules/.installed
	$(BIN)/python -m pytest -n 4 --dist worksteal

# Compile the tests once for all processes of `make test`. In a fresh clone each would compile them,
# which takes two thirds of the time until the first test. The tests report imports that fail.
collected: .venv/.developed
	-@$(BIN)/python -m pytest --collect-only -qq >/dev/null

# Tests that `make test` leaves out: simulations of coverage, generated requests, faults. The option
# is the number of seconds after which a test counts as hung.
nightly soak: PATIENTLY := --override-ini faulthandler_timeout=3600
nightly: .venv/.developed client/node_modules/.installed
	$(BIN)/python -m pytest $(PATIENTLY) -n 4 --dist worksteal -m nightly

# make -j 2 check runs two at a time.
CHECKS := check-types check-manual check-style check-scripts
check: $(CHECKS)

check-types: .venv/.developed
	$(BIN)/mypy

check-manual: .venv/.developed
	$(BIN)/sphinx-build $(STRICT) -b dummy docs docs/_build/check
	git ls-files '*.md' | xargs $(BIN)/codespell

check-style: .venv/.developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

check-scripts: client/node_modules/.installed
	if [ -x client/node_modules/.bin/tsc ]; then cd client && node_modules/.bin/tsc -p jsconfig.json; fi

# Build the manual as a site in docs/_build/html; a broken link is an error.
STRICT := --quiet --fail-on-warning --keep-going
docs: .venv/.developed
	$(BIN)/sphinx-build $(STRICT) -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Measure throughput with wrk (Debian's package wrk); without it, an error says so.
bench: .venv/.benched
	$(BIN)/python tests/bench/run.py

# All rounds of every fault, the error rates of results, and the nightly tests with more requests.
soak: .venv/.benched client/node_modules/.installed
	$(BIN)/python tests/soak/run.py
	$(BIN)/python tests/bench/honesty.py
	HALFTRUTH_TEST_REQUESTS=100000 $(BIN)/python -m pytest $(PATIENTLY) -n 4 --dist worksteal -m nightly

# Take the manual's pictures of pages again, with Chromium.
pictures: .venv/.developed
	$(BIN)/python docs/pictures.py

# Tables and figures of docs/studies/.
studies: .venv/.installed
	$(BIN)/python docs/studies/run.py

# Wheels of all distributions, the npm package with types and a bundle, and that bundle for plain pages.
# The same sources give the same bytes: file modes do not depend on the umask of the clone.
DIST ?= dist
dist: wheels npm

wheels: .venv/.installed client/node_modules/.installed
	mkdir -p $(DIST)
	rm -f $(DIST)/halftruth*.whl
	$(PIP) wheel --no-deps --build-constraint constraints.txt --wheel-dir $(DIST) \
	  ./shared ./client ./collector $(ADDONS)

npm: client/node_modules/.installed
	mkdir -p $(DIST)
	rm -rf client/dist $(DIST)/halftruth*.js $(DIST)/halftruth*.tgz
	find client -name node_modules -prune -o -type f -exec chmod 644 {} +
	umask 022 && cd client && npm pack --silent --pack-destination $(abspath $(DIST))
	cp client/dist/halftruth.js $(DIST)
	@echo "halftruth.js: $$(gzip -9 -c $(DIST)/halftruth.js | wc -c) bytes compressed," \
	  "integrity=\"sha384-$$(node -p 'require("crypto").createHash("sha384") \
	  .update(require("fs").readFileSync("$(DIST)/halftruth.js")).digest("base64")')\""

clean:
	rm -rf .venv client/node_modules client/dist dist $(dir $(FORM))

client/node_modules/.packages: client/package.json
	@if command -v npm >/dev/null && cd client && npm install --no-package-lock --no-audit \
	  --no-fund --ignore-scripts --loglevel=error; then touch node_modules/.packages; \
	elif [ -n "$$CI" ]; then echo "npm failed or is missing" >&2; exit 1; \
	else echo "npm failed or is missing: the JavaScript client is not checked, and the form is not built"; fi

# The form as one file, as a collector serves it. Without Node.js it serves the modules instead.
FORM := collector/halftruth_collector/web/built/manifest.json
$(FORM): client/node_modules/.packages client/build.mjs $(shell find client/halftruth_client/js -name '*.js')
	@if [ -d client/node_modules/esbuild ]; then node client/build.mjs; fi

client/node_modules/.installed: client/node_modules/.packages $(FORM)
	@if [ -d client/node_modules ]; then touch $@; fi

.venv/.created: constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) install --constraint constraints.txt --upgrade pip
	touch $@

.venv/.installed: .venv/.created $(PROJECTS)
	$(PIP) install --constraint constraints.txt --build-constraint constraints.txt $(ROOMS)
	touch $@

.venv/.developed: .venv/.installed
	$(PIP) install --constraint constraints.txt --group dev
	touch $@

.venv/.benched: .venv/.developed
	$(PIP) install --constraint constraints.txt --build-constraint constraints.txt --group bench
	touch $@
