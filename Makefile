# Outrider. `make run` opens the window, `make test` runs the tests, `make dist` builds the installers; each sets up
# everything first.

PYTHON ?=
ARGS ?=
FLAVOUR ?= standard
LLAMA ?= cpu
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SETUP := packaging/setup

.DEFAULT_GOAL := help
.PHONY: help setup run test check coverage lint bench soak screenshots translations docs dist clean

help:
	@echo "make run      open the window (ARGS=... are passed on)"
	@echo "make test     run the tests (ARGS=... are passed to pytest)"
	@echo "make check    style, types and tests of what was changed and of its rooms: some two minutes"
	@echo "make coverage the tests of the rules, and whether they reach every line and branch"
	@echo "make lint     formatting, rules, types and the boundaries between the packages"
	@echo "make bench    measure speed, 90 minutes (ARGS=\"suite --list\": its parts)"
	@echo "make soak     the long tests"
	@echo "make screenshots  a walk through the program, light and dark, at two scales: pictures in build/screenshots/"
	@echo "make translations  bring the translations up to date with the texts of the sources"
	@echo "make docs     write the API reference from the docstrings: build/docs/engine.html"
	@echo "make dist     build the installers, in dist/ (FLAVOUR=full: with torch and transformers)"
	@echo "make setup    only prepare .venv, as all of the above do first (LLAMA=vulkan or cuda: for graphics cards too)"
	@echo "make clean    remove .venv and everything that was built"

setup: $(READY)

# What LLAMA=… asked for, if it did: without it llama.cpp stays as it was set up.
ASKED := $(if $(filter file,$(origin LLAMA)),,$(strip $(LLAMA)))
ifneq ($(ASKED),)
ifneq ($(ASKED),$(strip $(or $(shell cat $(VENV)/.llama-kind 2>/dev/null),cpu)))
.PHONY: $(READY)
endif
endif

# The stamp names the folder and the processor that it was made for; with any other it does not count.
ifneq ($(strip $(shell cat $(READY) 2>/dev/null)),$(strip $(CURDIR) $(shell sh $(SETUP)/processor.sh)))
.PHONY: $(READY)
endif

KERNELS := $(foreach kind,cmake cpp h,$(wildcard engine/backends/llama_cpp/kernels/*.$(kind) engine/chat/door/*.$(kind))) \
	engine/sampling_rules.def engine/system/llama_settings.py

$(READY): pyproject.toml constraints.txt $(wildcard $(SETUP)/*.py) $(SETUP)/find_python.sh $(SETUP)/processor.sh $(KERNELS)
	@python=$$(sh $(SETUP)/find_python.sh "$(PYTHON)") && \
		exec env LLAMA_KIND="$(ASKED)" "$$python" -B $(SETUP)/set_up.py

run: $(READY)
	@$(BIN)/python -m app $(ARGS)

# Two at a time, and then those that measure time, one by one. Long files have few tests: sorted by the number of their
# tests they would come last, and one process would wait for the other. ARGS: only these.
test: $(READY)
ifeq ($(ARGS),)
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not soak and not alone"
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -m "alone and not soak"
else
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest $(ARGS)
endif

check: $(READY)
	@QT_QPA_PLATFORM=offscreen $(BIN)/python packaging/check_changed.py

# A share of the tries of the campaigns that keeps the whole below 90 minutes on two cores; ARGS may have another one.
SOAK_SHARE := 0.2

soak: $(READY)
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -m soak --share $(SOAK_SHARE) $(ARGS)

# The walk of a new user, which is a test, with its pictures. Wants Xvfb and xdotool; those of the README, which show a
# published pair, want the two files of Qwen2.5-Coder (1.5B and 0.5B, Instruct) in $$REAL_MODELS or ~/.cache/real-models.
screenshots: $(READY)
	@rm -rf build/screenshots
	@OUTRIDER_SCREENSHOTS=build/screenshots $(BIN)/python -m pytest -m "soak or not soak" \
		tests/integration/test_walk.py tests/app/views/window/test_every_view.py $(ARGS)

# What must be covered whole, lines and branches: the rules that the text depends on.
RULES := sampling/acceptance sampling/distribution sampling/rows sampling/cuts lookahead/policy lookahead/acceptance lookahead/costs \
	drafting/ngram library/compat
RULE_TESTS := sampling/test_acceptance sampling/test_distribution sampling/test_candidates sampling/test_rows \
	lookahead/test_auto lookahead/test_auto_beginning lookahead/test_auto_sources lookahead/test_auto_two_sources \
	lookahead/test_acceptance lookahead/test_costs lookahead/test_knowledge \
	generation/test_trees generation/test_late_reading masks/test_reply_masks \
	drafting/test_ngram drafting/test_ngram_odds library/test_compat
COMMA := ,
EMPTY :=

coverage: $(READY)
	@$(BIN)/coverage run --branch --source=engine -m pytest -q $(patsubst %,tests/engine/%.py,$(RULE_TESTS))
	@$(BIN)/coverage report --fail-under=100 --show-missing \
		--include=$(subst $(EMPTY) $(EMPTY),$(COMMA),$(patsubst %,engine/%.py,$(RULES)))

bench: $(READY)
	@$(BIN)/python benchmarks/run.py $(ARGS)

lint: $(READY)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/python packaging/check_functions.py
	@$(BIN)/mypy engine app resources packaging recipes tests benchmarks docs
	@$(BIN)/lint-imports

# New texts are unfinished in the .ts files then; Qt Linguist, or any editor, finishes them, and this makes the .qm.
translations: $(READY)
	@$(BIN)/python packaging/update_translations.py

docs: $(READY)
	@$(BIN)/pdoc engine --no-show-source -o build/docs

# In an environment of its own, so .venv is not needed for it.
dist:
	@python=$$(sh $(SETUP)/find_python.sh "$(PYTHON)") && \
		"$$python" -B packaging/installers/make_dist.py --flavour "$(FLAVOUR)" --llama "$(LLAMA)"

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage htmlcov .hypothesis \
		.mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
