// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"strconv"
	"strings"

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

// Code returns what a program would say to do with the session what the page shows, step by
// step. The steps are the body of one function that returns an error, in order, with ctx in scope.
func Code(s *inspect.Session, n CodeNames) []CodeStep {
	if n.Config == "" {
		n.Config = "contextgraph.yaml"
	}
	q := strconv.Quote
	steps := []CodeStep{
		{"Open the instance", fmt.Sprintf(`cg, err := contextgraph.FromFile(%s)
if err != nil {
	return err
}
defer cg.Close(context.WithoutCancel(ctx))
session := record.Session{App: %s, User: %s, ID: %s}`, q(n.Config), q(s.Session.App), q(s.Session.User), q(s.Session.ID))},
		{"Extract the entities", fmt.Sprintf(`graph, err := cg.Graph(ctx, session)
if err != nil {
	return err
}
for _, e := range graph.Canonical() { // %s
	fmt.Println(e.Type, e.Value, e.Confidence, e.Attributes)
}`, count(len(s.Entities), "entity"))},
		{"Link them to the steps that showed them", `for _, e := range graph.Entities() {
	fmt.Println(e.TechNode, e.Type, e.Value, e.ArtifactURI)
}`},
		{"Create the graph: what caused what", fmt.Sprintf(`for _, e := range graph.Edges() { // %s
	fmt.Println(e.From, e.Kind, e.To)
}`, count(len(s.Edges), "edge"))},
		{"Trace the session", fmt.Sprintf(`for _, event := range graph.Trace().Timeline { // %s
	fmt.Println(event.EventType, event.Agent, event.Status)
}`, count(len(s.Rows), "row"))},
	}
	if len(s.Approvals) > 0 {
		steps = append(steps, approvalSteps(s)...)
	}
	if n.Project != "" {
		steps = append(steps, datasetStep(s, n))
	}
	return steps
}

// approvalSteps are those that ask about the approval that was asked for last.
func approvalSteps(s *inspect.Session) []CodeStep {
	last := s.Approvals[len(s.Approvals)-1]
	steps := []CodeStep{
		{"Explain the decision", fmt.Sprintf(`reasons, err := cg.Why(ctx, session) // what the request to run %s rests on
if err != nil {
	return err
}
for _, r := range reasons {
	fmt.Println(r.Entity.Type, r.Entity.Value, r.Hops)
	for _, step := range r.Path {
		fmt.Println("  ", step.Node.Agent, step.Node.Name, step.Edge)
	}
}`, comment(last.Tool))},
		{"Check whether the world has changed", `report, err := cg.Check(ctx, session)
if err != nil {
	return err
}
fmt.Println(report.Summary())
if !report.IsSafeToApprove() { // also when anything could not be checked
	for _, alert := range report.Alerts() {
		fmt.Println(alert.Entity, alert.Attribute, alert.Before, alert.After, alert.Recommendation)
	}
	for _, failure := range report.Failures() {
		fmt.Println(failure)
	}
}`},
	}
	if last.ID != "" {
		steps = append(steps, CodeStep{"Read who did what", fmt.Sprintf(`history, err := cg.History(ctx, session, %s)
if err != nil {
	return err
}
for _, step := range history {
	fmt.Println(step.At, step.From, step.To, step.Actor, step.Verdict, step.Note)
}`, strconv.Quote(last.ID))})
	}
	return steps
}

// datasetStep asks the dataset the same question.
func datasetStep(s *inspect.Session, n CodeNames) CodeStep {
	q := strconv.Quote
	return CodeStep{"Ask the dataset the same", fmt.Sprintf(`dataset, err := bqstream.NewDataset(ctx, config.BigQuery{
	Project: %s, Dataset: %s, Location: %s,
}, bqstream.Clients{})
if err != nil {
	return err
}
defer dataset.Close()
chain, err := dataset.ReasoningChain(ctx, ask.ReasoningQuestion{Scope: ask.Scope{
	Session: session,
	From:    time.UnixMicro(%d), To: time.UnixMicro(%d),
}})
if err != nil {
	return err
}
fmt.Printf("%%+v\n", chain)`, q(n.Project), q(n.Dataset), q(n.Location), s.Start.UnixMicro(), s.End.UnixMicro())}
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
