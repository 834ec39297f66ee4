// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
)

// duration is the value of a flag: a positive time, as the configuration file takes it too.
type duration time.Duration

// String returns the form in which people write it: 7d, 36h, 1h30m.
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

// Type names the kind of value in the help.
func (d *duration) Type() string { return "duration" }
