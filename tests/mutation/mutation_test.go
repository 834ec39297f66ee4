// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package mutation changes a package in one small place at a time and runs its tests. A change that no test notices
// survives, and stands for a test that is missing:
//
//	go test ./tests/mutation -timeout 0 -v -mutate ./safety -also ./internal/store
//
// It turns comparisons around and moves their bounds, exchanges && and ||, negates conditions, and exchanges true and
// false, and 0 and 1 where they are compared. All changes are compiled at once into one test binary, through an
// overlay, and the environment of a process says which one is alive.
package mutation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	toMutate = flag.String("mutate", "", "the `package` to change; by default a toy")
	also     = flag.String("also", "", "`packages` whose tests run too, separated by commas")
	only     = flag.String("files", "*", "the `pattern` of the files to change")
)

const toy = `package toy

type Door struct{ Open, Locked bool }

// May has one test for each condition but one.
func (d *Door) May(key int) bool {
	if d.Locked && key == 0 {
		return false
	}
	return d.Open || key > 100
}
`

const toyTest = `package toy

import "testing"

func TestMay(t *testing.T) {
	for want, d := range map[bool]Door{true: {Open: true}, false: {}} {
		if d.May(0) != want || d.May(99) != want || !d.May(101) {
			t.Error(want)
		}
	}
	if (&Door{Open: true, Locked: true}).May(0) {
		t.Error("locked")
	}
}
`

func TestToy(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"go.mod": "module toy\n\ngo 1.26\n", "toy.go": toy, "toy_test.go": toyTest} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"toy.go: May: key > 100 => key >= 100"}, survivors(t, []string{"."})); diff != "" {
		t.Error(diff)
	}
}

func TestSurvivors(t *testing.T) {
	if *toMutate == "" {
		t.Skip("-mutate names no package")
	}
	t.Chdir(filepath.Join("..", ".."))
	packages := []string{*toMutate}
	if *also != "" {
		packages = append(packages, strings.Split(*also, ",")...)
	}
	found := survivors(t, packages)
	text, err := os.ReadFile(filepath.Join(*toMutate, "testdata", "survivors.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var listed []string // each is a line; the reason stands below, indented
	for line := range strings.Lines(string(text)) {
		file, _, isEntry := strings.Cut(line, ": ")
		if ok, _ := filepath.Match(*only, file); isEntry && ok && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#") {
			listed = append(listed, strings.TrimSpace(line))
		}
	}
	for _, m := range found {
		if !slices.Contains(listed, m) {
			t.Errorf("survived: %s", m)
		}
	}
	for _, m := range listed {
		if !slices.Contains(found, m) {
			t.Errorf("survivors.txt has what is no survivor, or does not exist: %s", m)
		}
	}
}

// target is a package whose tests run.
type target struct{ Dir, ImportPath, Name, Files string }

func list(t *testing.T, pattern string) target {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.Dir}}|{{.ImportPath}}|{{.Name}}|{{join .GoFiles " "}}`, pattern).Output()
	f := strings.Split(strings.TrimSpace(string(out)), "|")
	if err != nil || len(f) != 4 {
		t.Fatalf("go list %s: %v, %q", pattern, err, out)
	}
	return target{f[0], f[1], f[2], f[3]}
}

// survivors changes the first of the packages, runs the tests of all, and returns the changes that none notices.
func survivors(t *testing.T, packages []string) (alive []string) {
	var targets []target
	for _, p := range packages {
		targets = append(targets, list(t, p))
	}
	var sources []*source
	all := []*mutant{nil} // 0 is none
	for _, name := range strings.Fields(targets[0].Files) {
		if ok, _ := filepath.Match(*only, name); ok {
			s := parse(t, filepath.Join(targets[0].Dir, name), &all)
			sources = append(sources, s)
		}
	}
	binaries := build(t, targets, sources, all)
	start := time.Now()
	if said, err := run(t.Context(), targets, binaries, 0, 10*time.Minute); err != nil {
		t.Fatalf("the tests fail without a change: %v\n%s", err, said)
	}
	limit := 30*time.Second + 5*time.Since(start)
	var mu sync.Mutex
	var workers sync.WaitGroup
	left := make(chan int)
	for range runtime.NumCPU() {
		workers.Go(func() {
			for id := range left {
				_, err := run(t.Context(), targets, binaries, id, limit)
				mu.Lock()
				t.Logf("%v: %v", all[id], err)
				if err == nil {
					alive = append(alive, all[id].String())
				}
				mu.Unlock()
			}
		})
	}
	tried := 0
	for id, m := range all {
		if m != nil && !m.unbuilt {
			left <- id
			tried++
		}
	}
	close(left)
	workers.Wait()
	t.Logf("%d changes, %d of them cannot be compiled, %d survive; %v", len(all)-1, len(all)-1-tried, len(alive), time.Since(start).Round(time.Second))
	slices.Sort(alive)
	return alive
}

// build compiles the tests of the targets with all changes. Those that the compiler complains about are left out.
func build(t *testing.T, targets []target, sources []*source, all []*mutant) (binaries []string) {
	const active = "package %s\n\nimport (\n\"os\"\n\"strconv\"\n)\n\nvar mutateActive, _ = strconv.Atoi(os.Getenv(\"MUTATE_ACTIVE\"))\n"
	scratch := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(scratch, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	replace := map[string]string{filepath.Join(targets[0].Dir, "zz_mutate.go"): write("zz_mutate.go", fmt.Sprintf(active, targets[0].Name))}
	texts := make(map[string]string)
	for {
		for _, s := range sources {
			name := filepath.Base(s.path)
			texts[name] = s.emit(s.tree, nil)
			replace[s.path] = write(name, texts[name])
		}
		overlay, err := json.Marshal(map[string]any{"Replace": replace})
		if err != nil {
			t.Fatal(err)
		}
		config := write("overlay.json", string(overlay))
		binaries = nil
		var said []byte
		for i, p := range targets {
			out := filepath.Join(scratch, fmt.Sprintf("%d.test", i))
			binaries = append(binaries, out)
			said, err = exec.Command("go", "test", "-c", "-vet=off", "-cover=false", "-gcflags="+targets[0].ImportPath+"=-e",
				"-overlay", config, "-o", out, p.ImportPath).CombinedOutput()
			if err != nil {
				break
			}
		}
		if err == nil {
			return binaries
		}
		if !blame(all, texts, string(said)) {
			t.Fatalf("%v\n%s", err, said)
		}
	}
}

var (
	position = regexp.MustCompile(`([\w.]+\.go):(\d+):\d+: `)
	caseOf   = regexp.MustCompile(` case (\d+): return `)
)

// blame leaves out the changes on the lines that the compiler names, or on the last line before that has any.
func blame(all []*mutant, texts map[string]string, complaints string) (some bool) {
	for _, match := range position.FindAllStringSubmatch(complaints, -1) {
		lines := strings.Split(texts[match[1]], "\n")
		line, _ := strconv.Atoi(match[2])
		for i := min(line, len(lines)) - 1; i >= 0; i-- {
			found := caseOf.FindAllStringSubmatch(lines[i], -1)
			for _, c := range found {
				id, _ := strconv.Atoi(c[1])
				some = some || !all[id].unbuilt
				all[id].unbuilt = true
			}
			if len(found) > 0 {
				break
			}
		}
	}
	return some
}

// run runs the tests with one change alive. An error says that a test noticed it, or did not end.
func run(ctx context.Context, targets []target, binaries []string, id int, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for i, binary := range binaries {
		cmd := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast", "-test.timeout", limit.String())
		cmd.Dir, cmd.Env = targets[i].Dir, append(os.Environ(), "MUTATE_ACTIVE="+strconv.Itoa(id))
		if said, err := cmd.CombinedOutput(); err != nil {
			return bytes.TrimSpace(said), err
		}
	}
	return nil, nil
}

// mutant is a change of one expression: what stands there instead.
type mutant struct {
	file, fn, from, to string
	unbuilt            bool // it cannot be compiled in the place of the others
}

func (m *mutant) String() string {
	oneLine := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return fmt.Sprintf("%s: %s: %s => %s", m.file, m.fn, oneLine(m.from), oneLine(m.to))
}

// source is a file with the changes of its expressions, by their numbers.
type source struct {
	path, text string
	fset       *token.FileSet
	tree       *ast.File
	at         map[ast.Expr][]int
	all        *[]*mutant
	fn         string
}

func parse(t *testing.T, path string, all *[]*mutant) *source {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &source{path: path, text: string(text), fset: token.NewFileSet(), at: make(map[ast.Expr][]int), all: all}
	if s.tree, err = parser.ParseFile(s.fset, path, text, parser.SkipObjectResolution); err != nil {
		t.Fatal(err)
	}
	for _, d := range s.tree.Decls {
		s.fn = ""
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue // constants have to stay constant
			}
		case *ast.FuncDecl:
			s.fn = d.Name.Name
		}
		ast.Inspect(d, s.visit)
	}
	return s
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

func (s *source) slice(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

func (s *source) add(e ast.Expr, to string) {
	s.at[e] = append(s.at[e], len(*s.all))
	*s.all = append(*s.all, &mutant{file: filepath.Base(s.path), fn: s.fn, from: s.slice(e), to: to})
}

// What a comparison becomes: what it says of none of the values that it says it of now, and what differs where both
// sides are equal.
var (
	opposite = map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ,
		token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	}
	bound = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	flipped = map[string]string{"0": "1", "1": "0", "true": "false", "false": "true"}
	connect = map[token.Token]string{token.LAND: "||", token.LOR: "&&"}
)

func (s *source) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.BinaryExpr:
		x, y := s.slice(n.X), s.slice(n.Y)
		if op, ok := connect[n.Op]; ok {
			s.add(n, "("+x+") "+op+" ("+y+")")
			s.negate(n.X)
			s.negate(n.Y)
		}
		if op, ok := opposite[n.Op]; ok {
			s.add(n, x+" "+op.String()+" "+y)
			if op, ok := bound[n.Op]; ok {
				s.add(n, x+" "+op.String()+" "+y)
			}
			for _, side := range []ast.Expr{n.X, n.Y} {
				if lit, ok := side.(*ast.BasicLit); ok && lit.Kind == token.INT && flipped[lit.Value] != "" {
					at := s.offset(lit.Pos())
					s.add(n, s.text[s.offset(n.Pos()):at]+flipped[lit.Value]+s.text[s.offset(lit.End()):s.offset(n.End())])
				}
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			s.add(n, s.slice(n.X))
		}
	case *ast.Ident:
		if to := flipped[n.Name]; to != "" {
			s.add(n, to)
		}
	case *ast.IfStmt:
		s.negate(n.Cond)
	case *ast.ForStmt:
		s.negate(n.Cond)
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				if n.Tag == nil {
					s.negate(e)
				}
			}
		}
	}
	return true
}

// negate turns a condition around that has no operator of its own.
func (s *source) negate(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident:
		if flipped[e.Name] == "" {
			s.add(e, "!"+e.Name)
		}
	case *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr:
		s.add(e, "!"+s.slice(e))
	}
}

// emit returns the text of n, in which every expression but skip asks which of its changes is alive.
func (s *source) emit(n, skip ast.Node) string {
	start, end := s.offset(n.Pos()), s.offset(n.End())
	if n == s.tree {
		start, end = 0, len(s.text)
	}
	var b strings.Builder
	ast.Inspect(n, func(c ast.Node) bool {
		e, ok := c.(ast.Expr)
		if !ok || c == skip {
			return true
		}
		var cases strings.Builder
		for _, id := range s.at[e] {
			if m := (*s.all)[id]; !m.unbuilt {
				fmt.Fprintf(&cases, " case %d: return %s;", id, m.to)
			}
		}
		if cases.Len() == 0 {
			return true
		}
		b.WriteString(s.text[start:s.offset(e.Pos())])
		fmt.Fprintf(&b, "(func() bool { switch mutateActive {%s }; return %s }())", &cases, s.emit(e, e))
		start = s.offset(e.End())
		return false
	})
	b.WriteString(s.text[start:end])
	return b.String()
}
