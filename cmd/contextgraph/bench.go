// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

func (a *app) benchCommand() *cobra.Command {
	each := duration(time.Second)
	var dir string
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure on this machine what recording, approving and reading cost",
		Long: `bench measures with a new journal, which it removes afterwards:

  rows       how many rows a second one process stores, until they are committed
  durable    how long a request for an approval waits for the disk
  check      what a check of ten entities costs without its checkers, which are the rest
  read       how long the rows of a session with 1,000 spans take to read
  graph      how long all there is to see of it takes to make of them

What it prints depends on the disk of --dir: use the one that the journal is on.`,
		Example: `  contextgraph bench
  contextgraph bench --duration 5s --dir /var/lib/agents --output json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.bench(c.Context(), dir, time.Duration(each))
		},
	}
	c.Flags().Var(&each, "duration", "how long each is measured")
	c.Flags().StringVar(&dir, "dir", "", "folder for the journal (default that of temporary files)")
	return c
}

// measurement is what bench found out about one thing.
type measurement struct {
	Name string `json:"name"`
	// What says what one operation is.
	What string `json:"what"`
	// Value is how many a second where Unit is "rows/s", else the median time of one in
	// Unit, beside the 95th percentile and the longest.
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	P95   float64 `json:"p95,omitempty"`
	Max   float64 `json:"max,omitempty"`
	// Count is how many were measured.
	Count int `json:"count"`
}

func (a *app) bench(ctx context.Context, dir string, d time.Duration) (err error) {
	dir, err = os.MkdirTemp(dir, "contextgraph-bench-*")
	if err != nil {
		return fmt.Errorf("no folder for the journal: %w; name one with --dir", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: filepath.Join(dir, config.Default().Journal.Path), OnFull: config.Block}, BlockTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
	b := &benchmark{journal: j, duration: d}
	var out []measurement
	for _, measure := range []func(context.Context) ([]measurement, error){b.rows, b.durable, b.check, b.look} {
		found, err := measure(ctx)
		if err != nil {
			return err
		}
		out = append(out, found...)
	}
	return a.print(out, func(t *table) {
		t.columns([]string{"", "VALUE", "P95", "MAX", "COUNT", "WHAT"})
		for _, m := range out {
			p95, most := "", ""
			if m.Max > 0 {
				p95, most = number(m.P95), number(m.Max)
			}
			t.row(cell{m.Name, bold}, number(m.Value)+" "+m.Unit, p95, most, m.Count, m.What)
		}
	})
}

// number writes a measured number with three digits that mean something.
func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// timed calls f for the duration, once at least, and returns how long the calls took in
// milliseconds.
func timed(ctx context.Context, d time.Duration, f func(n int) error) ([]float64, error) {
	var took []float64
	for start := time.Now(); len(took) == 0 || time.Since(start) < d; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := f(len(took)); err != nil {
			return nil, err
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/1e6)
	}
	return took, nil
}

// times is the measurement of calls that took so long.
func times(name, what string, took []float64) measurement {
	slices.Sort(took)
	return measurement{
		Name: name, What: what, Unit: "ms", Count: len(took),
		Value: took[len(took)/2], P95: took[len(took)*95/100], Max: took[len(took)-1],
	}
}
