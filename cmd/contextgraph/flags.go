// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

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
