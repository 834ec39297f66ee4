// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/internal/viewer/viewertest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// maxPage is how large the page may be without its data, in bytes.
const maxPage = 350_000

func written(t *testing.T, sessions ...*inspect.Session) string {
	t.Helper()
	queries, err := viewer.Queries(config.BigQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = viewer.Write(&b, viewer.Document{Source: "a test", Generated: noon, Complete: true, Sessions: sessions, Queries: queries})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageIsSmall(t *testing.T) {
	var b bytes.Buffer
	if err := viewer.Write(&b, viewer.Document{}); err != nil {
		t.Fatal(err)
	}
	if n := b.Len(); n > maxPage {
		t.Errorf("the page without data has %d bytes, more than %d", n, maxPage)
	}
}

// What makes the page smaller reads its files by lines: no text may go over several.
func TestFilesCanBeReadByLines(t *testing.T) {
	files, err := filepath.Glob("assets/js/*.js")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		comment, n := false, 0
		for line := range strings.Lines(string(b)) {
			n++
			line = strings.TrimSpace(line)
			if comment || strings.HasPrefix(line, "/*") {
				_, after, ends := strings.Cut(line, "*/")
				comment, line = !ends, after
			}
			if !strings.HasPrefix(line, "//") && strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s:%d: a text goes over several lines", f, n)
			}
		}
		if comment {
			t.Errorf("%s: a comment without an end", f)
		}
	}
}

// elements returns what stands in the elements of a name, with their attributes.
func elements(t *testing.T, page, name string) (attributes, texts []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?s)<`+name+`([^>]*)>(.*?)</`+name+`>`).FindAllStringSubmatch(page, -1) {
		attributes, texts = append(attributes, m[1]), append(texts, m[2])
	}
	return attributes, texts
}

// Every script and style of the page is named in its policy by its hash, and nothing else is.
func TestPolicyNamesWhatThePageHas(t *testing.T) {
	page := written(t)
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if policy == nil {
		t.Fatal("the page has no policy")
	}
	text := strings.ReplaceAll(policy[1], "&#39;", "'")
	hashes := 0
	check := func(kind, text, body string) {
		sum := sha256.Sum256([]byte(body))
		hashes++
		if hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(text, hash) {
			t.Errorf("the policy does not have the hash %s of a %s", hash, kind)
		}
	}
	attributes, scripts := elements(t, page, "script")
	for i, body := range scripts {
		if !strings.Contains(attributes[i], "text/plain") {
			check("script", text, body)
		}
	}
	_, styles := elements(t, page, "style")
	for _, body := range styles {
		check("style", text, body)
	}
	if n := strings.Count(text, "'sha256-"); n != 2 || hashes != 2 {
		t.Errorf("%d hashes for %d elements, want 2", n, hashes)
	}
	for _, bad := range []string{"unsafe-inline", "unsafe-eval", "*", "http:", "https:"} {
		if strings.Contains(text, bad) {
			t.Errorf("the policy allows %s: %s", bad, text)
		}
	}
	if !strings.HasPrefix(text, "default-src 'none'") || strings.Contains(text, "connect-src") {
		t.Errorf("policy %s", text)
	}
}

// Nothing of the page is fetched, whatever the policy says.
func TestPageFetchesNothing(t *testing.T) {
	page := written(t)
	_, scripts := elements(t, page, "script")
	for _, body := range scripts {
		page = strings.Replace(page, body, "", 1)
	}
	page = strings.Replace(page, `<link rel="icon" href="data:`, "", 1)
	for _, bad := range []string{"src=", "href=\"http", "url(", "@import", "<link", "<iframe", "<img", "<base", "style=\"", "onclick", "onload"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

// What a record says is data, whatever it looks like.
func TestDataCannotEndItsElement(t *testing.T) {
	hostile := record.Session{App: "</script><script>alert(1)</script>", User: "<!--<script>", ID: "]]> \u2028 \u2029"}
	rows := asked(hostile)
	rows[0].Content = []byte(`{"text_summary":"</script><img src=x onerror=alert(1)>"}`)
	page := written(t, session(t, hostile, rows))
	attributes, texts := elements(t, page, "script")
	if len(texts) != 2 {
		t.Fatalf("%d script elements, want 2", len(texts))
	}
	for i, text := range texts {
		if !strings.Contains(attributes[i], "text/plain") {
			continue
		}
		if n := strings.IndexFunc(text, func(r rune) bool { return r < '!' || r > 'z' || strings.ContainsRune("<>&", r) }); n >= 0 {
			t.Errorf("the data has the character %q, which HTML may read as more than itself", text[n])
		}
		var data struct {
			Sessions []struct {
				Session record.Session `json:"session"`
			} `json:"sessions"`
		}
		if err := json.Unmarshal(viewertest.Data(t, page), &data); err != nil {
			t.Fatal(err)
		}
		if got := data.Sessions[0].Session; got != hostile {
			t.Errorf("the page has session %q, want %q", got, hostile)
		}
	}
	if title := regexp.MustCompile(`<title>(.*?)</title>`).FindStringSubmatch(page); title == nil || strings.Contains(title[1], "<") || strings.Contains(title[1], "]]>") {
		t.Errorf("title %q", title)
	}
}

func TestQueries(t *testing.T) {
	queries, err := viewer.Queries(config.BigQuery{Project: "my-project-123", Dataset: "media"})
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string]int{}
	for _, q := range queries {
		languages[q.Language]++
		if q.Name == "" || q.Title == "" || q.Category == "" || len(q.Tags) == 0 || q.Text == "" {
			t.Errorf("%+v lacks something", q)
		}
		if strings.Contains(q.Text, "{{") || q.Language != "SQLite" && !strings.Contains(q.Text, "`my-project-123.media") {
			t.Errorf("%s is not filled in:\n%s", q.Name, q.Text)
		}
	}
	for _, l := range []string{"SQL", "GQL", "DDL", "SQLite"} {
		if languages[l] == 0 {
			t.Errorf("no query is %s", l)
		}
	}
	if _, err := viewer.Queries(config.BigQuery{Project: "a`b"}); err == nil {
		t.Error("a name that is none is taken")
	}
}
