// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Command contextgraph shows what agents did and why, lists requests for approvals, and checks
// whether the world has changed since. It also looks after the dataset in BigQuery. "contextgraph
// --help" has the commands and the exit codes.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The codes that the command ends with.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	// exitChanged: the world changed since a human was asked.
	exitChanged = 3
	// exitCheckFailed: it could not be shown that the world is unchanged.
	exitCheckFailed = 4
	// exitOver: nothing can be approved any more: rejected, expired, consumed, in doubt.
	exitOver     = 5
	exitNotFound = 6
	// exitMore: the approval was taken, and more people have to approve.
	exitMore = 7
	// exitInterrupted is the code that shells report for a program ended by Ctrl-C.
	exitInterrupted = 130
)

// exit is an error with an exit code. Without an error inside nothing is printed: the message was
// printed before.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// exitWith ends the command with a code, without a message.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return exit{code: code}
}

// usageError says that the command line is wrong.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// app is what the commands share.
type app struct {
	stdout, stderr io.Writer
	stdin          io.Reader // nil is that of the process
	// client are options of the BigQuery client beside the credentials of the
	// environment.
	client []option.ClientOption
	// write are those of the client of the Storage Write API; nil for client.
	write []option.ClientOption
	// terminal reports whether people read what is written to w.
	terminal func(w io.Writer) bool
	within   duration // how far back --from dataset reads
	now      func() time.Time
	tick     <-chan time.Time // of commands that wait; nil is a ticker

	configPath string
	// journalPath overrides the journal of the configuration, from says where sessions
	// are read, output how they are printed.
	journalPath string
	from        string
	output      string
	noColor     bool
	utc         bool
	// flags override what the file says, where they are not empty.
	flags config.BigQuery
	// noGraph is that init makes no property graph.
	noGraph bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends what is under way in order, the second one ends the program.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], &app{stdout: os.Stdout, stderr: os.Stderr})
	stop()
	os.Exit(code)
}

// run runs the command line and returns the code to end with. Errors go to stderr.
func run(ctx context.Context, args []string, a *app) int {
	if a.terminal == nil {
		a.terminal = isTerminal
	}
	if a.now == nil {
		a.now = time.Now
	}
	stdout := &checkedWriter{Writer: a.stdout}
	a.stdout = stdout
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	strictBuiltins(root) // which keep where they write to
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = stdout.err
	}
	if err == nil {
		return exitOK
	}
	if errors.Is(err, context.Canceled) && err.Error() == context.Canceled.Error() { // alone it says nothing
		err = context.Cause(ctx)
	}
	var coded exit
	isCoded := errors.As(err, &coded)
	if !isCoded || coded.err != nil {
		said := strings.TrimPrefix(err.Error(), "contextgraph: ") // the name of a package, and of the command too
		fmt.Fprintf(a.stderr, "contextgraph: %s\n", printableLines(said))
	}
	switch {
	case errors.As(err, new(usageError)):
		fmt.Fprintf(a.stderr, "Run \"%s --help\" for help.\n", command.CommandPath())
		return exitUsage
	case isCoded:
		return coded.code
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, inspect.ErrNotFound), errors.Is(err, safety.ErrNotFound):
		return exitNotFound
	}
	return exitError
}

// defaultConfig is the file that is read when --config names none.
const defaultConfig = "contextgraph.yaml"

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "contextgraph",
		Short: "Show what agents did and why, and check the world again",
		Long: `contextgraph shows what agents of Google's ADK did, why they did it, and what humans were
asked to approve. It reads the journal that the plugin records, a file of rows, or the
dataset in BigQuery that agents stream to.

Answers go to stdout, as a table for people or, with --output, as JSON for programs.
Everything else goes to stderr. The configuration names the journal; --journal names another
one. The section bigquery of the configuration names the dataset; flags override it.
Credentials are those that Google's libraries find in the environment.

The command ends with
  0    all is well; for check: the world is unchanged, and only then
  1    something failed
  2    the command line is wrong
  3    the world changed since a human was asked
  4    the check failed: nobody knows whether the world changed
  5    the request has ended: rejected, expired, consumed or in doubt
  6    there is no such session or approval
  7    approved, and more people have to approve
  130  it was interrupted`,
		Example: `  contextgraph sessions
  contextgraph why s-123
  contextgraph approvals --status drift,check_failed
  contextgraph approve e43c5bd8 --agent http://localhost:8080/api
  contextgraph sessions --from rows.ndjson --output json
  contextgraph init --dry-run --project my-project --dataset agents`,
		Args:              noArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return errors.Join(a.checkOutput(c), a.checkFrom(c)) },
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           buildVersion(),
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if c == root { // a flag of a command that does not exist
			err = cmp.Or(noArgs(c, c.Flags().Args()), err)
		}
		return usageError{ofDataset(c, err)}
	})
	f := root.PersistentFlags()
	f.StringVar(&a.configPath, "config", "", "configuration file (default "+defaultConfig+" where there is one)")
	f.StringVar(&a.journalPath, "journal", "", "journal (default that of the configuration, else "+config.Default().Journal.Path+")")
	f.StringVarP(&a.output, "output", "o", outputTable, "how data is printed: table, json or ndjson")
	f.BoolVar(&a.utc, "utc", false, "print times in UTC, and not how long ago they were")
	f.BoolVar(&a.noColor, "no-color", false, "print no colours, also on a terminal")
	group := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("look", "Look:", a.sessionsCommand(), a.traceCommand(), a.whyCommand(), a.approvalsCommand(), a.flowCommand(), a.statsCommand())
	group("decide", "Decide:", a.approveCommand(), a.rejectCommand(), a.resolveCommand())
	group("back", "Go back:", a.checkpointCommands()...)
	group("guard", "Check and guard:", a.checkCommand(), a.rulesCommand(), a.testCommand(), a.wouldHaveBlockedCommand(), a.doctorCommand())
	group("page", "Page:", a.viewCommand(), a.serveCommand())
	group("rows", "Rows in and out:", a.exportCommand(), a.importCommand())
	group("bigquery", "BigQuery:", textOnly(a.initCommand()), textOnly(a.syncCommand()), textOnly(a.extractCommand()), a.queryCommand(),
		textOnly(a.deadLettersCommand()), textOnly(a.verifyCommand()))
	return root
}

// strictBuiltins makes the commands that cobra adds refuse what they do not know: by themselves
// they answer it with their help, as if that were what was asked for.
func strictBuiltins(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = noArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = noArgs
			}
			c.Example = "  source <(contextgraph completion bash)\n  contextgraph completion zsh --help"
		case "help":
			c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
				about, rest, err := c.Root().Find(args)
				if err == nil {
					err = noArgs(about, rest)
				}
				if err != nil {
					return err
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		}
	}
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		return meant(fmt.Errorf("there is no command %q", args[0]), args[0], names)
	}
	return usageError{fmt.Errorf("%s takes no argument, got %q", c.CommandPath(), args[0])}
}

// argCount makes a check of how many arguments a command takes; usage says what they are.
func argCount(least, most int, usage string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usageError{fmt.Errorf("%s takes %s, got %d arguments", c.CommandPath(), usage, len(args))}
		}
		return nil
	}
}

// fileConfig returns the configuration of the file, with --journal over it. Without
// --config a file that is not there is none.
func (a *app) fileConfig() (config.Config, error) {
	path := cmp.Or(a.configPath, defaultConfig)
	cfg, err := setup.Load(path)
	if errors.Is(err, fs.ErrNotExist) && a.configPath == "" {
		cfg, err = config.Config{}, nil
	}
	if err != nil {
		return config.Config{}, err
	}
	cfg.Journal.Path = cmp.Or(a.journalPath, cfg.Journal.Path)
	return cfg, nil
}

// config returns the configuration of the file, with the flags over it. It names a
// dataset.
func (a *app) config() (config.Config, error) {
	cfg, err := a.flaggedConfig()
	if err != nil {
		return config.Config{}, err
	}
	b := &cfg.BigQuery
	if !b.Enabled() {
		path := cmp.Or(a.configPath, defaultConfig)
		return config.Config{}, usageError{errors.New("no dataset is named: use --project and --dataset, or the section bigquery of " + path)}
	}
	if _, err := warehouse.NamesOf(*b); err != nil {
		return config.Config{}, usageError{err}
	}
	return cfg, nil
}

// flaggedConfig returns the configuration of the file, with the flags over it.
func (a *app) flaggedConfig() (config.Config, error) {
	cfg, err := a.fileConfig()
	if err != nil {
		return config.Config{}, err
	}
	b := &cfg.BigQuery
	for _, o := range []struct {
		flag string
		to   *string
	}{
		{a.flags.Project, &b.Project}, {a.flags.BillingProject, &b.BillingProject}, {a.flags.Dataset, &b.Dataset},
		{a.flags.Location, &b.Location}, {a.flags.Table, &b.Table}, {a.flags.ViewPrefix, &b.ViewPrefix},
		{a.flags.Graph.Name, &b.Graph.Name},
	} {
		if o.flag != "" {
			*o.to = o.flag
		}
	}
	if a.noGraph {
		b.Graph.GQL = new(false)
	}
	return cfg, nil
}

// connect connects to the dataset of the configuration and the flags. The caller closes it.
func (a *app) connect(ctx context.Context) (config.Config, *bigquery.Dataset, error) {
	cfg, err := a.config()
	if err != nil {
		return cfg, nil, err
	}
	d, err := a.dataset(ctx, cfg.BigQuery)
	return cfg, d, err
}

// dataset connects to a dataset. The caller closes it.
func (a *app) dataset(ctx context.Context, cfg config.BigQuery) (*bigquery.Dataset, error) {
	return bigquery.NewDataset(ctx, cfg, bigquery.DatasetOptions{Client: a.client, Write: a.write, Surface: "cli"})
}

// buildVersion says which build this is. The version of a build from a repository names its commit.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of unknown version"
	}
	return cmp.Or(info.Main.Version, "(devel)") + " " + info.GoVersion + " " + runtime.GOOS + "/" + runtime.GOARCH
}

// sessionFlag adds the flags that name a session; usage is that of --session.
func sessionFlag(c *cobra.Command, s *record.Session, usage string) {
	c.Flags().StringVar(&s.ID, "session", "", usage)
	ownerFlags(c, s)
}

// ownerFlags adds the flags that say which session is meant where several have one id.
func ownerFlags(c *cobra.Command, s *record.Session) {
	c.Flags().StringVar(&s.App, "app", "", "application of the session (default the only one with such a session)")
	c.Flags().StringVar(&s.User, "user", "", "user of the session (default the only one with such a session)")
}

// named is the session with an id, of the application and the user of s.
func named(s record.Session, id string) record.Session {
	s.ID = id
	return s
}

// sinceFlag adds --since, without a bound by default.
func sinceFlag(c *cobra.Command, since *duration, usage string) {
	c.Flags().Var(since, "since", usage+" in this time, such as 7d or 36h")
	c.Flags().Lookup("since").DefValue = ""
}

// meant adds to err, which says that a word is not known, the one that was probably meant.
func meant(err error, word string, known []string) error {
	if near := text.Nearest(word, known); near != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return usageError{err}
}

// duration is the value of a flag: a positive time, as the configuration file takes it too.
type duration time.Duration

// String returns the form that people write: 7d, 36h, 1h30m.
func (d *duration) String() string { return config.FormatDuration(time.Duration(*d)) }

// Set reads a duration such as 7d or 36h.
func (d *duration) Set(s string) error {
	v, err := config.ParseDuration(s)
	switch {
	case err != nil:
		return errors.New("use a duration such as 30s, 36h or 7d")
	case v <= 0:
		return errors.New("it must be positive, such as 30s, 36h or 7d")
	}
	*d = duration(v)
	return nil
}

// before is the time so long before now; zero, which is no bound, for zero.
func (d duration) before(now time.Time) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return now.Add(-time.Duration(d))
}

// Type names the kind of value in the help.
func (d *duration) Type() string { return "duration" }
