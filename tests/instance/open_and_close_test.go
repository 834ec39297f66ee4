// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package instance_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestObserveModeWithListedToolsIsAnError(t *testing.T) {
	_, err := contextgraph.Open(t.Context(), contextgraph.Config{Guard: config.Guard{
		Mode: config.ModeObserve, Tools: config.Tools("buy"),
	}})
	if err == nil || !strings.Contains(err.Error(), "cannot remove") {
		t.Fatalf("Open = %v, want an error that says a configuration cannot remove a gate", err)
	}
}

func TestDisabledRecordsNothingAndOpensNoGate(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		events, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
		if err != nil {
			t.Fatal(err)
		}
		got := adktest.Responses(events, "buy")
		for _, c := range adktest.Confirmations(events) {
			got = append(got, h.Answer(cgtest.SessionID, c.ID, true))
		}
		h.WantBought(0)
		if len(got) == 0 || cgtest.Unstreamed(got[len(got)-1])["reason"] != "recorder_off" {
			t.Errorf("buy answered %v, want a denial that says the recorder is off", got)
		}
		if _, err := os.Stat(h.Path + ".off"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a journal was made although recording is off: %v", err)
		}
		if _, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); !errors.Is(err, contextgraph.ErrDisabled) {
			t.Errorf("Check = %v, want ErrDisabled", err)
		}
		if err := h.CG.Flush(t.Context()); err != nil {
			t.Errorf("Flush = %v", err)
		}
	}, func(o *cgtest.Options) {
		o.Config.Enabled = new(false)
		o.Config.Journal.Path += ".off" // the file of the harness exists
	})
}

func TestDisabledLeavesOtherToolsAlone(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, cgtest.Unprotected, func(o *cgtest.Options) { o.Config.Enabled = new(false) })
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(1)
}

func TestClosedInstanceDenies(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		id, _ := h.Ask(cgtest.SessionID)
		if err := h.CG.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.Answer(cgtest.SessionID, id, true); got["reason"] != "closed" {
			t.Errorf("buy answered %v, want a denial that says contextgraph is closed", got)
		}
		h.WantBought(0)
	})
}

// A right configuration starts without a warning.
func TestStartLogsNoWarning(t *testing.T) {
	for name, tt := range map[string]struct {
		guard config.Guard
		want  string
	}{
		"enforce": {config.Guard{Tools: map[string]config.ToolSettings{"buy": {ActsOn: config.ActsOnNothing}}}, "contextgraph: recording"},
		"observe": {config.Guard{Mode: config.ModeObserve}, "nothing is blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			cg, err := contextgraph.Open(t.Context(), contextgraph.Config{
				Journal: config.Journal{Path: filepath.Join(t.TempDir(), "c.db")},
				Guard:   tt.guard,
			}, contextgraph.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			if err != nil {
				t.Fatal(err)
			}
			defer cg.Close(t.Context())
			if got := log.String(); strings.Contains(got, "level=WARN") || !strings.Contains(got, tt.want) || !strings.Contains(got, "not authenticated") {
				t.Errorf("log = %q, want no warning, %q, and that approvers are not authenticated", got, tt.want)
			}
		})
	}
}

func TestFromFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "contextgraph.yaml")
	db := filepath.Join(dir, "x.db")
	if err := os.WriteFile(file, []byte("journal: {path: "+db+"}\nguard: {tools: {buy: {}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cg, err := contextgraph.FromFile(file, contextgraph.WithLogger(cgtest.Quiet()),
		contextgraph.WithChecker("Product", safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) { return safety.State{}, nil })))
	if err != nil {
		t.Fatal(err)
	}
	if cg.JournalPath() != db {
		t.Errorf("JournalPath = %q, want %q", cg.JournalPath(), db)
	}
	if err := cg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cg.Close(t.Context()); err != nil {
		t.Errorf("second Close = %v", err)
	}
	if err := os.WriteFile(file, []byte("guard:\n  mdoe: enforce\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = contextgraph.FromFile(file)
	if err == nil || !strings.Contains(err.Error(), "contextgraph.yaml:2:3") || !strings.Contains(err.Error(), "mode") {
		t.Errorf("FromFile = %v, want an error with line and remedy", err)
	}
}

// What will make every approval fail is said at the start, not after a human said
// yes.
func TestStartWarnsOfTypesThatNothingChecks(t *testing.T) {
	cfg, err := config.Parse("test.yaml", []byte(`
extract:
  - {name: offers, tool: search, type: Produkt, value: $.name}
  - {name: prices, tool: search, type: Product, value: $.name, attributes: {price: {path: $.p, type: money}, reach: {path: $.r, type: number}}}
checkers:
  - {type: Product, http: {url: "http://127.0.0.1:1/{value}", attributes: {price: {path: $.p, type: money}}}}
`), nil, setup.Checks()...)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cfg.Journal.Path = filepath.Join(t.TempDir(), "c.db")
	cg, err := contextgraph.Open(t.Context(), cfg, contextgraph.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer cg.Close(t.Context())
	for _, want := range []string{`type \"Produkt\", which no checker checks`, `did you mean \"Product\"?`, `attribute \"reach\" of type \"Product\"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log lacks %s:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), `attribute \"price\"`) {
		t.Errorf("log complains of an attribute that is answered:\n%s", log.String())
	}
}
