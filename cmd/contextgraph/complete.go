// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// Bounds of a completion: somebody waits at a prompt.
const (
	maxCompletions = 50
	completeWithin = 2 * time.Second
)

// completeFlags completes the values of flags, in all commands that have them.
func (a *app) completeFlags(root *cobra.Command) {
	for name, f := range map[string]cobra.CompletionFunc{
		"output": cobra.FixedCompletions([]string{outputTable, outputJSON, outputNDJSON}, cobra.ShellCompDirectiveNoFileComp),
		"status": completeList, "approval": a.complete(1, approvalChoices), "session": a.complete(1, sessionChoices),
	} {
		for _, c := range slices.Concat(root.Commands(), []*cobra.Command{root}) {
			if c.LocalFlags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, f) // the flag is there, and has no other
			}
		}
	}
}

// completeList completes the last word of a list of statuses.
func completeList(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	before := word[:strings.LastIndexByte(word, ',')+1]
	var out []string
	for _, s := range inspect.Statuses() {
		if strings.HasPrefix(string(s), word[len(before):]) {
			out = append(out, before+string(s))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// choices are ids with a description.
type choices func(ctx context.Context, a *app, src opened) (ids, about []string, err error)

// complete completes the ids of the newest sessions or requests of the configured source: at most
// most arguments, -1 for any number. An error completes nothing.
func (a *app) complete(most int, lists ...choices) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
		defer cancel()
		stderr := a.stderr
		a.stderr = io.Discard
		defer func() { a.stderr = stderr }()
		if a.from == fromDataset { // it is billed
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if c.Flags().Lookup(withinFlag) == nil {
			a.from = fromJournal
		}
		src, err := a.source(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer src.close()
		var out []string
		for _, list := range lists {
			ids, about, err := list(ctx, a, src)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for i, id := range ids {
				if strings.HasPrefix(id, word) && !slices.Contains(args, id) {
					out = append(out, cobra.CompletionWithDesc(printable(id), printable(about[i])))
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func sessionChoices(ctx context.Context, _ *app, src opened) (ids, about []string, err error) {
	page, err := src.Sessions(ctx, inspect.Query{Limit: maxCompletions})
	for _, s := range page.Sessions {
		ids = append(ids, s.Session.ID)
		about = append(about, cut(s.Title, maxCell)+" ("+chip(s.Status).text+")")
	}
	return ids, about, err
}

func approvalChoices(ctx context.Context, a *app, src opened) (ids, about []string, err error) {
	return requestChoices(ctx, a, src, inspect.Query{})
}

// openChoices are the requests that can be answered.
func openChoices(ctx context.Context, a *app, src opened) (ids, about []string, err error) {
	return requestChoices(ctx, a, src, inspect.Query{Status: []inspect.Status{inspect.StatusPending, inspect.StatusCheckFailed}})
}

func requestChoices(ctx context.Context, a *app, src opened, q inspect.Query) (ids, about []string, err error) {
	page, err := src.Sessions(ctx, inspect.Query{Limit: maxCompletions})
	if err != nil {
		return nil, nil, err
	}
	for list, err := range inspect.Requests(ctx, src, page.Sessions, a.now()) {
		if err != nil {
			return nil, nil, err
		}
		for _, p := range slices.Backward(list) {
			if len(ids) < maxCompletions && q.SelectsRequest(&p) {
				ids = append(ids, p.ShownID())
				about = append(about, p.Tool+" in "+p.Session.ID+" ("+chip(p.Status).text+")")
			}
		}
	}
	return ids, about, nil
}
