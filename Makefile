# A thin face over Meson. Everything lands in build/; the two commands to know are `make run` and `make test`.

.DEFAULT_GOAL := build
.PHONY: deps test-deps build run test lint clean

PACKAGES := gcc libc6-dev meson ninja-build pkg-config python3 \
	libsystemd-dev libmicrohttpd-dev libjansson-dev libyaml-dev libsqlite3-dev nettle-dev libcmocka-dev
TEST_PACKAGES := strace clang chromium
PROGRAMS := cli/berth daemon/berthd exec/berth-exec probe/berth-probe

# Install what Debian lacks of these packages; root is asked for only when something is missing.
define install
	@if ! command -v apt-get >/dev/null; then \
		echo "deps: no apt-get here; berth needs the counterparts of: $(1)"; exit 0; \
	fi; \
	missing=$$(for package in $(1); do \
		dpkg-query -W -f='$${db:Status-Status}\n' $$package 2>/dev/null | grep -qx installed || echo $$package; \
	done); \
	[ -n "$$missing" ] || exit 0; \
	echo "deps: installing" $$missing; \
	if [ "$$(id -u)" = 0 ]; then root=; \
	elif command -v sudo >/dev/null; then root=sudo; \
	else echo "deps: run this as root, then make again: apt-get install --no-install-recommends" $$missing; exit 1; fi; \
	$$root apt-get -q -o DPkg::Lock::Timeout=300 update && \
	$$root env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends $$missing
endef

deps:
	$(call install,$(PACKAGES))

# What tests need beyond that: a browser for the page, a second compiler, a tracer to kill at any system call.
test-deps: deps
	$(call install,$(TEST_PACKAGES))

build: deps
	@[ -f build/meson/build.ninja ] || meson setup build/meson
	@ninja -C build/meson
	@for program in $(PROGRAMS); do ln -sf meson/src/$$program build/$${program#*/} || exit 1; done
	@ln -sfn meson/examples build/examples

# The demonstration: a daemon in user mode, a small workload, a link to the page, what to type next.
run: build
	@exec build/berthd --demo

test: test-deps build
	@exec python3 tests/run.py

ifneq ($(wildcard tests/bench/meson.build),)
.PHONY: bench
bench: build
	@exec meson test -C build/meson --no-rebuild --suite bench --num-processes 1 --verbose
endif

ifneq ($(wildcard tests/chaos/meson.build),)
.PHONY: chaos
chaos: build
	@exec meson test -C build/meson --no-rebuild --suite chaos --num-processes 1 --verbose
endif

# What the two compilers' analysers say; needs clang-tidy beside the packages above.
lint: build
	@exec python3 tests/lint.py

clean:
	rm -rf build
