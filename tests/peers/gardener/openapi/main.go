// Openapi prints the schemas of Gardener's core kinds, as its API server publishes them: an object by kind, with every
// reference replaced by what it names, and without texts.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	"github.com/gardener/gardener/pkg/apiserver/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const group = "com.github.gardener.gardener.pkg.apis.core.v1beta1."

func main() {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/" + name) })
	kinds := map[string]any{}
	for _, kind := range os.Args[1:] {
		if _, known := definitions[group+kind]; !known {
			log.Fatalf("there is no kind %s", kind)
		}
		kinds[kind] = expanded(definitions, group+kind, nil)
	}
	if err := json.NewEncoder(os.Stdout).Encode(kinds); err != nil {
		log.Fatal(err)
	}
}

// expanded gives the definition of that name; one inside itself is an object of anything.
func expanded(definitions map[string]common.OpenAPIDefinition, name string, within []string) any {
	for _, outer := range within {
		if outer == name {
			return map[string]any{"type": "object"}
		}
	}
	text, err := json.Marshal(definitions[name].Schema)
	if err != nil {
		log.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		log.Fatal(err)
	}
	return resolved(definitions, tree, append(within, name))
}

func resolved(definitions map[string]common.OpenAPIDefinition, tree any, within []string) any {
	switch value := tree.(type) {
	case []any:
		for index := range value {
			value[index] = resolved(definitions, value[index], within)
		}
	case map[string]any:
		// The published schemas call the zero values of Go's types defaults.
		switch zero := value["default"].(type) {
		case string:
			if zero == "" {
				delete(value, "default")
			}
		case map[string]any:
			if len(zero) == 0 {
				delete(value, "default")
			}
		case float64:
			if zero == 0 {
				delete(value, "default")
			}
		case bool:
			if !zero {
				delete(value, "default")
			}
		}
		// A property may have this name, too: then it is no text.
		if _, isText := value["description"].(string); isText {
			delete(value, "description")
		}
		if reference, isText := value["$ref"].(string); isText {
			return expanded(definitions, strings.TrimPrefix(reference, "#/"), within)
		}
		for key := range value {
			value[key] = resolved(definitions, value[key], within)
		}
	}
	return tree
}
