module berth.dev/tests/peers/frame

go 1.26.0
