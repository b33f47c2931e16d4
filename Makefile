# `make` lists the targets. Everything works from a clean clone; what needs more
# than Go, git and make says so.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Programs are pure Go; only the race detector needs cgo.
export CGO_ENABLED := 0
# Tests are compiled as programs are, so that one compilation serves both, and a clone in
# another folder, too.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

MODULE    := github.com/farread/farread
# What is released is the newest version in the changelog. Another build names the commit
# behind its tag (v0.1.0-12-gabc), or behind that version where no tag is known (v0.1.0-gabc).
RELEASE   ?= v$(shell awk -F '[][]' '/^.. .[0-9]/ {print $$2; exit}' CHANGELOG.md)
VERSION   ?= $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || \
	{ c=$$(git describe --always --dirty --exclude '*' 2>/dev/null) && echo $(RELEASE)-g$$c; } || echo $(RELEASE))
LDFLAGS   := -s -w -X $(MODULE)/internal/version.stamp=$(VERSION)
# The version comes from git here, so that building needs no usable git folder.
GOBUILD   := go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'
# Functions are called over the runtime API alone, and S3 and SQS speak HTTP/1.1: without
# RPC and HTTP/2 their programs are smaller and start sooner.
FUNCTION_TAGS := lambda.norpc,nethttpomithttp2
FUNCTIONS := $(notdir $(wildcard cmd/fn-*))
ARCHES    := arm64 amd64
# The library, the embedded cloud, the measurements with their peers, the tests of
# the Terraform module, those that start containers and what makes releases are modules
# of their own.
MODULES   := . $(patsubst %/go.mod,%,$(wildcard localcloud/go.mod bench/go.mod e2e/aws/go.mod terraform/go.mod scripts/release/go.mod))
CLOUD_PKG  = $(if $(wildcard localcloud/cmd/localcloud/*.go),./cmd/localcloud,.)

SHARED    ?= ../shared
PYTHON    := $(CURDIR)/.venv/bin/python
LINT      := go tool -modfile=go.tool.mod golangci-lint

# What may be set on the command line.
T          ?= 3s
BENCH      ?= .
BENCHTIME  ?= 1s
COUNT      ?= 1
TESTFLAGS  ?=
# More than there are cores, so that the scheduler mixes goroutines; 1,4 runs all tests
# twice and takes twice as long.
RACE_CPU   ?= 4
# A third of the time of tests is collecting garbage, and none that measures memory is raced.
RACE_GOGC  ?= 300
# The race detector looks at tests in which goroutines meet. Those of e2e start programs,
# which it does not see. Of the commands those run that do several things at a time; the
# other tests of commands wait for one thing after the other. Cases of fuzzing, fixtures and
# measured memory are data, which one goroutine looks at: test runs them.
RACE_MODULES := . localcloud
NO_RACE    := ^$(MODULE)/(e2e/.*|cmd/farread)$$
RACE_SKIP  := ^Fuzz|^Example|Memory|Suite|RoundTrip|Mutations|Traces$$|BruteForce|^TestPlaces$$|SamplesByIndex
RACE_CMD   := Backfill|Raced|Killed|Interrupt|Serve|TestS3|TestCp|TestAnalyze|TestAppendInS3|TestArraysInS3
COVER_MIN  ?= 85
# Tests that wait for servers wait together: with as many at a time as there are
# processors, these idle. lint looks at all that go vet does.
TEST_PARALLEL ?= -p=3 -parallel=6 -vet=off
# Two fifths of the time of the commands' tests is collecting garbage. Tests that measure
# memory collect before they look, and programs that they start are told Go's own 100.
TEST_GOGC  ?= 300
# For the tests of one package: go test's own ten minutes are short on a machine that
# is busy with something else.
TIMEOUT    ?= 30m
PKG        ?= ./...
SOAK       ?= .
MUTANTS    ?=

# in-modules runs a command in each module and fails at the end if one failed.
in-modules = status=0; for m in $(MODULES); do (cd $$m && $(1)) || status=1; done; exit $$status

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo "  set: T=$(T) (fuzz), BENCH=$(BENCH) BENCHTIME=$(BENCHTIME) COUNT=$(COUNT), TESTFLAGS=, PKG=$(PKG) (trace-update, mutants), SOAK=$(SOAK) (soak), COVER_MIN=$(COVER_MIN)"

.PHONY: need-go
need-go:
	@command -v go >/dev/null || { echo "make: Go is missing: install the version in go.mod or later (https://go.dev/dl)" >&2; exit 1; }

##@ Build

.PHONY: build
build: need-go build-functions ## bin/farread, bin/localcloud and bin/fn-*/bootstrap for this machine
	$(GOBUILD) -o bin/farread ./cmd/farread
	@[[ -f localcloud/go.mod ]] && ! compgen -G 'bin/localcloud' >/dev/null && echo "the first build of localcloud downloads about 100 MB and takes a minute or two" || true
	cd localcloud && $(GOBUILD) -o ../bin/localcloud $(CLOUD_PKG)

.PHONY: build-functions
build-functions: need-go ## only bin/fn-*/bootstrap
	@[[ -n "$(FUNCTIONS)" ]] || { echo "build-functions: no cmd/fn-* here" >&2; exit 1; }
	@for f in $(FUNCTIONS); do (set -x; $(GOBUILD) -tags $(FUNCTION_TAGS) -o bin/$$f/bootstrap ./cmd/$$f); done

.PHONY: zip
zip: need-go ## reproducible function archives dist/fn-*-{arm64,amd64}.zip
	@[[ -n "$(FUNCTIONS)" ]] || { echo "zip: no cmd/fn-* here" >&2; exit 1; }
	@mkdir -p dist
	@for f in $(FUNCTIONS); do for a in $(ARCHES); do \
		GOOS=linux GOARCH=$$a $(GOBUILD) -tags $(FUNCTION_TAGS) -o dist/$$f-$$a/bootstrap ./cmd/$$f; \
		go run ./scripts/fnzip dist/$$f-$$a.zip dist/$$f-$$a/bootstrap; \
		rm -r dist/$$f-$$a; \
		(cd dist && sha256sum $$f-$$a.zip); \
	done; done

# The systems that a release is for.
RELEASE_TARGETS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64
# Whether zips of the functions are made, too.
RELEASE_FUNCTIONS ?= true

.PHONY: release
release: need-go ## dist/release: archives, wheels and functions of RELEASE_TARGETS with checksums and lists of modules, the same bytes each time
	@go run -C scripts/release . -root '$(CURDIR)' -version $(RELEASE) -targets $(RELEASE_TARGETS) -functions=$(RELEASE_FUNCTIONS)
	@cat dist/release/SHA256SUMS

.PHONY: release-check
release-check: release ## what release makes, taken as a stranger would (arm64 needs qemu-user); MINIMUM=1: tests with the oldest Go, too
	@scripts/release-check.sh $(RELEASE) dist/release $(RELEASE_TARGETS)

.PHONY: image
image: need-go ## a container's image farread:latest of this checkout for this machine (needs Docker)
	@docker version >/dev/null 2>&1 || { echo "image: Docker does not answer here" >&2; exit 1; }
	$(GOBUILD) -o bin/farread ./cmd/farread
	@scripts/image-root.sh bin/farread dist/image
	docker build -q -t farread --build-arg VERSION='$(VERSION)' dist/image

# Where wheels are for; WHEELS=linux/amd64 makes one of them.
WHEELS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: wheel
wheel: need-go ## reproducible wheels of the Python package, dist/farread-*.whl, for WHEELS
	@mkdir -p dist; rm -f dist/farread-*.whl
	@go build -o dist/.wheel ./scripts/wheel
	@for p in $(WHEELS); do \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GOBUILD) -o dist/.program ./cmd/farread; \
		dist/.wheel dist '$(VERSION)' $$p dist/.program; \
	done; rm -f dist/.program dist/.wheel

.PHONY: quickstart
quickstart: build ## the whole job on this machine: local S3, local functions, sample clips
	bin/farread quickstart || test $$? = 130 # Ctrl-C is how it ends

##@ Test

# Each client of S3 parses the authorities that this names, of which tests know nothing.
test test-all race: export AWS_CA_BUNDLE :=

.PHONY: test test-all
test test-all: export GOGC := $(TEST_GOGC)
test: SHORT := -short
test: need-go ## tests that need nothing but Go, except long ones
test-all: need-go ## all tests that need nothing but Go
test test-all:
	@$(call in-modules,go test $(SHORT) -timeout=$(TIMEOUT) -shuffle=on $(TEST_PARALLEL) $(TESTFLAGS) ./...)
	@$(call test-purego)

# What other processors run.
test-purego = go test -tags purego $(TESTFLAGS) ./internal/filter ./internal/adler ./internal/inflate ./internal/zstdfast ./internal/minmax ./internal/sums ./formats/stats ./analyze/internal/vec ./analyze/internal/exact

# What is in assembly for arm64, and what stands on it; no tests of more than a second or two
# there, where an instruction takes ten.
ARM64_PKG  := ./internal/filter ./internal/adler ./internal/inflate ./internal/codec ./internal/zstdenc ./internal/zstdfast ./internal/minmax ./internal/sums ./analyze/internal/vec ./analyze/internal/exact ./formats/blosc ./formats/stats ./formats/zoomcache
ARM64_SKIP := Suite|Edit|RoundTrip|Mutations|Memory|Alloc|Million|SmallLZ4|StandardStreams|^TestCut$$|TrainDict|Crash|SecondsAreNearest
# Whose numbers are stored or answered: a product fused with a sum would round them otherwise.
NO_FUSING  := ./formats/zoomcache ./formats/zoomindex ./analyze/internal/exact ./analyze/internal/cells

.PHONY: test-arm64
test-arm64: export GOARCH := arm64
test-arm64: need-go ## tests of what is in assembly for arm64, on an emulated processor (needs qemu-user)
	@qemu=$$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || { echo "test-arm64: qemu-aarch64 is missing: install qemu-user" >&2; exit 1; }; \
	test="go test -short -exec $$qemu -timeout=$(TIMEOUT) $(TESTFLAGS)"; set -x; \
	go vet $(ARM64_PKG); \
	$$test -skip '$(ARM64_SKIP)' $(ARM64_PKG); \
	$$test -run '^Test(Golden|Fixtures|Bands|BandsFile|Behind)$$' ./formats/zoomindex ./formats/cframe
	@if go build -gcflags=-S $(NO_FUSING) 2>&1 | grep -E '\bFN?M(ADD|SUB)[SD]\b'; then echo "test-arm64: a product is fused with a sum: convert it (float64(x * y))" >&2; exit 1; fi

.PHONY: race
race: need-go ## tests in which goroutines meet, under the race detector (needs a C compiler), on RACE_CPU CPUs
	@command -v "$$(go env CC)" >/dev/null || { echo "race: the race detector needs a C compiler, and $$(go env CC) is missing" >&2; exit 1; }
	@export CGO_ENABLED=1 GOGC=$(RACE_GOGC); race="go test -race -short -vet=off -timeout=$(TIMEOUT) -shuffle=on -cpu=$(RACE_CPU) $(TESTFLAGS)"; status=0; \
	for m in $(RACE_MODULES); do (cd $$m && $$race -skip '$(RACE_SKIP)' $$(go list ./... | grep -vE '$(NO_RACE)')) || status=1; done; \
	$$race -run '$(RACE_CMD)' ./cmd/farread || status=1; exit $$status

.PHONY: soak
soak: need-go ## workers killed, starved and failed at full scale, into docs/reliability.md (25 minutes, 6 GB of disk)
	@rm -f dist/soak.jsonl; mkdir -p dist
	FARREAD_SOAK=$(CURDIR)/dist/soak.jsonl go test ./functions/soak -count=1 -timeout 60m -parallel 2 -run '$(SOAK)' $(TESTFLAGS) || status=$$?; \
	go run ./scripts/soakreport dist/soak.jsonl docs/reliability.md && exit $${status:-0}

.PHONY: cover
cover: need-go ## coverage over all packages; fails below COVER_MIN percent (by hand: counters take half as long again)
	@mkdir -p dist
	@go test -timeout=$(TIMEOUT) -shuffle=on -coverpkg=./... -coverprofile=dist/cover.out $(TESTFLAGS) ./...
	@go tool cover -func=dist/cover.out | awk -v min=$(COVER_MIN) '/^total:/ {sub("%", "", $$3); printf "cover: %s %% of statements, floor %s %%\n", $$3, min; exit ($$3 + 0 < min + 0)}'

.PHONY: fuzz
fuzz: need-go ## each fuzz target for T
	@$(call in-modules,"$(CURDIR)/scripts/fuzz.sh" $(T))

.PHONY: mutants
mutants: need-go ## small changes to PKG (functions and objstore) that no test notices; MUTANTS: flags of scripts/mutants (hours)
	@status=0; for p in $$(go list -f '{{if .TestGoFiles}}{{.ImportPath}}{{else if .XTestGoFiles}}{{.ImportPath}}{{end}}' $(if $(filter ./...,$(PKG)),./functions/... ./objstore/...,$(PKG))); do \
		nice -n 15 go run ./scripts/mutants $(MUTANTS) $$p || status=1; done; exit $$status

.PHONY: bench
bench: need-go ## benchmarks: BENCH, BENCHTIME, COUNT
	@$(call in-modules,go test -timeout=$(TIMEOUT) -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) ./...)

.PHONY: bench-once
bench-once: ## each benchmark once
	@$(MAKE) bench BENCHTIME=1x

.PHONY: bench-report
bench-report: need-go ## farread beside its peers, into docs/performance.md (50 minutes, 12 GB of disk)
	cd bench && go run . -write ../docs/performance.md
	@sed -n '/table: begin/,/table: end/p' docs/performance.md

.PHONY: bench-arm64
bench-arm64: need-go ## instructions that arm64 takes with its kernels and without, on an emulated processor (needs qemu-user); JOBS: a pattern
	@go run ./scripts/armcount '$(JOBS)'

.PHONY: bench-guard
bench-guard: need-go ## some ratios beside the peers of .venv: fails if one fell by a third below docs/performance.md (a minute)
	cd bench && go run . -guard ../docs/performance.md

SERVE_SOAK ?= 30m

.PHONY: soak-serve
soak-serve: need-go ## mixed load on the gateway over a source that fails, for SERVE_SOAK
	FARREAD_SERVE_SOAK=$(SERVE_SOAK) go test ./gateway -count=1 -timeout 2h -run '^TestSoak$$' -v $(TESTFLAGS)

.PHONY: bench-serve
bench-serve: need-go ## farread serve beside nginx, go-pmtiles and Zarr stores (needs nginx, wrk and .venv; 4 minutes)
	cd bench && go run . -rows '^serve-' -rounds $(or $(ROUNDS),5)

.PHONY: stores
stores: build ## other S3 servers, tried by doctor and a round trip, into docs/stores.md (a quarter of an hour, 1 GB of downloads; not in CI)
	scripts/stores.sh $(STORES)

.PHONY: venv
venv: ## .venv with the reference readers for peers (Python 3.11, downloads)
	scripts/venv.sh

.PHONY: peers
peers: need-go ## the reference tools read what farread writes
	@[[ -x $(PYTHON) ]] || { echo "peers: no .venv: run 'make venv' first" >&2; exit 1; }
	@PYTHONPATH=e2e/peers $(PYTHON) -c 'import aiohttp, blosc, blosc2, dask.array, fsspec, gulpio2, neuroglancer, numcodecs, obstore, old_bloscpack, pyarrow, scipy.io, tensorstore, xarray, zarr' 2>/dev/null || { echo "peers: blosc, blosc2, bloscpack, gulpio2, scipy, zarr or one of its clients does not load in .venv: run 'make venv' again" >&2; exit 1; }
	@[[ -n "$$(find e2e/peers -name '*_test.go' 2>/dev/null)" ]] || { echo "peers: there are no tests in e2e/peers" >&2; exit 1; }
	PATH="$(CURDIR)/.venv/bin:$$PATH" FARREAD_PEERS_REQUIRE=1 go test -timeout=$(TIMEOUT) -count=1 -tags peers $(TESTFLAGS) ./e2e/peers/...

.PHONY: wheel-test
wheel-test: build ## the wheel of this machine in a fresh venv reads files and the local cloud as NumPy, xarray and dask do
	@[[ -x $(PYTHON) ]] || { echo "wheel-test: no .venv: run 'make venv' first" >&2; exit 1; }
	@$(MAKE) wheel WHEELS=$$(go env GOHOSTOS)/$$(go env GOHOSTARCH)
	scripts/wheel-test.sh dist/farread-*.whl

# What make proof installs beside what it needs: torch, so that the notebook does not meet its stand-in.
PROOF_WITH ?=

.PHONY: proof
proof: need-go ## a new user's way without Go, home or network: archive, quickstart, wheel, notebook; PROOF_WITH=torch
	@[[ -x $(PYTHON) ]] || { echo "proof: no .venv: run 'make venv' first" >&2; exit 1; }
	@$(MAKE) release RELEASE_TARGETS=$$(go env GOHOSTOS)/$$(go env GOHOSTARCH) RELEASE_FUNCTIONS=false
	scripts/proof.sh dist/release/farread_*_$$(go env GOHOSTOS)_$$(go env GOHOSTARCH).tar.gz dist/release/farread-*.whl $(PROOF_WITH)

.PHONY: browser
# One file after the other: each has a browser of its own.
browser: need-go ## the page in a real browser (needs Node, Chromium and .venv); BROWSER_REQUIRE=1: may not be skipped
	@lacks=; [[ -x $(PYTHON) ]] || lacks+=" .venv (make venv)"; command -v node >/dev/null || lacks+=" node (20 or later)"; \
	[[ -d .node/node_modules ]] || lacks+=" .node (scripts/node.sh)"; \
	command -v "$${CHROMIUM:-chromium}" >/dev/null || lacks+=" chromium"; \
	if [[ -n $$lacks ]]; then echo "browser: missing:$$lacks" >&2; [[ -z $${BROWSER_REQUIRE:-} ]]; exit; fi; \
	$(GOBUILD) -o bin/farread ./cmd/farread; \
	node --test --test-concurrency=1 --test-reporter=spec e2e/browser/*.test.mjs

.PHONY: e2e
# The image is asked for before anything is built. Not ./...: that hides what a passing
# run says, or why there was none.
e2e: need-go ## the scenarios on LocalStack in a container (needs Docker), or where E2E_ENDPOINT says
	@scripts/e2e-ready.sh
	@$(MAKE) zip
	cd e2e/aws && go test -count=1 -v -timeout=$(TIMEOUT) -tags e2e $(TESTFLAGS) | awk -f ../../scripts/counttests.awk

.PHONY: docs-check
docs-check: build ## what pages and the help of commands show is run on the local cloud, its output compared; prints what takes how long
	cd e2e/docs && FARREAD_BIN=$(CURDIR)/bin go test -count=1 -timeout=$(TIMEOUT) -tags docs -run 'TestShell|TestConsole' $(TESTFLAGS)

.PHONY: site-venv
site-venv: ## .site with what makes the pages a site (Python 3.11, downloads)
	@scripts/site-venv.sh

.PHONY: site
site: ## dist/site: the pages as a site (needs .site: make site-venv)
	@[[ -x .site/bin/mkdocs ]] || { echo "site: no .site: run 'make site-venv' first" >&2; exit 1; }
	@rm -rf dist/site
	NO_MKDOCS_2_WARNING=1 .site/bin/mkdocs --quiet build

.PHONY: site-check
site-check: site ## links, anchors and loads of the site, and each page in a browser (needs Node and Chromium); BROWSER_REQUIRE=1: may not be skipped
	@.site/bin/python -m unittest discover --quiet -s scripts/site
	.site/bin/python scripts/site/check.py dist/site
	@lacks=; command -v node >/dev/null || lacks+=" node (20 or later)"; \
	[[ -d .node/node_modules ]] || lacks+=" .node (scripts/node.sh)"; \
	command -v "$${CHROMIUM:-chromium}" >/dev/null || lacks+=" chromium"; \
	if [[ -n $$lacks ]]; then echo "site-check: not looked at in a browser, missing:$$lacks" >&2; [[ -z $${BROWSER_REQUIRE:-} ]]; exit; fi; \
	node --test --test-reporter=spec e2e/site/*.test.mjs

.PHONY: pictures
pictures: build ## the pictures in docs/, of what bin/farread prints, draws and serves (needs Node, Chromium and .venv); look at each
	node --test --test-concurrency=1 e2e/site/pictures.mjs

.PHONY: fixtures-check
fixtures-check: ## bin/farread against the shared interoperability fixtures, where they are
	@if [[ ! -f $(SHARED)/tools/check_fixtures.py ]]; then echo "fixtures-check: nothing to do, $(SHARED) is not here"; exit 0; fi; \
	[[ -x $(PYTHON) ]] || { echo "fixtures-check: no .venv: run 'make venv' first" >&2; exit 1; }; \
	$(MAKE) build; set -x; \
	check="$(PYTHON) $(SHARED)/tools/check_fixtures.py --farread bin/farread"; \
	$$check $(SHARED)/fixtures --kind gulp,gulpdir,blosc1,blosc2,cframe,sframe,b2nd,container; \
	$$check $(SHARED)/fixtures --kind malformed --match 'malformed/(gulp|blosc1|blosc2|cframe|b2nd)'; \
	$$check $(SHARED)/fixtures $(SHARED)/fixtures/bloscpack-vl --kind bloscpack,bloscpack-vl; \
	$$check $(SHARED)/fixtures $(SHARED)/fixtures/bloscpack-vl --kind malformed --match bloscpack; \
	$$check $(SHARED)/fixtures/bloscpack-vl --kind malformed,cli; \
	$$check $(SHARED)/fixtures/zoomcache; \
	$$check $(SHARED)/fixtures/upstream --match '^(?!b2nd )'; \
	$(PYTHON) scripts/check_upstream_array.py bin/farread $(SHARED)/fixtures/upstream

.PHONY: terraform-tools
terraform-tools: need-go ## what terraform-test uses and this machine lacks: tflint, checkov, OpenTofu (kept in ~/.cache)
	scripts/terraform-tools.sh

.PHONY: terraform-test
terraform-test: ## terraform/: fmt, validate, test, tflint, checkov, go test; TF_REQUIRE=1: nothing may be skipped; TF_PLUGIN_MIRROR
	@scripts/terraform-test.sh

.PHONY: trace-update
trace-update: need-go ## rewrite the golden request traces of PKG; read the diff
	@packages=$$(go list -f '{{.Dir}}' $(PKG) | while read -r d; do compgen -G "$$d/testdata/*.trace" >/dev/null && echo "$$d" || true; done); \
	[[ -n $$packages ]] || { echo "trace-update: no testdata/*.trace in $(PKG)" >&2; exit 1; }; \
	go test $$packages -update; git --no-pager diff --stat -- '*.trace'

##@ Code

.PHONY: lint
lint: need-go ## golangci-lint over all modules (its first run builds it: 2 minutes)
	@$(LINT) config verify
	@lint=$$(go tool -modfile=go.tool.mod -n golangci-lint); $(call in-modules,$$lint run ./...)

.PHONY: lint-selftest
lint-selftest: need-go ## prove that each layer rule of .golangci.yml bites
	go test -timeout=$(TIMEOUT) -tags lint ./internal/lint

.PHONY: generate-check
generate-check: need-go ## generated assembly is what its generator makes
	go generate ./internal/filter ./internal/adler ./internal/inflate ./internal/minmax ./internal/sums ./analyze/internal/vec
	git diff --exit-code -- internal/filter/kernels_amd64.go internal/filter/kernels_amd64.s internal/adler/sum_amd64.go internal/adler/sum_amd64.s internal/inflate/symbols_amd64.go internal/inflate/symbols_amd64.s internal/minmax/scan_amd64.go internal/minmax/scan_amd64.s internal/sums/sums_amd64.go internal/sums/sums_amd64.s analyze/internal/vec/vec_amd64.go analyze/internal/vec/vec_amd64.s

.PHONY: fmt
fmt: need-go ## format the code
	@lint=$$(go tool -modfile=go.tool.mod -n golangci-lint); $(call in-modules,$$lint fmt ./...)

.PHONY: tidy-check
tidy-check: need-go ## go.mod and go.sum say what the code needs
	@$(call in-modules,go mod tidy -diff)

##@ All

CI_STEPS := lint lint-selftest generate-check test-all test-arm64 race bench-once bench-guard tidy-check release-check fuzz peers wheel-test browser docs-check site-check fixtures-check e2e terraform-test

.PHONY: ci-steps
ci-steps:
	@echo "$(CI_STEPS)"

.PHONY: ci
# One failure does not hide what the later steps would say. Of a release only one system is
# made: each is a minute or two of compiling.
ci: export RELEASE_TARGETS := linux/amd64
# The step e2e makes them.
ci: export RELEASE_FUNCTIONS := false
ci: ## everything that CI runs, in its order, with the time of each step
	@failed=; for step in $(CI_STEPS); do begun=$$SECONDS; \
		$(MAKE) $$step || failed+=" $$step"; echo "== $$step: $$((SECONDS - begun)) s"; done; \
	[[ -z $$failed ]] || { echo "ci: failed:$$failed" >&2; exit 1; }

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
