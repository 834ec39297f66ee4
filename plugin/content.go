// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"strings"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// summary writes what the parts of a content say, joined by " | ", as the contract's
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
		if text := partSays(p); text != "" {
			one = text
			n++
		}
	}
	if n < 2 {
		return one
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if text := partSays(p); text != "" {
			if b.Len() > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(text)
		}
	}
	return b.String()
}

// partSays returns the summary of a part: its text, or a word in its place. A call has none.
func partSays(p *genai.Part) string {
	switch {
	case p == nil:
		return ""
	case p.Text != "":
		return p.Text
	case p.FunctionResponse != nil:
		return responseText(p.FunctionResponse)
	case p.ExecutableCode != nil:
		c := p.ExecutableCode
		return "Executable code (" + cmp.Or(string(c.Language), unknown) + "): " + c.Code
	case p.CodeExecutionResult != nil:
		r := p.CodeExecutionResult
		return "Code execution result (" + cmp.Or(string(r.Outcome), unknown) + "): " + r.Output
	}
	return ""
}

// unknown stands for a part of an unknown kind.
const unknown = "unknown"

func responseText(fr *genai.FunctionResponse) string {
	return "Function response: " + cmp.Or(fr.Name, unknown)
}

// partKind returns the kind of a part for content_parts.
type partKind uint8

const (
	partNone partKind = iota
	partText
	partData
	partFile
	partCall
	partResponse
	partCode
	partResult
)

func kindOf(p *genai.Part) partKind {
	switch {
	case p == nil:
		return partNone
	case p.InlineData != nil:
		return partData
	case p.FileData != nil:
		return partFile
	case p.FunctionCall != nil:
		return partCall
	case p.FunctionResponse != nil:
		return partResponse
	case p.ExecutableCode != nil:
		return partCode
	case p.CodeExecutionResult != nil:
		return partResult
	case p.Text != "":
		return partText
	}
	return partNone
}

// isText reports whether what the part holds reads as text, which only the formatter
// may let into the record.
func (k partKind) isText(p *genai.Part) bool {
	switch k {
	case partText, partCode, partResult:
		return true
	case partData:
		return isText(p.InlineData.MIMEType)
	}
	return false
}

// Which parts of a content become elements of content_parts.

// everything is every part: of a user message.
func everything(k partKind) bool { return k != partNone }

// attachments are the parts that the content column of a model request leaves out.
func attachments(k partKind) bool { return k > partText }

// outputs are the parts of an answer that are neither in the content column nor calls.
func outputs(k partKind) bool {
	return k == partData || k == partFile || k == partCode || k == partResult
}

// parts writes the parts of a content as elements of content_parts. Bytes are never
// written: they go to the store for parts.
func (rw *rows) parts(d jsonenc.Doc, r *Run, span string, c *genai.Content, wanted func(partKind) bool) {
	if c == nil {
		return
	}
	for i, p := range c.Parts {
		k := kindOf(p)
		if !wanted(k) || rw.options.Format != nil && k.isText(p) {
			continue
		}
		if d.Full() {
			return
		}
		d.Open('{')
		rw.part(d, r, span, p, k, i)
		d.Close('}')
	}
}

// part writes the members of one element. part_attributes is JSON inside a string in
// the contract.
func (rw *rows) part(d jsonenc.Doc, r *Run, span string, p *genai.Part, k partKind, index int) {
	mime, text, mode, attributes := "text/plain", "", "INLINE", "{}"
	uri := ""
	switch k {
	case partText:
		text, uri = rw.largeText(r, span, index, p.Text)
	case partData:
		mime = p.InlineData.MIMEType
		text, uri = rw.data(r, span, index, mime, p.InlineData.Data)
	case partFile:
		mime, uri, mode = p.FileData.MIMEType, p.FileData.FileURI, "EXTERNAL_URI"
	case partCall:
		mime, text = "application/json", "Function: "+p.FunctionCall.Name
		attributes = rw.jsonText(map[string]any{"function_name": p.FunctionCall.Name})
	case partResponse:
		fr := p.FunctionResponse
		mime, text = "application/json", responseText(fr)
		// The row of the result has its text.
		attributes = rw.jsonText(map[string]any{"function_response": genai.FunctionResponse{ID: fr.ID, Name: fr.Name}})
	case partCode:
		text = p.ExecutableCode.Code
		attributes = rw.jsonText(map[string]any{"executable_code": p.ExecutableCode})
	case partResult:
		text = p.CodeExecutionResult.Output
		attributes = rw.jsonText(map[string]any{"code_execution_result": p.CodeExecutionResult})
	}
	stored := uri != "" && k != partFile
	if stored {
		mode = "EXTERNAL_URI"
		if strings.HasPrefix(uri, "gs://") {
			mode = "GCS_REFERENCE"
		}
	}
	d.Str("mime_type", mime)
	d.OptStr("uri", uri)
	if mode == "GCS_REFERENCE" {
		rw.objectRef(d, uri, mime)
	}
	d.OptStr("text", text)
	d.Int("part_index", int64(index))
	d.Str("part_attributes", attributes)
	d.Str("storage_mode", mode)
}

// objectRef writes the ObjectRef that BigQuery reads the object by.
func (rw *rows) objectRef(d jsonenc.Doc, uri, mime string) {
	d.Key("object_ref")
	d.Open('{')
	d.Str("uri", uri)
	d.OptStr("authorizer", rw.record.Artifacts.Connection)
	d.Key("details")
	d.Open('{')
	d.Key("gcs_metadata")
	d.Open('{')
	d.Str("content_type", mime)
	d.Close('}')
	d.Close('}')
	d.Close('}')
}
