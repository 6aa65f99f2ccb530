// Command etcd is the etcd server, with the flags of the original, for the tests of the storage on etcd. It ends with
// the test that started it, which holds the other end of its standard input, and takes its folder away then.
package main

import (
	"io"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if folder := os.Getenv("BERTH_TEST_FOLDER"); folder != "" {
		go func() {
			// Nothing is ever written: reading ends when the test has.
			_, _ = io.Copy(io.Discard, os.Stdin)
			_ = os.RemoveAll(folder)
			os.Exit(0)
		}()
	}
	etcdmain.Main(os.Args)
}
