// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// checkpointsVariable is the --agent-checkpoints of who gives none.
const checkpointsVariable = "CONTEXTGRAPH_CHECKPOINTS"

// maxSession bounds what the handler of an agent answers, in bytes.
const maxSession = 65 << 20

// handlerFlags are the flags of the commands that ask the handler of package checkpoint.
type handlerFlags struct {
	url     string
	headers []string
	// ask is the question, in the words of package checkpoint.
	ask struct {
		Do         string          `json:"do"`
		App        string          `json:"app"`
		User       string          `json:"user"`
		Session    string          `json:"session"`
		ID         string          `json:"id,omitempty"`
		Name       string          `json:"name,omitempty"`
		Keep       []string        `json:"keep,omitempty"`
		DryRun     bool            `json:"dry_run,omitempty"`
		NewSession string          `json:"new_session,omitempty"`
		File       json.RawMessage `json:"file,omitempty"`
	}
}

// handlerReply is what the handler answers.
type handlerReply struct {
	Checkpoints []struct {
		ID, Name, Message string
		Time              time.Time
		Events            int
	}
	Result struct {
		ID      string
		Events  int
		Effects []struct {
			CallID string `json:"call_id"`
			Tool   string
		}
		Shared, Withdrawn []string
	}
	Session struct{ ID string }
	Plan    struct {
		Messages, Left []string
		Steps          []struct{ Tool, What, Reason string }
	}
	Request string
	Error   string
}

// checkpointsHelp is the help that these commands share.
const checkpointsHelp = `The handler of package checkpoint does it, which the program of the agent mounts behind its login. What
a session leaves stays in its store and on record, and bears no evidence. What was done in the world
stays done.`

// checkpointExamples are the examples of help, by what the handler is asked.
var checkpointExamples = map[string]string{
	"list":   "checkpoints s-123 --app shop --user ann",
	"create": `checkpoints name s-123 "before booking" --app shop --user ann`,
	"delete": "checkpoints delete s-123 01a221b7dc23 --app shop --user ann",
	"export": "checkpoints export s-123 01a221b7dc23 --app shop --user ann",
	"import": "checkpoints import session.json --to s-124",
	"rewind": "rewind s-123 01a221b7dc23 --app shop --user ann --dry-run",
	"redo":   "redo 77b1c0e5a6f04a2f9f0c7d1f3e5a9b2c",
	"fork":   "fork s-123 01a221b7dc23 --app shop --user ann --to s-124",
}

// checkpointCommands returns the commands that take sessions back.
func (a *app) checkpointCommands() []*cobra.Command {
	list := a.checkpointCommand("checkpoints SESSION", "List the positions that a session can go back to", 1, "list")
	list.AddCommand(
		a.checkpointCommand("name SESSION NAME", "Give the present position a name", 2, "create"),
		a.checkpointCommand("delete SESSION CHECKPOINT", "Remove the name of a position", 2, "delete"),
		a.checkpointCommand("export SESSION CHECKPOINT", "Write the session up to a position to stdout, as JSON", 2, "export"),
		a.checkpointCommand("import FILE", "Make a new session of an exported one", 1, "import"),
	)
	return []*cobra.Command{
		list,
		a.checkpointCommand("rewind SESSION CHECKPOINT", "Take a session back; what was done in the world stays done", 2, "rewind"),
		a.checkpointCommand("redo APPROVAL", "Do the turn of a call again that met drift after a yes; it asks for a new yes", 1, "redo"),
		a.checkpointCommand("fork SESSION CHECKPOINT", "Copy a session up to a position into a new one", 2, "fork"),
	}
}

func (a *app) checkpointCommand(use, short string, args int, do string) *cobra.Command {
	var f handlerFlags
	c := &cobra.Command{
		Use: use, Short: short, Args: argCount(args, args, strings.ToLower(use)),
		Long:    short + ".\n\n" + checkpointsHelp,
		Example: "  contextgraph " + checkpointExamples[do] + " --agent-checkpoints https://agent.example.com/checkpoints",
	}
	c.Flags().StringVar(&f.url, "agent-checkpoints", "", "the handler of package checkpoint in the agent, as https://agent.example.com/checkpoints (default "+checkpointsVariable+" of the environment)")
	c.Flags().StringArrayVar(&f.headers, "agent-header", nil, "header for the agent, NAME:VALUE; may be repeated")
	if do != "redo" {
		c.Flags().StringVar(&f.ask.App, "app", "", "application of the session")
		c.Flags().StringVar(&f.ask.User, "user", "", "user of the session")
	}
	switch do {
	case "redo":
		c.Flags().BoolVar(&f.ask.DryRun, "dry-run", false, "show the plan: what is sent again, and what becomes of each step")
	case "rewind":
		c.Flags().BoolVar(&f.ask.DryRun, "dry-run", false, "say what it would do")
		c.Flags().StringArrayVar(&f.ask.Keep, "keep", nil, "id of a call whose effect stands; may be repeated")
	case "fork":
		c.Flags().StringVar(&f.ask.NewSession, "to", "", "id of the new session (default one that is made)")
	case "import":
		c.Flags().StringVar(&f.ask.Session, "to", "", "id of the new session (default that in the file)")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		f.ask.Do = do
		switch {
		case do == "import":
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			if f.ask.File = data; !json.Valid(data) {
				return fmt.Errorf("%s is no JSON", args[0])
			}
		case do == "redo":
			if f.ask.ID = args[0]; f.ask.DryRun {
				f.ask.Do, f.ask.DryRun = "plan", false
			}
		case f.ask.App == "" || f.ask.User == "":
			return usageError{errors.New("say whose session it is with --app and --user; contextgraph sessions lists them")}
		default:
			f.ask.Session = args[0]
		}
		if len(args) > 1 {
			f.ask.ID, f.ask.Name = args[1], args[1]
			if do == "create" {
				f.ask.ID = ""
			} else {
				f.ask.Name = ""
			}
		}
		return a.askCheckpoints(c.Context(), &f)
	}
	return c
}

// askCheckpoints asks the handler, and prints what it answers.
func (a *app) askCheckpoints(ctx context.Context, f *handlerFlags) error {
	to := cmp.Or(f.url, os.Getenv(checkpointsVariable))
	if to == "" {
		return usageError{errors.New("say with --agent-checkpoints where the agent has the handler of package checkpoint")}
	}
	body, err := json.Marshal(f.ask)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return usageError{err}
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || name == "" {
			return usageError{fmt.Errorf("--agent-header %q is not NAME:VALUE", h)}
		}
		req.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxSession))
	if err != nil {
		return err
	}
	var r handlerReply
	if unread := json.Unmarshal(data, &r); unread != nil && resp.StatusCode != http.StatusOK {
		r.Error = strings.TrimSpace(string(data[:min(len(data), 500)]))
	}
	switch {
	case resp.StatusCode == http.StatusNotFound && r.Error != "":
		return exit{exitNotFound, errors.New(r.Error)}
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the agent answers %s: %s", resp.Status, r.Error)
	case f.ask.Do == "export" || a.output != outputTable:
		_, err = a.stdout.Write(data)
		return err
	}
	a.printCheckpoints(f.ask.Do, &r)
	return nil
}

func (a *app) printCheckpoints(do string, r *handlerReply) {
	for _, cp := range r.Checkpoints {
		fmt.Fprintf(a.stdout, "%s  %s  %5d events  %s\n", printable(cp.ID), cp.Time.Format(time.DateTime), cp.Events, printable(cmp.Or(cp.Name, "before: "+cp.Message)))
	}
	switch do {
	case "rewind":
		fmt.Fprintf(a.stdout, "left %d events\n", r.Result.Events)
		for _, e := range r.Result.Effects {
			fmt.Fprintf(a.stdout, "stays done: %s (%s)\n", printable(e.Tool), printable(e.CallID))
		}
		for _, name := range r.Result.Shared {
			fmt.Fprintf(a.stdout, "not restored: %s\n", printable(name))
		}
		for _, id := range r.Result.Withdrawn {
			fmt.Fprintf(a.stdout, "withdrawn: request %s\n", printable(id))
		}
	case "plan", "redo":
		for _, m := range r.Plan.Messages {
			fmt.Fprintf(a.stdout, "send again: %s\n", printable(m))
		}
		for _, m := range r.Plan.Left {
			fmt.Fprintf(a.stdout, "left: %s\n", printable(m))
		}
		for _, s := range r.Plan.Steps {
			fmt.Fprintf(a.stdout, "%s: %s: %s\n", printable(s.What), printable(s.Tool), printable(s.Reason))
		}
		if do == "redo" {
			fmt.Fprintf(a.stdout, "asked anew: %s\n", cmp.Or(printable(r.Request), "nothing; see what the agent says"))
		}
	case "fork", "import":
		fmt.Fprintf(a.stdout, "made session %s\n", printable(r.Session.ID))
	}
}
