// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ratelog

import (
	"context"
	"fmt"
	"log/slog"
)

// contained is a handler of the host's whose panics end with it.
type contained struct{ next slog.Handler }

// Contain returns a handler in front of next that turns its panics into errors: a log
// line must cost neither a run nor, on a goroutine of ours, the program, least of all a
// line about a panic that was recovered. A next whose Enabled panics takes no records.
func Contain(next slog.Handler) slog.Handler { return contained{next} }

// Enabled reports whether the next handler takes records of the level.
func (h contained) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.next.Enabled(ctx, level)
}

// Handle passes r on.
func (h contained) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the log handler panicked: %v", p)
		}
	}()
	return h.next.Handle(ctx, r)
}

// WithAttrs returns a handler whose panics are contained too.
func (h contained) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contained{h.next.WithAttrs(attrs)}
}

// WithGroup returns a handler whose panics are contained too.
func (h contained) WithGroup(name string) slog.Handler { return contained{h.next.WithGroup(name)} }
