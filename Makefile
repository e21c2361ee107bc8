# Fairlead. `make help` lists the targets; README.md says what a first run takes.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

TOOLS := $(or $(FAIRLEAD_TOOLS),$(CURDIR)/.tools)
CLUSTER := go run ./test/cluster/cmd/fairlead-cluster
export CGO_ENABLED := 0
# Images, tools and tests are built with the same flags, so that nothing is compiled twice.
# The tag makes programs that link grpc a quarter smaller.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -tags=grpcnotrace)

# Where nothing is compiled yet, a compiler that neither inlines nor describes variables for debuggers needs a third less
# time until the first answer.
quick = GOFLAGS="$$GOFLAGS $$(go list -f "{{if .Stale}}'-gcflags=all=-l -dwarf=false'{{end}}" net/http)"

##@ Use

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: try
try: ## Serve the manifests of test/try without root and without Kubernetes; FOLDER=dir: your own; CHECK=1 checks it and exits 0 or 1
	@mkdir -p $(TOOLS)/bin; echo "Fairlead: compile the starter"
	@(while sleep 4 >/dev/null 2>&1; do echo "  … still at it"; done) & trap "kill $$! 2>/dev/null || :" EXIT; $(call quick) go build -o $(TOOLS)/bin/try ./test/try
	@$(call quick) $(TOOLS)/bin/try $(if $(CHECK),-check) $(if $(FOLDER),-f '$(FOLDER)')

.PHONY: demo
demo: ## Show the whole product on a two-node cluster; CHECK=1 asserts everything, cleans up and exits 0 or 1; CLOUD=aws: with a fake AWS
	go run ./test/demo $(if $(CHECK),-check) $(if $(CLOUD),-cloud $(CLOUD))

.PHONY: build
build: ## Build the programs into bin/
	@mkdir -p bin
	go build -trimpath -o bin/ ./cmd/...

.PHONY: images
images: ## Build the container images into .tools/images (no Docker needed)
	go run ./test/tools haproxy
	go run ./test/image

.PHONY: publish
publish: images ## Push the images to REGISTRY=registry.example.com/path, and write .tools/release, which names them by digest
	go run ./test/image/publish $(REGISTRY)

##@ Check

.PHONY: test
test: tools images ## All tests: unit, HAProxy, API server and a short run on a cluster; says what it skips; MEASURE=1: and what computes how long
	go run ./test/runner $(if $(MEASURE),-measure)

.PHONY: test-full
test-full: tools images ## All tests in their long form: more rounds, HAProxy 3.2 for all cases, longer attacks (hours)
	go run ./test/runner -full

.PHONY: unit
unit: ## Tests that need neither root nor Kubernetes
	go run ./test/tools haproxy
	go run ./test/runner -short

.PHONY: test-signatures
test-signatures: ## Test how releases are signed and verified, with throw-away keys (compiles Sigstore's modules)
	go test -count=1 -timeout 15m ./test/release -run TestSigstore -args -full

.PHONY: e2e
e2e: tools images ## All tests on a cluster (root)
	go test -count=1 -v -timeout 40m ./test/e2e/... ./test/demo

.PHONY: docs-walk
docs-walk: tools images ## Take a stranger from README.md through all tasks of the documentation on a cluster (root)
	go test -count=1 -v -timeout 20m ./test/e2e/chart -run TestWalk -args -full

.PHONY: conformance
conformance: tools images ## Run the conformance suite of the Gateway API on a cluster (root); RUN=TEST runs one and keeps the cluster, SUITE=1.7 a newer suite
	go run ./test/conformance $(if $(SUITE),-suite $(SUITE)) $(if $(RUN),-run '$(RUN)') $(if $(KEEP),-keep) $(if $(FEATURES),-features '$(FEATURES)')

.PHONY: bench
bench: tools images ## Measure throughput, latencies, starts and memory at 10,000 routes
	go run ./test/bench

.PHONY: bench-policy
bench-policy: tools images ## Measure what policies and the policy agent cost at 10,000 routes
	go run ./test/bench -seed -only agent

.PHONY: bench-people
bench-people: tools images ## Measure commands of the plug-in among 10,000 routes, and fairlead serve
	go run ./test/bench -seed -only people

.PHONY: bench-50000
bench-50000: tools images ## Measure throughput, starts and memory at 50,000 routes
	go run ./test/bench -routes 50000 -seed -only throughput,start

.PHONY: bench-gateway
bench-gateway: tools images ## Measure Gateways, HTTPRoutes and ListenerSets by the definitions of gateway-api-bench, up to 40,000 routes (root)
	go run ./test/bench/gateway

.PHONY: bench-lb
bench-lb: tools images ## Measure the address provider: takeovers, handovers, BGP, allocation, memory, elections (root)
	go run ./test/bench/lb

.PHONY: bench-cloud
bench-cloud: ## Count the calls of AWS's API that load balancers cost
	go run ./test/bench/cloud

.PHONY: soak
soak: tools ## Change 2,000 routes and some Gateways 10,000 times under load and lasting connections (root); SEED=N repeats one
	go test -count=1 -v -timeout 30m ./test/soak -args -changes 10000 -routes 2000 -sockets 200 -streams 200 -gateways 8 $(if $(SEED),-seed $(SEED))

.PHONY: hostile
hostile: tools images ## Let one tenant, client and neighbour attack another tenant for ten minutes (root)
	go test -count=1 -v -timeout 40m ./test/hostile -args -duration 10m

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10m); ONLY=REGEXP chooses by PACKAGE/TARGET
	go run ./test/tools haproxy
	go run ./test/fuzz/run -time $(or $(FUZZTIME),10m) -only '$(ONLY)'

.PHONY: docs-check
docs-check: ## Test the documentation: examples, words, links, and its website in a browser
	go test -count=1 -timeout 20m ./docs ./test/docs ./test/tools/site

.PHONY: lint
lint: ## Run golangci-lint with the layer rules, and look for known vulnerabilities
	go run ./test/tools lint
	$(TOOLS)/bin/golangci-lint run ./...
	go run ./test/tools vulnerabilities

.PHONY: verify
verify: ## Regenerate everything generated; fail if anything differs
	@before=$$($(MAKE) -s generated-sums); $(MAKE) -s generate; after=$$($(MAKE) -s generated-sums); \
	diff <(echo "$$before") <(echo "$$after") || { echo "generated files are not up to date: run 'make generate' and commit"; exit 1; }
	go vet ./...
	@test -z "$$(gofmt -l api cmd config console docs examples lbprovider operator router templates test)" || { gofmt -l api cmd config console docs examples lbprovider operator router templates test; echo "run gofmt -w on these"; exit 1; }

.PHONY: generated-sums
generated-sums:
	@find api config docs -type f | LC_ALL=C sort | xargs sha256sum

.PHONY: chart
chart: ## Write the Helm chart into .tools/chart/fairlead; VERSION=v1.2.3 names chart and images
	go run ./config/generate/chart -version '$(VERSION)' $(TOOLS)/chart/fairlead

# The shell, not make, reads VERSION and REGISTRY below: make would run what "$(shell …)" in the name of a tag says.
.PHONY: manifests
manifests: ## Write install.yaml and its like into dist; VERSION=1.2.3 and REGISTRY=registry.example.com/path name the images
	go run ./config/generate/install -version "$$VERSION" $${REGISTRY:+-registry "$$REGISTRY"} dist

.PHONY: release
release: ## Make all that is published of VERSION=1.2.3 in dist: programs, images, chart, manifests, sums; REGISTRY=registry.example.com/path
	rm -rf dist
	go run ./test/release -version "$$VERSION" $${REGISTRY:+-registry "$$REGISTRY"} dist

.PHONY: release-push
release-push: ## Push the images in dist to REGISTRY, as VERSION
	go run ./test/release -push -version "$$VERSION" $${REGISTRY:+-registry "$$REGISTRY"} dist

.PHONY: release-sign
release-sign: ## Sign what is in dist with the key in FAIRLEAD_SIGNING_KEY, or KEYLESS=1 as a workflow of GitHub Actions
	cd test/release/sigstore && go run . sign $(if $(KEYLESS),-keyless) -version "$$VERSION" $${REGISTRY:+-registry "$$REGISTRY"} "$(CURDIR)/dist"

.PHONY: release-attach
release-attach: ## Attach signatures, provenance and bills of materials in dist to the images in REGISTRY, which release-push pushed
	cd test/release/sigstore && go run . attach -version "$$VERSION" $${REGISTRY:+-registry "$$REGISTRY"} "$(CURDIR)/dist"

.PHONY: verify-release
verify-release: ## Check the release VERSION in dist: all signatures, then build it again and compare; KEY=file: by a key; PUSHED=1: what REGISTRY has, too
	key=$${KEY:+$$(realpath "$$KEY")}; cd test/release/sigstore && go run . verify $${key:+-key "$$key"} $(if $(PUSHED),-pushed) -version "$$VERSION" $${REGISTRY:+-registry "$$REGISTRY"} "$(CURDIR)/dist"
	rm -rf $(TOOLS)/verify-release
	go run ./test/release -compare dist -version "$$VERSION" $${REGISTRY:+-registry "$$REGISTRY"} $(TOOLS)/verify-release

##@ Make

.PHONY: generate
generate: ## Generate CRDs, deepcopy, RBAC and reference pages
	go generate ./...

.PHONY: docs-site
docs-site: ## Build the website of the documentation into .tools/site; it needs no server, and no network
	@go run ./test/tools/site -out $(TOOLS)/site

.PHONY: tools
tools: ## Fetch or build what tests need into .tools (about 10 minutes the first time)
	go run ./test/tools all

.PHONY: cluster-up
cluster-up: tools images ## Start a two-node cluster (root)
	$(CLUSTER) up

.PHONY: cluster-down
cluster-down: ## End and remove it
	$(CLUSTER) down

.PHONY: clean
clean: ## Remove what was built, but not the tools
	rm -rf bin $(TOOLS)/images $(TOOLS)/stamps/image-*
