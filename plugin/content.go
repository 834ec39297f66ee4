// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// summary writes the text parts of a content joined by " | ", as the contract's
// text_summary and prompt messages have it.
func summary(d jsonenc.Doc, c *genai.Content) {
	d.Elem(textOf(c))
}

func textOf(c *genai.Content) string {
	if c == nil {
		return ""
	}
	one, n := "", 0
	for _, p := range c.Parts {
		if p != nil && p.Text != "" {
			one = p.Text
			n++
		}
	}
	if n < 2 {
		return one
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if p != nil && p.Text != "" {
			if b.Len() > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// contentParts writes the parts of a content as elements of content_parts. Bytes
// are never written.
func contentParts(d jsonenc.Doc, c *genai.Content) {
	if c == nil {
		return
	}
	for i, p := range c.Parts {
		if d.Full() {
			return
		}
		if p == nil {
			continue
		}
		mime, uri, text, mode, name := "text/plain", "", p.Text, "INLINE", ""
		switch {
		case p.InlineData != nil:
			mime, text = p.InlineData.MIMEType, jsonenc.MarkBinary
		case p.FileData != nil:
			mime, uri, mode, text = p.FileData.MIMEType, p.FileData.FileURI, "EXTERNAL_URI", ""
		case p.FunctionCall != nil:
			mime, name, text = "application/json", p.FunctionCall.Name, "Function: "+p.FunctionCall.Name
		case p.FunctionResponse != nil:
			mime, name, text = "application/json", p.FunctionResponse.Name, "Function response: "+p.FunctionResponse.Name
		case p.Text == "":
			continue
		}
		d.Open('{')
		d.Str("mime_type", mime)
		d.OptStr("uri", uri)
		d.OptStr("text", text)
		d.Int("part_index", int64(i))
		// part_attributes is JSON inside a string in the contract.
		if name != "" {
			d.Str("part_attributes", `{"function_name":`+quote(name)+`}`)
		} else {
			d.Str("part_attributes", "{}")
		}
		d.Str("storage_mode", mode)
		d.Close('}')
	}
}

func quote(s string) string {
	w := jsonenc.NewWriter(jsonenc.Limits{})
	w.Doc(100).Value(s)
	return string(w.Bytes())
}
