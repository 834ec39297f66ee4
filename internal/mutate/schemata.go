// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"strconv"
	"strings"
)

// activeEnv names the mutant that lives in a process; without it, none does.
const activeEnv = "MUTATE_ACTIVE"

// active is the file that is added to the package.
const active = `package %s

import (
	"os"
	"strconv"
)

var mutateActive, _ = strconv.Atoi(os.Getenv(%q))
`

// all returns the source with every mutant in it but those that have to be alone: each
// expression that has some asks which one is alive. A process then tests one without
// anything being compiled for it.
func (s *source) all() string { return s.emit(s.tree, nil) }

// emit returns the text of n, in which every expression but skip has its mutants.
func (s *source) emit(n ast.Node, skip ast.Node) string {
	start, end := s.offset(n.Pos()), s.offset(n.End())
	if n == s.tree {
		start, end = 0, len(s.text)
	}
	var b strings.Builder
	ast.Inspect(n, func(c ast.Node) bool {
		e, ok := c.(ast.Expr)
		if !ok || c == skip || len(s.together(e)) == 0 {
			return true
		}
		at := s.offset(e.Pos())
		b.WriteString(s.text[start:at])
		b.WriteString(s.choose(e))
		start = s.offset(e.End())
		return false
	})
	b.WriteString(s.text[start:end])
	return b.String()
}

// together returns the mutants of e that are compiled with the others.
func (s *source) together(e ast.Expr) []*mutant {
	var out []*mutant
	for _, m := range s.at[e] {
		if !m.alone {
			out = append(out, m)
		}
	}
	return out
}

func (s *source) choose(e ast.Expr) string {
	var b strings.Builder
	b.WriteString("(func() bool { switch mutateActive {")
	for _, m := range s.together(e) {
		fmt.Fprintf(&b, " case %d: return %s;", m.id, m.text)
	}
	fmt.Fprintf(&b, " }; return %s }())", s.emit(e, e))
	return b.String()
}

// one returns the source with the one mutant in it.
func (s *source) one(m *mutant) string {
	return s.text[:m.start] + "(" + m.text + ")" + s.text[m.end:]
}

var (
	position = regexp.MustCompile(`([\w.]+\.go):(\d+):\d+: `)
	caseOf   = regexp.MustCompile(` case (\d+): return `)
)

// blame marks the mutants that a compiler complained about as to be compiled alone: those
// on the lines it names, or on the last line before that has any. It returns how many.
func blame(sources []*source, texts map[string]string, complaints string) (n int) {
	byID := make(map[int]*mutant)
	for _, s := range sources {
		for _, list := range s.at {
			for _, m := range list {
				byID[m.id] = m
			}
		}
	}
	for _, match := range position.FindAllStringSubmatch(complaints, -1) {
		lines := strings.Split(texts[match[1]], "\n")
		line, _ := strconv.Atoi(match[2])
		for i := min(line, len(lines)) - 1; i >= 0; i-- {
			found := caseOf.FindAllStringSubmatch(lines[i], -1)
			for _, c := range found {
				id, _ := strconv.Atoi(c[1])
				if m := byID[id]; m != nil && !m.alone {
					m.alone = true
					n++
				}
			}
			if len(found) > 0 {
				break
			}
		}
	}
	return n
}
