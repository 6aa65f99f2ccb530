module berth.dev/tests/definitions

go 1.26.0

require (
	github.com/karmada-io/karmada v1.18.2
	github.com/kcp-dev/kcp v0.6.0
	github.com/openmcp-project/openmcp-operator/api v1.3.0
	go.goms.io/fleet v0.14.0
	open-cluster-management.io/api v1.3.0
)
