// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
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

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const (
	// agentVariable is the --agent of who gives none.
	agentVariable = "CONTEXTGRAPH_AGENT"
	// followEvery is how often the record is read after an answer.
	followEvery = 250 * time.Millisecond
	// overriders is how many people have to override a check.
	overriders = 2
)

// agentFlags say where the agent is.
type agentFlags struct {
	agent, check string
	headers      []string
}

// decideFlags are the flags of approve, reject and resolve.
type decideFlags struct {
	agentFlags
	yes bool
	d   answer.Decision
}

func (a *app) approveCommand() *cobra.Command {
	f := decideFlags{d: answer.Decision{Confirmed: true}}
	c := &cobra.Command{
		Short: "Approve a request: the gate of the agent checks the world first",
		Long: `approve sends a yes to the agent, as a message of the user of the session. The gate of the
agent takes it or does not, and checks the world before anything runs. At a terminal, approve
first shows what would run and what it rests on, as seen and as it is now, and asks. Without a
terminal it needs --yes. --override takes two of the people whom guard.tools names under override.

It prints what the record says until the request has ended. It ends with 0 only if the tool ran,
with 3 if the world changed, with 4 if the check failed, with 5 if the request has ended
otherwise, and with 7 if more people have to approve.`,
		Example: `  contextgraph approve e43c5bd8 --agent http://localhost:8080/api
  contextgraph approve e43c5bd8 --override "the shop confirmed by phone"`,
	}
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	c.Flags().StringVar(&f.d.Override, "override", "", "why it shall run although a source is down")
	f.addCheck(c)
	return a.decides(c, "approve", &f)
}

func (a *app) rejectCommand() *cobra.Command {
	var f decideFlags
	c := &cobra.Command{
		Short: "Reject a request, with a reason or a wish for another plan",
		Long: `reject sends a no to the agent, as a message of the user of the session. With --reason the
agent learns why, with --change what should be different. The tool does not run. It ends with 0
only if the record says that the request was rejected.`,
		Example: `  contextgraph reject e43c5bd8 --reason "not this month"
  contextgraph reject e43c5bd8 --change "at most $30,000"`,
	}
	c.Flags().StringVar(&f.d.Reason, "reason", "", "why, for the agent and for the record")
	c.Flags().StringVar(&f.d.Change, "change", "", "what should be different, such as \"at most $30,000\"")
	return a.decides(c, "reject", &f)
}

func (a *app) resolveCommand() *cobra.Command {
	var f decideFlags
	var happened, didNot bool
	c := &cobra.Command{
		Short: "Say how a call in doubt ended, after a look at the system that it acts on",
		Long: `A call is in doubt if it began and its end is not on record. resolve sends the word of a person
to the agent: the call took effect, or it did not. The history has it, and the model is told.
Nothing runs because of it. The gate refuses whoever may not approve the request, and while the
call still runs there. It ends with 0 only if the record says that the request was resolved so.`,
		Example: `  contextgraph resolve e43c5bd8 --happened --because "the shop has the order"`,
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case happened == didNot:
				return usageError{errors.New("write --happened or --did-not")}
			case strings.TrimSpace(f.d.Reason) == "":
				return usageError{errors.New("say with --because how you know")}
			}
			if f.d.Resolve = safety.CodeDidNotHappen; happened {
				f.d.Resolve = safety.CodeHappened
			}
			return nil
		},
	}
	c.Flags().BoolVar(&happened, "happened", false, "the call took effect")
	c.Flags().BoolVar(&didNot, "did-not", false, "the call did not take effect")
	c.Flags().StringVar(&f.d.Reason, "because", "", "how you know, for the record")
	return a.decides(c, "resolve", &f)
}

// decides makes c a command that sends an answer.
func (a *app) decides(c *cobra.Command, name string, f *decideFlags) *cobra.Command {
	c.Use = name + " APPROVAL"
	c.Args = argCount(1, 1, "the id of one approval")
	c.Flags().StringVar(&f.agent, "agent", "", "root of the agent's ADK REST API, such as http://localhost:8080/api (default "+agentVariable+" of the environment)")
	f.addHeaders(c)
	return over(c, a.recorded, func(ctx context.Context, src opened, args []string) error { return a.decide(ctx, src, args[0], *f) })
}

func (f *agentFlags) addHeaders(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.headers, "agent-header", nil, "header for the agent, NAME:VALUE; may be repeated")
}

func (f *agentFlags) addCheck(c *cobra.Command) {
	c.Flags().StringVar(&f.check, "agent-check", "", "where the program of the agent mounted Instance.CheckHandler: it checks instead")
}

// endpoint is a place at which the agent takes JSON with the headers of the flags.
func (f *agentFlags) endpoint(url string) (answer.Endpoint, error) {
	header := make(http.Header)
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(h, "\r\n") {
			return answer.Endpoint{}, usageError{errors.New("--agent-header: write NAME:VALUE")} // the value may be a secret
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return answer.Endpoint{URL: url, Header: header}, nil
}

// checker returns the way to have the agent check; nil without --agent-check.
func (f *agentFlags) checker() (viewer.Checker, error) {
	at, err := f.endpoint(f.check)
	if err != nil || f.check == "" {
		return nil, err
	}
	c, err := answer.NewChecker(at)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// way returns the way to the agent, and what ends it: an error says that a turn was still under way there.
func (f *agentFlags) way(ctx context.Context) (agent *answer.Agent, end func() error, err error) {
	at, err := f.endpoint(f.agent)
	if err != nil {
		return nil, nil, err
	}
	if agent, err = answer.NewAgent(at); err != nil {
		return nil, nil, usageError{err}
	}
	return agent, func() error {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), viewer.StopTime)
		defer cancel()
		return agent.Close(ending)
	}, nil
}

// decide sends the answer to the request that id names, and prints what comes of it.
func (a *app) decide(ctx context.Context, src opened, id string, f decideFlags) error {
	if f.agent = cmp.Or(f.agent, os.Getenv(agentVariable)); f.agent == "" {
		return usageError{errors.New("name the agent with --agent, or with " + agentVariable + " in the environment: who asked takes the answer")}
	}
	agent, end, err := f.way(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = end() }() // a turn that goes on there is no fault
	p, err := a.findApproval(ctx, src, id, record.Session{}, false)
	if err != nil {
		return err
	}
	f.d.Session, f.d.ApprovalID, f.d.ConfirmationID = p.Session, p.ID, p.ConfirmationID
	if err := f.d.Check(); err != nil {
		return usageError{err}
	}
	s, err := inspect.Look(ctx, src, p.Session, a.now())
	if err != nil {
		return err
	}
	if why := answer.Refusal(s, f.d); why != "" {
		switch {
		case p.Status == inspect.StatusDrift:
			return exit{exitChanged, errors.New(why)}
		case !p.Status.Open() || p.Status == inspect.StatusSafe:
			return exit{exitOver, errors.New(why)}
		}
		return errors.New(why)
	}
	if f.d.Confirmed && !f.yes {
		if err := a.sure(ctx, src, s, &p, f.agentFlags); err != nil {
			return err
		}
	}
	return a.send(ctx, agent, src, p, f.d)
}

// sure shows what an approval would let run, with the world as it is now, and asks.
func (a *app) sure(ctx context.Context, src opened, s *inspect.Session, p *inspect.Approval, f agentFlags) error {
	agent, err := f.checker()
	if err != nil {
		return err
	}
	if err := a.attended("look at it with \"contextgraph check\""); err != nil {
		return err
	}
	t := a.newTable()
	t.request(p, false)
	t.line()
	result, err := a.checkNow(ctx, src, s, p.ID, agent)
	if err != nil {
		t.entities(p.Entities)
		t.line(cell{"! the world could not be checked: ", red}, cell{text: err.Error()})
	} else {
		result.table(t)
	}
	if _, err := io.WriteString(a.stdout, t.String()); err != nil {
		return err
	}
	return a.confirm(ctx, "Approve?", "not approved: nothing was sent")
}

// attended returns the error that nobody at a terminal can be asked. first is what to do before --yes is added.
func (a *app) attended(first string) error {
	in := cmp.Or[io.Reader](a.stdin, os.Stdin)
	out, ok := in.(io.Writer)
	if a.terminal(a.stdout) && (a.stdin != nil || ok && a.terminal(out)) {
		return nil
	}
	return usageError{errors.New("nobody is at a terminal to be asked: " + first + ", then add --yes")}
}

// confirm asks a question, to which everything but yes is no. A no is the error that is given.
func (a *app) confirm(ctx context.Context, question, no string) error {
	lines, done, err := a.openRows(ctx, stdinName)
	if err != nil {
		return err
	}
	defer done()
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	said, err := bufio.NewReader(lines).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if said = strings.ToLower(strings.TrimSpace(said)); said != "y" && said != "yes" {
		return errors.New(no)
	}
	return nil
}

// send sends a decision and prints what the record says of it.
func (a *app) send(ctx context.Context, agent *answer.Agent, src opened, p inspect.Approval, d answer.Decision) error {
	turn, err := agent.Send(ctx, d)
	if err != nil {
		return err
	}
	a.step("sent", plain, "to the agent; its gate decides")
	tick, stop := a.ticks(followEvery)
	defer stop()
	step := func(s inspect.Progress) { a.step(s.Step, chip(s.Status).style, s.Text) }
	f := answer.Follower{Source: src.Source, Request: p, Tick: tick, Now: a.now, Step: step}
	got, err := f.Follow(ctx, turn)
	if err != nil {
		a.note("the answer was sent, and may still have an effect: see contextgraph approvals %s", p.ShownID())
		return err
	}
	name, code := ended(&got.Request, d)
	a.step(name, chip(got.Request.Status).style, got.Request.Explanation)
	if a.output != outputTable {
		if err := a.print(got.Request, nil); err != nil {
			return err
		}
	}
	if !got.Ended {
		a.note("the agent goes on with its turn; Ctrl-C does not wait for it")
		select {
		case err := <-turn:
			if err != nil {
				a.note("%v", err)
			}
		case <-ctx.Done():
		}
	}
	switch {
	case code == exitOK:
		return nil
	case code == exitError && got.Turn != nil:
		return exit{code, got.Turn}
	case got.Request.Status == inspect.StatusPending && len(got.Request.Answers) == 0:
		return exit{code, errors.New("the turn of the agent ended, and no answer is on record: is this the journal of that agent?")}
	}
	return exit{code: code}
}

// step prints one thing that happened to a request; for programs, only its end is printed.
func (a *app) step(name string, s style, text string) {
	if a.output == outputTable {
		t := a.newTable()
		t.line(cell{name, s}, ": ", cell{text: text})
		fmt.Fprint(a.stdout, t.String())
	}
}

// ended says in a word how a request stands after an answer, and which code that is.
func ended(p *inspect.Approval, d answer.Decision) (name string, code int) {
	wanted := inspect.StatusRejected
	switch {
	case d.Resolve == safety.CodeDidNotHappen:
		wanted = inspect.StatusFailed
	case d.Confirmed || d.Resolve == safety.CodeHappened:
		wanted = inspect.StatusExecuted
	}
	name, code = strings.ReplaceAll(string(p.Status), "_", " "), exitError
	switch n := len(p.Consents); p.Status {
	case wanted:
		code = exitOK
	case inspect.StatusDrift:
		name, code = "blocked", exitChanged
	case inspect.StatusCheckFailed:
		if code = exitCheckFailed; d.Override != "" && n > 0 {
			name, code = fmt.Sprintf("%d of %d people override", n, max(p.Approvers, overriders)), exitMore
		}
	case inspect.StatusPending:
		if d.Confirmed && n > 0 && n < p.Approvers {
			name, code = fmt.Sprintf("%d of %d people have approved", n, p.Approvers), exitMore
		}
	case inspect.StatusFailed, inspect.StatusSafe:
	default:
		code = exitOver
	}
	return name, code
}

// checkpointsVariable is the --agent-checkpoints of who gives none.
const checkpointsVariable = "CONTEXTGRAPH_CHECKPOINTS"

// maxSession bounds what the handler of an agent answers, in bytes.
const maxSession = 65 << 20

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
	var f agentFlags
	q := checkpoint.Question{Do: do}
	c := &cobra.Command{
		Use: use, Short: short, Args: argCount(args, args, strings.Join(strings.Fields(use)[1:], " and ")),
		Long:    short + ".\n\n" + checkpointsHelp,
		Example: "  contextgraph " + checkpointExamples[do] + " --agent-checkpoints https://agent.example.com/checkpoints",
	}
	f.addHeaders(c)
	flags := c.Flags()
	flags.StringVar(&f.agent, "agent-checkpoints", "", "the handler of package checkpoint in the agent, as https://agent.example.com/checkpoints (default "+checkpointsVariable+" of the environment)")
	if do != "redo" {
		flags.StringVar(&q.App, "app", "", "application of the session")
		flags.StringVar(&q.User, "user", "", "user of the session")
	}
	switch do {
	case "redo":
		flags.BoolVar(&q.DryRun, "dry-run", false, "show the plan: what is sent again, and what becomes of each step")
	case "rewind":
		flags.BoolVar(&q.DryRun, "dry-run", false, "say what it would do")
		flags.StringArrayVar(&q.Keep, "keep", nil, "id of a call whose effect stands; may be repeated")
	case "fork":
		flags.StringVar(&q.NewSession, "to", "", "id of the new session (default one that is made)")
	case "import":
		flags.StringVar(&q.Session, "to", "", "id of the new session (default that in the file)")
	}
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		switch {
		case do == "import":
			if q.File, err = os.ReadFile(args[0]); err != nil {
				return err
			}
			if !json.Valid(q.File) {
				return fmt.Errorf("%s is no JSON", args[0])
			}
		case do == "redo":
			if q.ID = args[0]; q.DryRun {
				q.Do, q.DryRun = "plan", false
			}
		case q.App == "" || q.User == "":
			return usageError{errors.New("say whose session it is with --app and --user; contextgraph sessions lists them")}
		default:
			q.Session = args[0]
		}
		if do == "create" {
			q.Name = args[1]
		} else if len(args) > 1 {
			q.ID = args[1]
		}
		return a.askCheckpoints(c.Context(), f, q)
	}
	return c
}

// askCheckpoints asks the handler, and prints what it answers.
func (a *app) askCheckpoints(ctx context.Context, f agentFlags, q checkpoint.Question) error {
	at, err := f.endpoint(cmp.Or(f.agent, os.Getenv(checkpointsVariable)))
	switch {
	case err != nil:
		return err
	case at.URL == "":
		return usageError{errors.New("say with --agent-checkpoints where the agent has the handler of package checkpoint")}
	}
	if at, err = at.Check("https://agent.example.com/checkpoints"); err != nil {
		return usageError{err}
	}
	data, err := at.Post(ctx, q, maxSession, "could not be asked")
	var r checkpoint.Reply
	if refused, is := errors.AsType[*answer.Refused](err); is && json.Unmarshal(refused.Said, &r) == nil && r.Error != "" {
		if refused.Code == http.StatusNotFound {
			return exit{exitNotFound, errors.New(r.Error)}
		}
		return fmt.Errorf("the agent answers %s: %s", refused.Status, r.Error)
	}
	if err != nil {
		return err
	}
	if q.Do == "export" || a.output != outputTable {
		_, err = a.stdout.Write(data)
		return err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("the answer of the agent cannot be read: %w", err)
	}
	for _, cp := range r.Checkpoints {
		fmt.Fprintf(a.stdout, "%s  %s  %5d events  %s\n", printable(cp.ID), cp.Time.Format(time.DateTime), cp.Events, printable(cmp.Or(cp.Name, "before: "+cp.Message)))
	}
	if r.Result != nil {
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
	}
	if r.Plan != nil {
		a.printPlan(r.Plan)
	}
	if q.Do == "redo" {
		fmt.Fprintf(a.stdout, "asked anew: %s\n", cmp.Or(printable(r.Request), "nothing; see what the agent says"))
	}
	if r.Session != nil {
		fmt.Fprintf(a.stdout, "made session %s\n", printable(r.Session.ID))
	}
	return nil
}

// printPlan prints what is done again.
func (a *app) printPlan(p *checkpoint.Plan) {
	for _, m := range p.Messages {
		fmt.Fprintf(a.stdout, "send again: %s\n", printable(m))
	}
	for _, m := range p.Left {
		fmt.Fprintf(a.stdout, "left: %s\n", printable(m))
	}
	for _, s := range p.Steps {
		fmt.Fprintf(a.stdout, "%s: %s: %s\n", printable(s.What), printable(s.Tool), printable(s.Reason))
	}
}
