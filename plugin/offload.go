// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"hash/maphash"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// Marks of the contract for parts that do not stand in the row.
const (
	markOffloaded     = "... [OFFLOADED]"
	markMediaStored   = "[MEDIA OFFLOADED]"
	markUploadRefused = "[UPLOAD FAILED]"
)

// Of a text that is longer than largeText, in bytes, the row holds the first
// previewText characters, as with the Python plugin.
const (
	largeText   = 32 << 10
	previewText = 200
)

// largeText returns what the row holds of a text part and where all of it stands; the
// URI is empty when the text is in the row.
func (rw *rows) largeText(r *Run, span string, index int, text string) (inRow, uri string) {
	if rw.options.Offload == nil || len(text) <= largeText {
		return text, ""
	}
	// A part that is stored outside of the row has no secrets either.
	clean := rw.cleanText(text)
	uri, ok := rw.options.Offload.Put(rw.partName(r, span, index, "text/plain"), "text/plain", []byte(clean))
	if !ok {
		rw.counters.notOffloaded.Add(1)
		return text, ""
	}
	return preview(clean) + markOffloaded, uri
}

func preview(s string) string {
	n := 0
	for i := range s {
		if n == previewText {
			return s[:i]
		}
		n++
	}
	return s
}

// data stores the bytes of a part and returns what the row says in their place.
func (rw *rows) data(r *Run, span string, index int, mime string, data []byte) (inRow, uri string) {
	if rw.options.Offload == nil || len(data) == 0 {
		return jsonenc.MarkBinary, ""
	}
	// The same bytes pass several times in a run, with the message and with the
	// requests that repeat it.
	key := storedKey{maphash.Bytes(rw.hashes.seed, data), len(data)}
	r.mu.Lock()
	uri, ok := r.stored[key]
	r.mu.Unlock()
	if ok {
		return markMediaStored, uri
	}
	content := data
	if isText(mime) && utf8.Valid(data) {
		content = []byte(rw.cleanText(string(data)))
	}
	if uri, ok = rw.options.Offload.Put(rw.partName(r, span, index, mime), mime, content); !ok {
		rw.counters.notOffloaded.Add(1)
		return markUploadRefused, ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stored == nil {
		r.stored = make(map[storedKey]string)
	}
	r.stored[key] = uri
	return markMediaStored, uri
}

// isText reports whether bytes of the type are text that people may have written.
func isText(mime string) bool {
	mime = baseType(mime)
	switch mime {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson", "application/javascript":
		return true
	}
	return strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "+json") || strings.HasSuffix(mime, "+xml")
}

// baseType returns a media type without its parameters, in lower case.
func baseType(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	return strings.ToLower(strings.TrimSpace(mime))
}

// partName returns a name that no other part has: date, trace, span and a random end.
func (rw *rows) partName(r *Run, span string, index int, mime string) string {
	return rw.now().UTC().Format("2006-01-02") + "/" + r.TraceID + "/" + span + "_" + newSpanID() +
		"_p" + strconv.Itoa(index) + extension(mime)
}

// extension returns the ending of a file of the type. The system's table is not
// asked: reading it is I/O.
func extension(mime string) string {
	switch baseType(mime) {
	case "text/plain":
		return ".txt"
	case "text/html":
		return ".html"
	case "text/csv":
		return ".csv"
	case "application/json":
		return ".json"
	case "application/pdf":
		return ".pdf"
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "audio/mpeg":
		return ".mp3"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	case "audio/pcm":
		return ".pcm"
	case "video/mp4":
		return ".mp4"
	}
	return ".bin"
}
