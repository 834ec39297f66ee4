// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package tutorial_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadme follows the section "Enable it" of README.md: a program has the lines of Go that it shows, and the
// configuration that it shows, and prints what it says.
func TestReadme(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	_, section, _ := strings.Cut(r.read(readme), "\n## Enable it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	text := map[string]string{} // of the blocks, by their kind
	for _, b := range blocks(t, section) {
		if text[b.kind] != "" {
			t.Fatalf("two blocks of the kind %q", b.kind)
		}
		text[b.kind] = b.body
	}
	const example = root + "/examples/agent"
	if d := cmp.Diff(text["yaml"], r.read(example, "contextgraph.yaml")); d != "" {
		t.Errorf("README.md does not show examples/agent/contextgraph.yaml (-README +file):\n%s", d)
	}
	r.write(r.dir, "contextgraph.yaml", text["yaml"])
	r.write(r.dir, "main.go", completed(t, text["go"]))
	for _, name := range []string{"guest.go", "script.go"} {
		r.write(r.dir, name, r.read(example, name))
	}
	if d := cmp.Diff(text[""], strings.TrimSuffix(r.run("go run ."), "\n")); d != "" {
		t.Errorf("the program prints something else (-README +program):\n%s", d)
	}
}

// completed returns a program with the lines: what they leave out is added to them and around them.
func completed(t *testing.T, lines string) string {
	t.Helper()
	const omitted = "/* as before */"
	for _, before := range []string{
		`Name: "barista", Model: scriptedModel{},`,
		`AppName: "cafe", Agent: barista, SessionService: session.InMemoryService(), AutoCreateSession: true,`,
	} {
		lines = strings.Replace(lines, omitted, before, 1)
	}
	if n := strings.Count(program, "LINES"); n != 1 || strings.Contains(lines, omitted) {
		t.Fatalf("README.md leaves out more than the test knows:\n%s", lines)
	}
	return strings.Replace(program, "LINES", lines, 1)
}

const program = `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph"
)

type drink struct {
	Drink string ` + "`json:\"drink\"`" + `
	Price string ` + "`json:\"price,omitempty\"`" + `
}

var menu = map[string]string{"flat white": "$4.20"}

func getPrice(_ agent.Context, d drink) (drink, error) { return drink{d.Drink, menu[d.Drink]}, nil }

func orderDrink(_ agent.Context, d drink) (drink, error) {
	fmt.Println("ran      order_drink")
	return d, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	price := must(functiontool.New(functiontool.Config{Name: "get_price", Description: "Returns the price of a drink."}, getPrice))
	order := must(functiontool.New(functiontool.Config{Name: "order_drink", Description: "Orders a drink."}, orderDrink))
	LINES
	if err != nil {
		log.Fatal(err)
	}
	for _, later := range []string{"$4.20", "$5.00"} {
		if err := visit(context.Background(), os.Stdout, cg, r, func() { menu["flat white"] = later }); err != nil {
			log.Fatal(err)
		}
	}
}
`
