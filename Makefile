.DEFAULT_GOAL := help
.PHONY: help demo test rules package guide chart alone console conformance consumers clients clients-go fuzz e2e differential differential-scheduling etcd faults lint ci static release bench-scheduling bench-explain bench-hub bench-hundred-thousand bench-replicas bench-look bench-server bench-growth bench-publications bench-scheduling-peers soak

# Where cargo builds, and the peers of the benchmarks beside it.
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

demo: ## serve standalone with the examples loaded, decided and explained
	cargo run --release -- demo

test: ## every test: unit, scenario, storage, requests, and black-box with kubectl
	@tests/needs cargo cc kubectl
	cargo test --workspace

rules: ## the rules of the house, which only read the tree: layers, documents, dependencies, comments (seconds)
	cargo test --quiet --package berth-house

alone: ## every crate by itself, with the features it asks for and no others (takes many minutes)
	@for crate in $$(cargo tree --workspace --depth 0 --prefix none --format '{p}' | cut -d ' ' -f 1); do \
		echo "== $$crate"; cargo check --quiet --package $$crate --all-targets || failed="$$failed $$crate"; \
	done; test -z "$$failed" || { echo "do not build by themselves:$$failed"; exit 1; }

chart: ## the Helm chart by Helm 3 and 4, beside `berth manifests` and on a real kube-apiserver (needs go)
	@tests/needs cargo cc kubectl go protoc
	$(ETCD_TESTS) --no-run
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test hub -- --ignored install::chart

console: ## the console in headless Chromium, and its pictures in docs/console (needs chromium and chromium-driver)
	@tests/needs cargo cc kubectl protoc chromium chromedriver
	$(ETCD_TESTS) --no-run --test console
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test console -- --ignored --test-threads 1

# One shape for whatever is built with etcd: another choice of packages would resolve features anew and build it all again.
ETCD := --workspace --features berth-storage/etcd,berth/etcd
ETCD_TESTS := cargo test $(ETCD) --test hub --test 'etcd*' --test command_line --test apply_reference --test differential_scheduling --test definitions --test server --test consumers --test clients

consumers: ## what Berth publishes and decides, read by the SIG's libraries, Kueue and Argo CD's generator, in Go, alone and behind a real kube-apiserver (the first time takes minutes; needs go)
	@tests/needs cargo cc kubectl go protoc
	cargo build $(ETCD) --bin berth
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test consumers -- --ignored --test-threads 2

# Further arguments, such as `--skip argo`.
CLIENTS :=

clients: ## programs of others with their own libraries: client-go, controller-runtime, Flux, Argo CD's engine, Helm, Python's client, kopf, fabric8, JavaScript's client (the first time takes minutes; needs go, python3, java, mvn, node and npm)
	@tests/needs cargo cc kubectl go protoc python3 java mvn node npm
	cargo test $(ETCD) --test clients --test command_line --no-run # the second is a test of berth, with which the program is built
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test clients -- --ignored --test-threads 2 $(CLIENTS)

# The others bring package managers of their own, which is much to ask of every run.
clients-go: ## those clients that are in Go, as .ci/run runs them (needs go)
	@tests/needs cargo cc kubectl go protoc
	cargo test $(ETCD) --test clients --test command_line --no-run
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test clients -- --ignored --test-threads 2 --skip others::

# Argo CD's generator alone takes longer to build than three minutes with nothing in Go's cache (tests/consumers/README.md): it is left to `make consumers`.
e2e: ## the tests behind a real kube-apiserver, against its field manager, the systems' own schedulers and the consumers, built from Go modules (the first time takes minutes; needs go and protoc)
	@tests/needs cargo cc kubectl go protoc
	$(ETCD_TESTS) --no-run
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test hub -- --ignored
	cargo test $(ETCD) --test apply_reference --test definitions -- --ignored
	cargo test $(ETCD) --test server observability -- --ignored
	cargo test $(ETCD) --test differential_scheduling -- --ignored --nocapture
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test consumers -- --ignored --test-threads 2 --skip argocd

# The seed and the number of sequences of each test.
differential: export DIFFERENTIAL_SEED := $(or $(DIFFERENTIAL_SEED),1)
differential: export DIFFERENTIAL_SEQUENCES := $(or $(DIFFERENTIAL_SEQUENCES),5000)
differential: ## thousands of generated requests, answered as by kube-apiserver (DIFFERENTIAL_SEQUENCES, DIFFERENTIAL_SEED)
	@tests/needs cargo cc kubectl go protoc
	$(ETCD_TESTS) --no-run
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test hub -- --ignored differential:: --nocapture

# The seed and the number of worlds of each system.
differential-scheduling: export SCHEDULING_SEED := $(or $(SCHEDULING_SEED),1)
differential-scheduling: export SCHEDULING_WORLDS := $(or $(SCHEDULING_WORLDS),3000)
differential-scheduling: ## thousands of generated worlds, decided as by the systems' own schedulers (SCHEDULING_WORLDS, SCHEDULING_SEED)
	@tests/needs cargo cc go protoc
	$(ETCD_TESTS) --no-run
	cargo test $(ETCD) --test differential_scheduling -- --include-ignored --nocapture

etcd: ## the store on etcd, against a real etcd built from its Go module (needs go and protoc)
	@tests/needs cargo cc go protoc
	$(ETCD_TESTS) --no-run
	cargo test $(ETCD) --test 'etcd*' --test command_line

faults: ## processes killed and stopped, leaders lost, disks full, files damaged: nothing acknowledged is lost
	@tests/needs cargo cc kubectl go protoc
	cargo test --workspace --test crash --test damage --test disk_full --test linearizable --test reopen
	BERTH_CRASH_POINTS=all cargo test --workspace --test systems controllers::crash
	cargo test --workspace --test server full_disk -- --ignored
	$(ETCD_TESTS) --no-run
	cargo test $(ETCD) --test etcd_faults --test etcd

# The crates below the placement layer, which others take.
PUBLISHED = $(shell grep -l '^publish = true' */Cargo.toml */*/Cargo.toml | xargs sed -n 's/^name = "\(berth-.*\)"$$/--package \1/p')

conformance: ## Kubernetes' own end-to-end specs that need no Pods, against a standalone server, and protobuf beside Go's (the first time takes minutes; needs go and protoc)
	@tests/needs cargo cc go protoc
	cargo build $(ETCD) --bin berth
	BERTH_PROGRAM=$(TARGET)/debug/berth cargo test $(ETCD) --test server -- --ignored --nocapture conformance::

guide: ## docs/build-your-own.md taken at its word: a package outside of the workspace, built, started, and asked with kubectl
	cargo test -p berth-tests --test server guide -- --ignored

package: ## pack the crates that others take, and build each from its package alone (minutes)
	cargo package --allow-dirty $(PUBLISHED)

fuzz: ## a minute of mutated reviews, placements, divisions, selectors and configurations (FUZZ_SECONDS, FUZZ_SEED)
	cargo build --release -p berth -p berth-fuzz
	$(TARGET)/release/berth-fuzz

lint: ## format check and lints (needs protoc)
	@tests/needs cargo cc protoc
	cargo fmt --all --check
	cargo clippy $(ETCD) --all-targets --quiet -- -D warnings

ci: ## what must pass before a change lands
	bash .ci/run

# musl, because glibc cannot be linked into a program that looks up names.
STATIC := $(shell uname -m)-unknown-linux-musl

static: ## the image's root in target/static: a static binary, with etcd, and /tmp (needs rustup, musl-tools and protoc)
	rustup target add $(STATIC)
	cargo build --profile dist --locked --features etcd --bin berth --target $(STATIC)
	mkdir -p $(TARGET)/static/tmp && chmod 1777 $(TARGET)/static/tmp
	strip -o $(TARGET)/static/berth $(TARGET)/$(STATIC)/dist/berth

release: ## VERSION=0.1.0: programs, checksums, SPDX and notes in target/release-VERSION, each program built twice with the same bytes
	deploy/release build $(VERSION) $(TARGET)/release-$(VERSION)

bench-scheduling: ## time of one decision by fleet size, for each dialect
	cargo run --release -p berth-dialect-fleet --example bench-fleet
	cargo run --release -p berth-dialect-gardener --example bench-gardener
	cargo run --release -p berth-dialect-karmada --example bench-karmada
	cargo run --release -p berth-dialect-kcp --example bench-kcp
	cargo run --release -p berth-dialect-ocm --example bench-ocm
	cargo run --release -p berth-dialect-openmcp --example bench-openmcp

bench-server: ## beside kube-apiserver, sample-apiserver and, with BENCH_OTHER, another berth, into docs/benchmarks (BENCH_ROUNDS=1 BENCH_SECONDS=0.3: short; BENCH_PARTS=forms: JSON, protobuf and WebSockets only)
	cd tests/peers/sample-apiserver && GOFLAGS=-mod=readonly go build -trimpath -o $(TARGET)/peers/sample-apiserver .
	cargo build --release -p berth --features etcd
	BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example bench-server

bench-explain: ## what reports, candidates, creates and starts cost by fleet size, into docs/benchmarks (BENCH_CLUSTERS)
	cargo build --release -p berth
	BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example bench-explain

bench-hundred-thousand: ## what each system costs at the size it is made for, OCM at 100,000 clusters, into docs/benchmarks (BENCH_SYSTEMS, BENCH_PART)
	cargo build --release -p berth
	BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example bench-hundred-thousand

bench-hub: ## what Berth costs beside a kube-apiserver with 20,000 clusters and 5,000 requests of OCM, into docs/benchmarks (BENCH_PART)
	cargo build --release -p berth
	BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example bench-hub

bench-replicas: ## one, two and three servers on one etcd: reads, writes, their CPU, delays of watches, into docs/benchmarks (REPLICAS_SECONDS)
	cargo build --release -p berth --features etcd
	BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example bench-replicas

bench-look: ## what why, compare, console and an observing server cost on a hub that OCM decides, into docs/benchmarks; fails above its bounds
	cargo build --release -p berth
	BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example bench-look

bench-growth: ## what grows with the number of objects and of targets, into docs/benchmarks (GROWTH_OBJECTS, GROWTH_TARGETS, GROWTH_SECONDS)
	cargo build --release -p berth
	BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example bench-growth

bench-publications: ## what one change costs those who follow 5,000 published decisions over 20,000 targets, into docs/benchmarks (PUBLICATIONS_TARGETS, PUBLICATIONS_DECISIONS, PUBLICATIONS_SECONDS)
	cargo build --release -p berth
	BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example bench-publications

soak: ## mixed work, 1,000 watchers and 20,000 objects that come and go, for SOAK_MINUTES=30: fails on errors and on what goes on growing
	cargo build --release -p berth
	ulimit -n 8192 && BERTH_PROGRAM=$(TARGET)/release/berth cargo run --release -p berth-tests --example soak

bench-scheduling-peers: ## beside OCM's, KubeFleet's, Gardener's and Karmada's schedulers, into docs/benchmarks (BENCH_ROUNDS, BENCH_CLUSTERS, BENCH_SYSTEMS)
	cd tests/peers/ocm && GOFLAGS=-mod=readonly go build -trimpath -o $(TARGET)/bench-peers/ocm .
	cd tests/peers/fleet && GOFLAGS=-mod=readonly go build -trimpath -o $(TARGET)/bench-peers/fleet .
	cd tests/peers/gardener && GOFLAGS=-mod=readonly go build -trimpath -o $(TARGET)/bench-peers/gardener .
	cd tests/peers/karmada && GOFLAGS=-mod=readonly go build -trimpath -o $(TARGET)/bench-peers/karmada .
	cargo run --release -p berth-tests --example bench-scheduling-peers
