module berth.dev/tests/definitions

go 1.26.0

require (
	go.goms.io/fleet v0.14.0
	open-cluster-management.io/api v1.3.0
)
