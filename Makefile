.DEFAULT_GOAL := help
.PHONY: help demo test fuzz e2e etcd faults lint ci bench-scheduling

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

demo: ## serve standalone with the examples loaded, decided and explained
	cargo run --release -- demo

test: ## every test: unit, scenario, storage, requests, and black-box with kubectl
	cargo test --workspace

e2e: ## the tests behind a real kube-apiserver, which is built from Go modules (the first time takes minutes)
	cargo test --workspace --test 'aggregated*' -- --ignored

etcd: ## the store on etcd, against a real etcd built from its Go module (needs go and protoc)
	cargo clippy -p storage -p berth --features storage/etcd,berth/etcd --all-targets --quiet -- -D warnings
	cargo test -p storage -p berth --features storage/etcd,berth/etcd --test 'etcd*' --test command_line

faults: ## processes killed and stopped, leaders lost, disks full, files damaged: nothing acknowledged is lost
	cargo test -p storage --test crash --test damage --test disk_full --test linearizable --test reopen
	cargo test -p storage -p berth --features storage/etcd,berth/etcd --test etcd_faults --test etcd

fuzz: ## a minute of mutated reviews, placements, selectors and configurations (FUZZ_SECONDS, FUZZ_SEED)
	cargo run --release -p fuzz

lint: ## format check and lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

ci: ## what must pass before a change lands
	bash .ci/run

bench-scheduling: ## time of one decision by fleet size, for each dialect
	cargo run --release -p dialect-fleet --example bench
	cargo run --release -p dialect-gardener --example bench
	cargo run --release -p dialect-kcp --example bench
	cargo run --release -p dialect-ocm --example bench
	cargo run --release -p dialect-openmcp --example bench
