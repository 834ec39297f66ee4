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
	"math"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// markFormatterFailed is the content of a row whose formatter failed. The content
// itself is not written then: it may be what the formatter is there to remove.
const markFormatterFailed = "[FORMATTER_FAILED]"

// rewrite puts what the formatter and the content policy make of the content in the
// place of what w holds, which is the content alone. It returns whether the content
// was cut before.
func (rec *Recorder) rewrite(w *jsonenc.Writer, eventType string, p ContentPolicy) (truncated bool) {
	content := bytes.Clone(w.Bytes())
	reset := func() jsonenc.Doc {
		truncated = truncated || w.Truncated()
		rec.tally(w)
		w.Reset()
		return w.Doc(contentShare)
	}
	if rec.options.Format != nil {
		v := rec.formatted(eventType, content)
		reset().Value(v)
		content = bytes.Clone(w.Bytes())
	}
	if p == ContentDigest {
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
func (rec *Recorder) formatted(eventType string, content []byte) any {
	v, err := rec.format(eventType, content)
	if err != nil {
		rec.counters.formatterFailed.Add(1)
		rec.often.Warn("contextgraph: the content formatter failed; the content is not recorded", "event_type", eventType, "error", err)
		return markFormatterFailed
	}
	return v
}

func (rec *Recorder) format(eventType string, content []byte) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	out, err := rec.options.Format(eventType, content)
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
func (rec *Recorder) payload(eventType string, v any) (any, bool) {
	switch {
	case rec.policies[eventType].content != "":
		return nil, false
	case rec.options.Format == nil:
		return v, true
	}
	w := rec.writers.Get().(*jsonenc.Writer)
	defer rec.writers.Put(w)
	w.Reset()
	w.Doc(attributesShare).Value(v)
	rec.tally(w)
	return rec.formatted(eventType, bytes.Clone(w.Bytes())), true
}

// cleanText returns s without the secrets in it. It may be longer than s: so may the mark
// of a secret.
func (rec *Recorder) cleanText(s string) string {
	w := rec.writers.Get().(*jsonenc.Writer)
	defer rec.writers.Put(w)
	w.Reset()
	defer rec.tally(w)
	return w.Clean(s, math.MaxInt)
}
