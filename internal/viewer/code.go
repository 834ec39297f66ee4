// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	_ "embed"
	"strconv"
	"strings"
	"text/template"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// CodeNames are the names that the code of a page is filled in with.
type CodeNames struct {
	// Config is the path of the configuration. Default "contextgraph.yaml".
	Config string
	// Project, Dataset and Location name the dataset; without a project the code has no steps for
	// BigQuery.
	Project, Dataset, Location string
}

// codeText has the steps, each behind a line with its title.
//
//go:embed code.tmpl
var codeText string

// Code returns what a program would say to do with the session what the page shows, step by
// step. The steps are the body of one function that returns an error, in order, with ctx in scope.
func Code(s *inspect.Session, n CodeNames) []CodeStep {
	if n.Config == "" {
		n.Config = "contextgraph.yaml"
	}
	in := struct {
		Session *inspect.Session
		Names   CodeNames
		Last    *inspect.Approval // the one that was asked for last
	}{s, n, nil}
	if len(s.Approvals) > 0 {
		in.Last = &s.Approvals[len(s.Approvals)-1]
	}
	code := template.Must(template.New("code").Funcs(template.FuncMap{"q": strconv.Quote, "comment": comment, "count": count}).Parse(codeText))
	var b strings.Builder
	if err := code.Execute(&b, in); err != nil {
		panic(err) // its text and its functions are constants
	}
	var steps []CodeStep
	for step := range strings.SplitSeq(strings.TrimPrefix(b.String(), "== "), "\n== ") {
		title, text, _ := strings.Cut(step, "\n")
		steps = append(steps, CodeStep{title, strings.TrimSuffix(text, "\n")})
	}
	return steps
}

// comment returns text for the end of a line of code.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if before, ok := strings.CutSuffix(what, "y"); ok {
		what = before + "ie"
	}
	return strconv.Itoa(n) + " " + what + "s"
}
