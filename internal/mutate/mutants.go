// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one change of one expression.
type mutant struct {
	id   int // from 1
	file string
	fn   string // the function it is in; "" outside of one
	line int
	// from and to are the expression before and after, on one line. Where a function
	// has the same change twice, the later ones end in " #2" and so on.
	from, to string

	start, end int    // of the expression in the source
	text       string // what stands there instead
	alone      bool   // it does not compile beside the others
}

func (m *mutant) mutation() string { return m.from + " => " + m.to }

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.fn, m.mutation())
}

// source is one parsed file with the mutants of its expressions.
type source struct {
	path string
	text string
	tree *ast.File
	fset *token.FileSet
	at   map[ast.Expr][]*mutant
}

// load parses a file and finds its mutants.
func load(path string) (*source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, text: string(text), fset: token.NewFileSet(), at: make(map[ast.Expr][]*mutant)}
	if s.tree, err = parser.ParseFile(s.fset, path, text, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	for _, d := range s.tree.Decls {
		name := ""
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue // constants have to stay constant
			}
		case *ast.FuncDecl:
			name = s.nameOf(d)
		}
		found := &finder{s: s, fn: name, seen: make(map[string]int)}
		ast.Inspect(d, found.visit)
	}
	return s, nil
}

// nameOf returns the name of a function as a stack trace has it.
func (s *source) nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := s.slice(f.Recv.List[0].Type)
	if strings.HasPrefix(receiver, "*") {
		receiver = "(" + receiver + ")"
	}
	return receiver + "." + f.Name.Name
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

func (s *source) slice(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

// finder collects the mutants of one declaration.
type finder struct {
	s    *source
	fn   string
	seen map[string]int
}

// add records that text may stand in place of e.
func (f *finder) add(e ast.Expr, text string) {
	m := &mutant{
		file: filepath.Base(f.s.path), fn: f.fn, line: f.s.fset.Position(e.Pos()).Line,
		from: oneLine(f.s.slice(e)), to: oneLine(text),
		start: f.s.offset(e.Pos()), end: f.s.offset(e.End()), text: text,
	}
	f.seen[m.mutation()]++
	if n := f.seen[m.mutation()]; n > 1 {
		m.to += fmt.Sprintf(" #%d", n)
	}
	f.s.at[e] = append(f.s.at[e], m)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// opposite and bound say what a comparison becomes: what it says of none of the values
// it says it of now, and what differs where both sides are equal.
var (
	opposite = map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ,
		token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	}
	bound = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	other = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}
)

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.BinaryExpr:
		x, y := f.s.slice(n.X), f.s.slice(n.Y)
		if op, ok := other[n.Op]; ok {
			f.add(n, "("+x+") "+op.String()+" ("+y+")")
			f.condition(n.X)
			f.condition(n.Y)
		}
		if op, ok := opposite[n.Op]; ok {
			f.add(n, x+" "+op.String()+" "+y)
			if op, ok := bound[n.Op]; ok {
				f.add(n, x+" "+op.String()+" "+y)
			}
			if flipped, ok := flip(n.X); ok {
				f.add(n, flipped+" "+n.Op.String()+" "+y)
			}
			if flipped, ok := flip(n.Y); ok {
				f.add(n, x+" "+n.Op.String()+" "+flipped)
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(n, f.s.slice(n.X))
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			f.add(n, "false")
		case "false":
			f.add(n, "true")
		}
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ForStmt:
		f.condition(n.Cond)
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				if n.Tag == nil {
					f.condition(e)
				}
			}
		}
	}
	return true
}

// condition turns a condition without an operator of its own around.
func (f *finder) condition(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "true" || e.Name == "false" {
			return
		}
	case *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr:
	default:
		return
	}
	f.add(e, "!"+f.s.slice(e))
}

// flip returns 1 for 0 and 0 for 1.
func flip(e ast.Expr) (string, bool) {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.INT {
		switch lit.Value {
		case "0":
			return "1", true
		case "1":
			return "0", true
		}
	}
	return "", false
}
