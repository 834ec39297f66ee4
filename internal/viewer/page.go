// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

//go:embed assets/*.html assets/*.css assets/js
var assets embed.FS

// Write writes the page of d: one HTML file that works from a disk, without a server and
// without a network. It holds what d holds, in full; whoever gets the file gets that.
func Write(w io.Writer, d Document) error {
	title := "contextgraph"
	if len(d.Sessions) == 1 {
		title = d.Sessions[0].Session.ID + " · contextgraph"
	}
	return render(w, title, dataOf(d))
}

// dataOf returns what the page of d holds.
func dataOf(d Document) data {
	content := data{
		Generated: d.Generated.UTC(), Source: d.Source, Complete: d.Complete, Note: d.Note, Queries: listed(d.Queries),
		Sessions: make([]shown, len(d.Sessions)), Inbox: inspect.Inbox(d.Sessions), List: make([]inspect.Summary, len(d.Sessions)), Code: map[string][]CodeStep{}, Version: d.Version, Words: inspect.Words,
	}
	for i, s := range d.Sessions {
		content.List[i], content.Sessions[i] = s.Summary, shownOf(s, true)
		content.Code[s.Session.App+"/"+s.Session.User+"/"+s.Session.ID] = Code(s, d.Names)
	}
	return content
}

// listed makes a nil slice an empty one: the page expects a list.
func listed[T any](s []T) []T { return append([]T{}, s...) }

// render writes the page with its data.
func render(w io.Writer, title string, content data) error {
	page, err := load()
	if err != nil {
		return err
	}
	text, err := enclose(content)
	if err != nil {
		return fmt.Errorf("the data of the page: %w", err)
	}
	return page.shell.Execute(w, map[string]string{
		"Title": html.EscapeString(title), "CSP": html.EscapeString(policy(page, content.Live)), "Style": page.style,
		"Script": page.script, "Data": text,
	})
}

// loaded are the parts of the page.
type loaded struct {
	shell         *template.Template
	style, script string
}

// load reads the embedded parts.
func load() (loaded, error) {
	var p loaded
	read := func(name string) string {
		b, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // embedded
		}
		return string(b)
	}
	var err error
	if p.shell, err = template.New("page").Option("missingkey=error").Parse(read("index.html")); err != nil {
		return p, fmt.Errorf("the shell of the page: %w", err)
	}
	p.style = "\n" + shrink(read("app.css")) + shrink(read("views.css")) + shrink(read("card.css")) + shrink(read("media.css")) + shrink(read("graph.css"))
	files, err := fs.Glob(assets, "assets/js/*.js") // each may stand before each other: only main.js runs, and after all of them
	if err != nil {
		return p, err
	}
	var b bytes.Buffer
	b.WriteString("\n// Copyright 2026 The contextgraph Authors\n// SPDX-License-Identifier: Apache-2.0\n(function () {\n\"use strict\";\n")
	for _, f := range files {
		b.WriteString(shrink(read("js/" + path.Base(f))))
	}
	b.WriteString("})();\n")
	p.script = b.String()
	return p, nil
}

// policy is the Content-Security-Policy of the page: its own style and its own script by
// their hashes, and where it is served live its own server. See
// https://www.w3.org/TR/CSP3/.
func policy(p loaded, live bool) string {
	rules := []string{
		"default-src 'none'", "script-src " + digest(p.script), "style-src " + digest(p.style),
		"img-src data:", "base-uri 'none'", "form-action 'none'",
	}
	if live {
		rules = append(rules, "connect-src 'self'")
	}
	return strings.Join(rules, "; ")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// shrink leaves the comments that stand alone and the indentation out of a script or a style.
// It reads lines, so that no text may go over several: a test holds the files to that.
func shrink(text string) string {
	var b strings.Builder
	comment := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if comment || strings.HasPrefix(line, "/*") {
			// The text after a comment that begins a line, such as one about its type, stays.
			_, after, ends := strings.Cut(line, "*/")
			comment, line = !ends, strings.TrimSpace(after)
		}
		if line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
