// Promrules checks rule files as `promtool check rules` does, and the queries of Grafana's dashboards.
//
//	promrules FILE...
//
// A FILE that ends in .json is a dashboard. Every problem is printed, and the exit code is 1 if there was one.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	var problems []string
	checked := 0
	for _, file := range os.Args[1:] {
		count, found := check(file)
		checked += count
		for _, problem := range found {
			problems = append(problems, fmt.Sprintf("%s: %s", file, problem))
		}
	}
	fmt.Printf("%d rules and queries checked\n", checked)
	if len(problems) > 0 {
		fmt.Fprintln(os.Stderr, strings.Join(problems, "\n"))
		os.Exit(1)
	}
}

func check(file string) (int, []string) {
	if strings.HasSuffix(file, ".json") {
		return dashboard(file)
	}
	return rules(file)
}

func rules(file string) (int, []string) {
	groups, errors := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.Default())
	var problems []string
	for _, problem := range errors {
		problems = append(problems, problem.Error())
	}
	if groups == nil {
		return 0, problems
	}
	count := 0
	seen := map[string]bool{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			count++
			name := rule.Record + rule.Alert
			if seen[name] {
				problems = append(problems, "two rules are named "+name)
			}
			seen[name] = true
		}
	}
	return count, problems
}

// dashboard parses what every panel asks for. Grafana puts in its variables first.
func dashboard(file string) (int, []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, []string{err.Error()}
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return 0, []string{err.Error()}
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "1h")
	count := 0
	var problems []string
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				visit(item)
			}
		case map[string]any:
			if query, ok := value["expr"].(string); ok {
				count++
				if _, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(query)); err != nil {
					problems = append(problems, fmt.Sprintf("%s: %v", query, err))
				}
			}
			for _, item := range value {
				visit(item)
			}
		}
	}
	visit(root)
	return count, problems
}
