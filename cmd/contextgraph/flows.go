// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
)

// flowRun is how one flow ended, as programs read it.
type flowRun struct {
	Flow     string   `json:"flow"`
	About    string   `json:"about"`
	Expected []string `json:"expected"`
	Ended    []string `json:"ended"`
	// WrongSafe says that an effect ran, or a verdict is safe, against the expectation.
	WrongSafe bool     `json:"wrong_safe"`
	Faults    []string `json:"faults"` // nothing if the flow ended as expected
	// Error says why the flow could not be run.
	Error string `json:"error,omitempty"`
	trace string
}

func (a *app) testCommand() *cobra.Command {
	var trace bool
	c := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run flows against a configuration, and say what its policy would have done",
		Long: `test runs flows: files that say what an agent reads and does, what a person answers, what changes
in between, and how each guarded call has to end (docs/try-your-policy.md). It needs no agent, no
model and no source. The configuration is that of --config, or contextgraph.yaml in the folder of
the flow or in one above it. It ends with
  0    each flow ended as it says
  1    a flow could not be run: it has a mistake
  3    a guarded tool ran, or a check was safe, where the flow says that it must not
  4    a flow ended otherwise than it says, such as a needless no`,
		Example: `  contextgraph test flows/
  contextgraph test flows/price_rises.yaml --trace`,
		Args: argCount(1, -1, "files of flows"),
		RunE: func(c *cobra.Command, args []string) error { return a.test(c.Context(), args, trace) },
	}
	c.Flags().BoolVar(&trace, "trace", false, "print what happens in each flow")
	return c
}

func (a *app) test(ctx context.Context, names []string, trace bool) error {
	paths, err := flowFiles(names)
	if err != nil {
		return err
	}
	list := make([]flowRun, len(paths))
	code := exitOK
	for i, path := range paths {
		list[i] = a.runFlow(ctx, path)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case list[i].Error != "" || code == exitError:
			code = exitError
		case list[i].WrongSafe:
			code = exitChanged
		case len(list[i].Faults) > 0 && code == exitOK:
			code = exitCheckFailed
		}
	}
	if err := a.print(list, func(t *table) { flowsTable(t, list, trace) }); err != nil {
		return err
	}
	if code != exitOK {
		return exit{code: code}
	}
	return nil
}

// flowFiles returns the files that arguments stand for.
func flowFiles(names []string) (paths []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, err
		case !info.IsDir():
			paths = append(paths, name)
			continue
		}
		found, err := flowtest.Files(name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, usageError{fmt.Errorf("%s has no flow: flows are files that end in .yaml", name)}
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// runFlow runs one flow over a store of its own, in memory.
func (a *app) runFlow(ctx context.Context, path string) flowRun {
	out := flowRun{Flow: path, Expected: []string{}, Ended: []string{}, Faults: []string{}}
	f, err := flowtest.Load(path, cmp.Or(a.configPath, configBeside(path)))
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.About, out.Expected = f.About, f.Expect
	r, err := f.Run(ctx, "")
	if err != nil {
		out.Error = err.Error()
		return out
	}
	for _, c := range r.Calls {
		out.Ended = append(out.Ended, c.String())
	}
	out.WrongSafe, out.trace = f.WrongSafe(r), strings.Join(r.Trace, "\n")
	out.Faults = append(out.Faults, f.Faults(r)...)
	return out
}

// configBeside returns the configuration in the folder of a flow or in the nearest one above it, "" if
// there is none.
func configBeside(flow string) string {
	dir, err := filepath.Abs(filepath.Dir(flow))
	for err == nil {
		path := filepath.Join(dir, defaultConfig)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(dir)
		if above == dir {
			break
		}
		dir = above
	}
	return ""
}

func flowsTable(t *table, list []flowRun, trace bool) {
	t.columns("", "FLOW", "EXPECTED", "ENDED")
	for _, r := range list {
		mark := cell{"ok", green}
		switch {
		case r.Error != "":
			mark = cell{"mistake", red}
		case r.WrongSafe:
			mark = cell{"WRONG SAFE", red}
		case len(r.Faults) > 0:
			mark = cell{"otherwise", yellow}
		}
		t.row(mark, r.Flow, strings.Join(r.Expected, ", "), strings.Join(r.Ended, ", "))
	}
	for _, r := range list {
		if r.Error != "" {
			t.line(r.Error)
		} else if len(r.Faults) > 0 || trace {
			t.line(cell{r.Flow + ":", bold}, " ", strings.Join(append([]string{r.About}, r.Faults...), "; "))
		}
		if trace {
			for line := range strings.Lines(r.trace) {
				t.line("  ", strings.TrimSuffix(line, "\n"))
			}
		}
	}
}
