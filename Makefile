# A thin face over Meson. Everything lands in build/; the two commands to know are `make run` and `make test`.

.DEFAULT_GOAL := build
.PHONY: deps build run test lint clean

PACKAGES := gcc libc6-dev meson ninja-build pkg-config python3 strace \
	libsystemd-dev libmicrohttpd-dev libjansson-dev libyaml-dev libsqlite3-dev nettle-dev libcmocka-dev
PROGRAMS := cli/berth daemon/berthd exec/berth-exec probe/berth-probe

# Install what Debian lacks; root is asked for only when something is missing.
deps:
	@if ! command -v apt-get >/dev/null; then \
		echo "deps: no apt-get here; berth needs the counterparts of: $(PACKAGES)"; exit 0; \
	fi; \
	missing=$$(for package in $(PACKAGES); do \
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

build: deps
	@[ -f build/meson/build.ninja ] || meson setup build/meson
	@ninja -C build/meson
	@for program in $(PROGRAMS); do ln -sf meson/src/$$program build/$${program#*/} || exit 1; done
	@ln -sfn meson/examples build/examples

# The demonstration: a daemon in user mode, a small workload, a link to the page, what to type next.
run: build
	@exec build/berthd --demo

test: build
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
