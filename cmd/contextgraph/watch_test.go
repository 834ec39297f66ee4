// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestWatch: each new request and each change of a status is a line, as it happens.
func TestWatch(t *testing.T) {
	for _, test := range []struct {
		args string
		want []string
	}{
		{"", []string{"… pending  e43c5bd8  deploy", "≠ changed since it was read  e43c5bd8  deploy"}},
		{"--output ndjson", []string{`"status":"pending"`, `"status":"drift"`}},
		{"--status drift", []string{"≠ changed since it was read  e43c5bd8  deploy"}},
	} {
		t.Run(test.args, func(t *testing.T) {
			j, a := asking(t, nil)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ticks, out, code := make(chan time.Time), new(pipe), make(chan int, 1)
			lines := out.lines()
			errs := new(bytes.Buffer)
			go func() {
				args := append(strings.Fields("approvals --watch"), strings.Fields(test.args)...)
				code <- run(ctx, args, &app{stdout: out, stderr: errs, now: func() time.Time { return demoNow }, tick: ticks})
				out.close()
			}()
			next := func(want string) {
				t.Helper()
				if line, ok := <-lines; !ok || !strings.Contains(line, want) {
					t.Fatalf("the line is %q, want %q\n%s", line, want, errs)
				}
			}
			if len(test.want) > 1 {
				next(test.want[0])
			}
			ticks <- demoNow // nothing is new, so nothing is printed
			ticks <- demoNow
			row(t, j, a, record.InvocationCompleted, `"x":1`) // a row that changes no status
			ticks <- demoNow
			ticks <- demoNow
			gate{t, j, a}.move(safety.StatePending, safety.StateBlocked, safety.Transition{Actor: "eva", Set: safety.Update{Verdict: "drift"}})
			row(t, j, a, record.WorldChangeCheck, `"stage":"answer","verdict":"drift"`)
			ticks <- demoNow
			next(test.want[len(test.want)-1])
			stop()
			if got := <-code; got != exitOK {
				t.Errorf("Ctrl-C ends it with %d: %s", got, errs)
			}
			if line, more := <-lines; more {
				t.Errorf("one line too many: %s", line)
			}
		})
	}
}

// TestWatchSeesExpiry: no row says that a request has expired.
func TestWatchSeesExpiry(t *testing.T) {
	asking(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ticks, nows, out := make(chan time.Time), make(chan time.Time, 1), new(pipe)
	lines := out.lines()
	nows <- demoNow
	now := func() time.Time {
		at := <-nows
		nows <- at
		return at
	}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"approvals", "--watch"}, &app{stdout: out, stderr: io.Discard, now: now, tick: ticks})
		out.close()
	}()
	if line := <-lines; !strings.Contains(line, "pending") {
		t.Errorf("the line is %q", line)
	}
	<-nows
	nows <- demoNow.Add(2 * time.Hour)
	ticks <- demoNow
	if line := <-lines; !strings.Contains(line, "expired") {
		t.Errorf("the line is %q", line)
	}
	stop()
	if got := <-code; got != exitOK {
		t.Errorf("it ends with %d", got)
	}
}

func TestWatchRefuses(t *testing.T) {
	demo(t)
	for args, want := range map[string]string{
		"--output json": "use --output ndjson", "--from rows.ndjson": "goes with the journal", "sess-nike-summer": "leave the id out", "--approval x": "leave the id out",
	} {
		if code, _, stderr := runCommand(t, append([]string{"approvals", "--watch"}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("--watch %s = %d: %s", args, code, stderr)
		}
	}
}

// pipe gives what is written to it line by line.
type pipe struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func (p *pipe) lines() <-chan string {
	p.r, p.w = io.Pipe()
	lines := make(chan string, 64)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(p.r); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

func (p *pipe) Write(data []byte) (int, error) { return p.w.Write(data) }
func (p *pipe) close()                         { p.w.Close() }
