// Runs chosen specs of Kubernetes' own end-to-end tests (k8s.io/kubernetes, test/e2e) against an API server
// and writes what became of each as a line of JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"

	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/auth"
	_ "k8s.io/kubernetes/test/e2e/common"
	_ "k8s.io/kubernetes/test/e2e/instrumentation"
	_ "k8s.io/kubernetes/test/e2e/network"
)

// spec is what became of one.
type spec struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	Failure string  `json:"failure,omitempty"`
}

// outcome is what ginkgo tells of the whole run; it asks a testing.T for no more.
type outcome struct{}

func (outcome) Fail() {}

func main() {
	names := flag.String("specs", "", "file with the names of the specs to run, one a line")
	report := flag.String("specs-report", "", "file for a line of JSON on each spec that ran")
	list := flag.Bool("specs-list", false, "write the names of all specs into the report, and run none")
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()

	suite, reporter := ginkgo.GinkgoConfiguration()
	if *list {
		suite.DryRun = true
	} else {
		framework.AfterReadingAllFlags(&framework.TestContext)
		framework.TestContext.IPFamily = "ipv4"
		suite, reporter = framework.CreateGinkgoConfig()
		suite.FocusStrings = []string{focus(*names)}
		suite.SkipStrings = nil
	}
	out, err := os.Create(*report)
	if err != nil {
		fatal(err)
	}
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	ginkgo.ReportAfterEach(func(told ginkgo.SpecReport) {
		if told.State == types.SpecStateSkipped && !*list && told.Failure.Message == "" {
			return
		}
		err := lines.Encode(spec{told.FullText(), told.State.String(), told.RunTime.Seconds(), told.Failure.Message})
		if err != nil {
			fatal(err)
		}
	})
	gomega.RegisterFailHandler(framework.Fail)
	ginkgo.RunSpecs(outcome{}, "Kubernetes", suite, reporter)
	if err := out.Close(); err != nil {
		fatal(err)
	}
}

// focus is the expression that the specs named in the file match, and no others.
func focus(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		fatal(err)
	}
	var names []string
	for _, line := range strings.Split(string(text), "\n") {
		if line != "" {
			names = append(names, regexp.QuoteMeta(line))
		}
	}
	return "^Kubernetes (?:" + strings.Join(names, "|") + ")$"
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
