// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package page_test opens the page in headless Chromium and uses it as a reader does.
//
// CONTEXTGRAPH_CHROMIUM names the browser; without it one is looked for in PATH. Without any the
// tests are skipped, or fail with CONTEXTGRAPH_REQUIRE_CHROMIUM=1. CONTEXTGRAPH_SCREENSHOTS is
// the directory that keeps the pictures.
package page_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
)

// screenshot is where TestScreenshot writes the picture of the README.
var screenshot = flag.String("screenshot", "", "write the picture of the README to this `path`, such as ../../../docs/images/page.png")

// suite is what all tests share: one browser, and the page of the demo's journal.
var suite struct {
	browser context.Context // nil without Chromium
	demo    string          // the file of the page
	journal string          // the journal of the demo
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "page tests:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	path := chromium()
	if path == "" {
		if os.Getenv("CONTEXTGRAPH_REQUIRE_CHROMIUM") == "1" {
			return 1, errors.New("no Chromium in PATH: install one, or name it in CONTEXTGRAPH_CHROMIUM")
		}
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "contextgraph-page-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, removeAll(dir)) }()
	if suite.demo, err = demoPage(dir); err != nil {
		return 1, err
	}
	// No name has an address: what asks another host gets nothing, on a machine with a network too.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 800), chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("hide-scrollbars", true),
		chromedp.CombinedOutput(io.Discard), chromedp.WSURLReadTimeout(time.Minute),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	browser, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		return 1, fmt.Errorf("start %s: %w", path, err)
	}
	suite.browser = browser
	return m.Run(), nil
}

// chromium finds the browser; "" when there is none.
func chromium() string {
	if path := os.Getenv("CONTEXTGRAPH_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// removeAll removes a directory that processes of the browser may write to for a moment still.
func removeAll(dir string) (err error) {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}

// demoPage runs the demo and writes the page of its journal.
func demoPage(dir string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	folder := filepath.Join(dir, "demo")
	cmd := exec.CommandContext(ctx, "go", "run", "./examples/adcp", "--dir", folder)
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the demo: %w\n%s", err, out)
	}
	suite.journal = filepath.Join(folder, "contextgraph.db")
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: suite.journal}})
	if err != nil {
		return "", err
	}
	d, err := document(ctx, inspect.NewJournal(j))
	if err = errors.Join(err, j.Close(ctx)); err != nil {
		return "", err
	}
	d.Complete = true
	path := filepath.Join(dir, "demo.html")
	return path, writePage(path, d)
}

// document holds all sessions of a source.
func document(ctx context.Context, source inspect.Source) (viewer.Document, error) {
	d := viewer.Document{Source: source.Name(), Generated: time.Now(), Version: "test"}
	var err error
	if d.Queries, err = viewer.Queries(config.BigQuery{}); err != nil {
		return d, err
	}
	list, err := source.Sessions(ctx, inspect.Query{Limit: inspect.MaxLimit})
	if err != nil {
		return d, err
	}
	for _, l := range list.Sessions {
		record, err := source.Record(ctx, l.Session)
		if err != nil {
			return d, err
		}
		s, err := inspect.New(record, time.Now())
		if err != nil {
			return d, err
		}
		d.Sessions = append(d.Sessions, s)
	}
	return d, nil
}

func writePage(path string, d viewer.Document) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(viewer.Write(f, d), f.Close())
}

// pageOf writes a page of sessions and returns its address.
func pageOf(t *testing.T, sessions ...*inspect.Session) string {
	t.Helper()
	queries, err := viewer.Queries(config.BigQuery{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	d := viewer.Document{Source: "a test", Generated: time.Now(), Complete: true, Sessions: sessions, Queries: queries, Version: "test"}
	if err := writePage(path, d); err != nil {
		t.Fatal(err)
	}
	return fileURL(t, path)
}

func fileURL(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(full)}).String()
}
