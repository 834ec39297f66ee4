// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/config"
)

// The example loads and is the default. With its samples taken in it loads too, and with the other
// choices it shows each key once, each under a sentence.
func TestExample(t *testing.T) {
	const file = "../contextgraph.example.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(file, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default().WithDefaults(), got.WithDefaults()); diff != "" {
		t.Errorf("the example is not the default (-default +example):\n%s", diff)
	}
	sample := regexp.MustCompile(`(?m)^#(\S|  )`)
	text := sample.ReplaceAllString(string(data), "$1")
	// Two samples need another choice for a key that is set above them.
	text = strings.NewReplacer("store: contextgraph.db.artifacts", "store: gs://bucket/prefix", "require: everything", "require: listed").Replace(text)
	got, err = parse(file, []byte(text), []string{"ADS_TOKEN=abc"})
	if err != nil {
		t.Fatalf("with its samples taken in: %v", err)
	}
	if len(got.Extract) != 1 || len(got.Checkers) != 1 || len(got.Guard.Budgets) != 1 || got.BigQuery.Dataset == "" {
		t.Errorf("%+v", got)
	}

	var top yaml.Node
	all := sample.ReplaceAllString(strings.ReplaceAll(string(data), "\n##", "\n#"), "$1")
	if err := yaml.Unmarshal([]byte(all), &top); err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{"Extract.value.args": strings.Count(all, "value: {args: ")}
	lines := strings.Split(all, "\n")
	countKeys(reflect.TypeFor[config.Config](), top.Content[0], func(of reflect.Type, key *yaml.Node) {
		shown[of.Name()+"."+key.Value]++
		above := lines[key.Line-2]
		if of.Name() != "Drift" && !strings.Contains(above, "# ") {
			t.Errorf("line %d: no sentence is above %s", key.Line, key.Value)
		}
	})
	for _, p := range readSource(t).parts() {
		for _, k := range p.keys {
			if n := shown[k.owner+"."+k.name]; n != 1 && k.owner != "Drift" || n == 0 {
				t.Errorf("the example shows %s %d times", k.path, n)
			}
		}
	}
}

// countKeys calls each with the keys of structs below n, a value of type t.
func countKeys(t reflect.Type, n *yaml.Node, each func(of reflect.Type, key *yaml.Node)) {
	below, _, ok := structBelow(t)
	switch {
	case !ok:
	case n.Kind == yaml.SequenceNode:
		for _, element := range n.Content {
			countKeys(below, element, each)
		}
	case t.Kind() == reflect.Map:
		for i := 1; i < len(n.Content); i += 2 {
			countKeys(below, n.Content[i], each)
		}
	default:
		for i := 0; i+1 < len(n.Content); i += 2 {
			each(below, n.Content[i])
			for _, f := range reflect.VisibleFields(below) {
				if f.Tag.Get("yaml") == n.Content[i].Value {
					countKeys(f.Type, n.Content[i+1], each)
				}
			}
		}
	}
}

// Each variable that the document names is known.
func TestDocumentedVariables(t *testing.T) {
	for _, p := range readSource(t).parts() {
		for _, k := range p.keys {
			if v := k.variable(); v != "" {
				if _, err := config.Parse("c.yaml", nil, []string{v + "="}); err == nil || !strings.Contains(err.Error(), "is set but empty") {
					t.Errorf("%s: %v", v, err)
				}
			}
		}
	}
}
