// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package tutorial_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = root + "/examples/agent"

// followReadme follows the section "Enable it" of README.md: a program with the lines of Go and the configuration that it
// shows prints what it says.
func followReadme(t *testing.T, r *reader) {
	shown := writeReadme(r)
	if d := cmp.Diff(shown["yaml"], read(t, example, "contextgraph.yaml")); d != "" {
		t.Errorf("README.md does not show examples/agent/contextgraph.yaml (-README +file):\n%s", d)
	}
	if d := cmp.Diff(shown[""], strings.TrimSuffix(r.run("go run ."), "\n")); d != "" {
		t.Errorf("the program prints something else (-README +program):\n%s", d)
	}
}

// writeReadme makes the files of the section and returns its blocks by their kinds.
func writeReadme(r *reader) (shown map[string]string) {
	r.t.Helper()
	_, section, _ := strings.Cut(read(r.t, readme), "\n## Enable it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	shown = make(map[string]string)
	for _, b := range blocks(r.t, section) {
		if shown[b.kind] != "" {
			r.t.Fatalf("two blocks of the kind %q", b.kind)
		}
		shown[b.kind] = b.body
	}
	r.write("contextgraph.yaml", shown["yaml"])
	r.write("main.go", completed(r.t, shown["go"]))
	for _, name := range []string{"guest.go", "script.go"} {
		r.write(name, read(r.t, example, name))
	}
	return shown
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
