// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
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

// enclose returns v as a file holds it: [shared], compressed by gzip, in base 64. Nothing of it is markup, and the
// same v gives the same text.
func enclose(v any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // nobody reads the text as HTML, and each escape costs bytes
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	var text strings.Builder
	digits := base64.NewEncoder(base64.StdEncoding, &text)
	zip, err := gzip.NewWriterLevel(digits, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	_, err = zip.Write(share(b.Bytes()))
	err = errors.Join(err, zip.Close(), digits.Close())
	return text.String(), err
}

// minShared is the length of the texts that are worth a place of their own.
const minShared = 16

// share returns a line with a list of the texts that come more than once in JSON, and a line with the
// JSON, in which "~n" stands for the one at place n. gzip sees no text again that comes much later, and
// the ids of a session come all over it.
func share(data []byte) []byte {
	counts, places := make(map[string]int), make(map[string]int)
	for _, lit := range literals(data) {
		if len(lit) >= minShared {
			counts[string(lit)]++
		}
	}
	var list [][]byte
	var rest []byte
	for before, lit := range literals(data) {
		rest = append(rest, before...)
		if counts[string(lit)] < 2 && !bytes.HasPrefix(lit, []byte(`"~`)) {
			rest = append(rest, lit...)
			continue
		}
		n, ok := places[string(lit)]
		if !ok {
			n = len(list)
			places[string(lit)] = n
			list = append(list, lit)
		}
		rest = fmt.Appendf(rest, `"~%d"`, n)
	}
	return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte("]\n"), rest)
}

// literals yields each text in JSON, as it is written, with what stands before it.
func literals(data []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(before, lit []byte) bool) {
		data := data
		for len(data) > 0 {
			start := bytes.IndexByte(data, '"')
			if start < 0 {
				yield(data, nil)
				return
			}
			end := start + 1
			for ; data[end] != '"'; end++ {
				if data[end] == '\\' {
					end++
				}
			}
			if !yield(data[:start], data[start:end+1]) {
				return
			}
			data = data[end+1:]
		}
	}
}
