// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"log/slog"
)

// contained is a handler of the host's whose panics end with it: a log line must not
// cost a run, least of all one about a panic that was recovered.
type contained struct{ next slog.Handler }

// Enabled implements [slog.Handler].
func (h contained) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h contained) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return h.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h contained) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contained{h.next.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h contained) WithGroup(name string) slog.Handler { return contained{h.next.WithGroup(name)} }
