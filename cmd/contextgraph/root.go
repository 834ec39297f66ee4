// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/warehouse"
	"github.com/adk-contextgraph/contextgraph/warehouse/bigquery"
)

// The codes that the command ends with.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// usageError says that the command line is wrong.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// app is what the commands share.
type app struct {
	stdout, stderr io.Writer
	// client are options of the BigQuery client beside the credentials of the
	// environment.
	client []option.ClientOption

	configPath string
	// flags override what the file says, where they are not empty.
	flags warehouse.Config
}

// run runs the command line and returns the code to end with. Errors go to stderr.
func run(ctx context.Context, args []string, a *app) int {
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(a.stderr, "contextgraph: %v\n", err)
	if errors.As(err, new(usageError)) {
		fmt.Fprintln(a.stderr, `Run "contextgraph --help" for what there is.`)
		return exitUsage
	}
	return exitError
}

// defaultConfig is the file that is read when --config names none.
const defaultConfig = "contextgraph.yaml"

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "contextgraph",
		Short: "Look after the dataset of contextgraph in BigQuery",
		Long: `contextgraph looks after the dataset in BigQuery that agents stream their rows to.

The dataset is the one in the section bigquery of the configuration file; flags
override it. Credentials are those that Google's libraries find in the environment.`,
		Example: `  # Create the dataset, its tables, views and graph, or bring them up to date.
  contextgraph init --config contextgraph.yaml

  # See what that would do, without a configuration file.
  contextgraph init --dry-run --project my-project --dataset agents`,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	f.StringVar(&a.configPath, "config", "", "configuration file (default "+defaultConfig+" where there is one)")
	f.StringVar(&a.flags.Project, "project", "", "project of the dataset")
	f.StringVar(&a.flags.BillingProject, "billing-project", "", "project that runs and pays for the queries (default the project of the dataset)")
	f.StringVar(&a.flags.Dataset, "dataset", "", "dataset")
	f.StringVar(&a.flags.Location, "location", "", "where a new dataset is created, such as EU or europe-west3 (default US)")
	f.StringVar(&a.flags.Table, "table", "", "table of events (default agent_events)")
	root.AddCommand(a.initCommand(), a.syncCommand(), a.extractCommand(), a.deadLettersCommand())
	return root
}

// noArgs refuses arguments: with those that name no command it says which do.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		return usageError{fmt.Errorf("there is no command %q", args[0])}
	}
	return usageError{fmt.Errorf("%s takes no argument, got %q", c.CommandPath(), args[0])}
}

// config returns the configuration of the file, with the flags over it. Without
// --config a file that is not there is none.
func (a *app) config() (contextgraph.Config, error) {
	path := a.configPath
	if path == "" {
		path = defaultConfig
	}
	cfg, err := contextgraph.LoadConfig(path)
	if errors.Is(err, fs.ErrNotExist) && a.configPath == "" {
		cfg, err = contextgraph.ParseConfig(path, nil, nil)
	}
	if err != nil {
		return contextgraph.Config{}, err
	}
	b := &cfg.BigQuery
	for _, o := range []struct {
		flag string
		to   *string
	}{
		{a.flags.Project, &b.Project}, {a.flags.BillingProject, &b.BillingProject}, {a.flags.Dataset, &b.Dataset},
		{a.flags.Location, &b.Location}, {a.flags.Table, &b.Table}, {a.flags.ViewPrefix, &b.ViewPrefix},
		{a.flags.Graph.Name, &b.Graph.Name}, {string(a.flags.Graph.Queries), (*string)(&b.Graph.Queries)},
	} {
		if o.flag != "" {
			*o.to = o.flag
		}
	}
	if !b.Enabled() {
		return contextgraph.Config{}, usageError{errors.New("no dataset is named: use --project and --dataset, or the section bigquery of " + path)}
	}
	if _, err := b.Names(); err != nil {
		return contextgraph.Config{}, usageError{err}
	}
	return cfg, nil
}

// dataset connects to the dataset of the configuration. The caller closes it.
func (a *app) dataset(ctx context.Context, cfg warehouse.Config) (*bigquery.Dataset, error) {
	return bigquery.NewDataset(ctx, cfg, bigquery.DatasetOptions{Client: a.client, Surface: "cli"})
}
