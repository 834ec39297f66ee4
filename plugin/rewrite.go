// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// markFormatterFailed is the content of a row whose formatter failed. The content
// itself is not written then: it may be what the formatter is there to remove.
const markFormatterFailed = "[FORMATTER_FAILED]"

// rewrite replaces the content in w, and nothing else, by the result of the formatter and the
// content policy. It returns whether the content was cut before.
func (enc *encoder) rewrite(w *jsonenc.Writer, eventType string, p config.ContentPolicy) (truncated bool) {
	content := bytes.Clone(w.Bytes())
	reset := func() jsonenc.Doc {
		truncated = truncated || w.Truncated()
		enc.tally(w)
		w.Reset()
		return w.Doc(contentShare)
	}
	if enc.options.Format != nil {
		v := enc.formatted(eventType, content)
		reset().Value(v)
		content = bytes.Clone(w.Bytes())
	}
	if p == config.ContentDigest {
		sum := sha256.Sum256(content)
		d := reset()
		d.Open('{')
		d.Str("sha256", hex.EncodeToString(sum[:]))
		d.Int("bytes", int64(len(content)))
		d.Close('}')
	}
	return truncated
}

// formatted returns the value of the JSON that the formatter gives, or the mark of its
// failure.
func (enc *encoder) formatted(eventType string, content []byte) any {
	v, err := enc.format(eventType, content)
	if err != nil {
		enc.counters.formatterFailed.Add(1)
		enc.often.Warn("contextgraph: the content formatter failed; the content is not recorded", "event_type", eventType, "error", err)
		return markFormatterFailed
	}
	return v
}

func (enc *encoder) format(eventType string, content []byte) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	out, err := enc.options.Format(eventType, content)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("its answer is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("its answer is more than one JSON value")
	}
	return v, nil
}

// payload returns what is written of a payload that stands outside of the content
// column, false for nothing.
func (enc *encoder) payload(eventType string, v any) (any, bool) {
	switch {
	case enc.policies[eventType].content != "":
		return nil, false
	case enc.options.Format == nil:
		return v, true
	}
	w := enc.writer()
	defer enc.writers.Put(w)
	w.Doc(attributesShare).Value(v)
	enc.tally(w)
	return enc.formatted(eventType, bytes.Clone(w.Bytes())), true
}
