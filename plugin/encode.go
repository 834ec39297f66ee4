// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

// encoder writes values as rows hold them: bounded, redacted, and as the options say. It is
// safe for concurrent use.
type encoder struct {
	record  config.Record // with its defaults
	options Options
	// policies holds what the configuration says about single event types.
	policies map[string]policy
	secrets  *redact.Rules
	writers  sync.Pool
	counters counters
	// often logs what may happen with every row: one line per kind and minute.
	often *slog.Logger
	// seed is for hashes that this process compares with each other.
	seed maphash.Seed
	// schemas has the schemas of tools as they were written.
	schemas *schemas
	// noResult is the digest of a response without members: stored as JSON it is the same as none.
	noResult jsonenc.Digest
}

func (enc *encoder) open(cfg Config, often *slog.Logger) (unrecorded []string, err error) {
	c, o := config.Config{Record: cfg.Record}.WithDefaults().Record, cfg.Options
	enc.record, enc.options, enc.often, enc.seed = c, o, often, maphash.MakeSeed()
	secrets := redact.Config{Keys: c.Redact.Keys}
	for i, pattern := range c.Redact.Patterns {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("contextgraph: record.redact.patterns[%d]: %w", i, err)
		}
		secrets.Patterns = append(secrets.Patterns, re)
	}
	enc.secrets = redact.NewRules(secrets)
	limits := jsonenc.Limits{String: int(c.MaxString), Total: int(c.MaxRow)}
	key := bytes.Clone(cfg.Secret)
	enc.writers.New = func() any {
		w := jsonenc.NewWriter(limits, enc.secrets)
		w.SetKey(key)
		return w
	}
	enc.noResult = enc.writer().Digest(map[string]any{})
	if enc.schemas, err = newSchemas(); err != nil {
		return nil, err
	}
	enc.policies, unrecorded, err = o.policies(c)
	return unrecorded, err
}

// writer returns an empty writer, which the caller gives back with writers.Put.
func (enc *encoder) writer() *jsonenc.Writer {
	w := enc.writers.Get().(*jsonenc.Writer)
	w.Reset()
	return w
}

// Whole reports whether the payload of the event type may be written as it is. A
// formatter sees the content alone, so nothing of it may stand elsewhere then.
func (enc *encoder) Whole(eventType string) bool {
	return enc.options.Format == nil && enc.policies[eventType].content == ""
}

// tally counts what encoding replaced.
func (enc *encoder) tally(w *jsonenc.Writer) {
	if n := w.Redacted(); n > 0 {
		enc.counters.redacted.Add(uint64(n))
	}
	if n := w.Repaired(); n > 0 {
		enc.counters.repaired.Add(uint64(n))
	}
}

// Same reports whether rows write two values alike.
func (enc *encoder) Same(a, b any) bool { return enc.digest(a) == enc.digest(b) }

// Digest returns a digest of a whole value. Values that rows write alike have the same one, in all
// programs over one store.
func (enc *encoder) Digest(v any) string { return enc.digest(v).String() }

// digest returns the digest of a value. Values that rows write alike have the same one.
func (enc *encoder) digest(v any) jsonenc.Digest {
	if m, ok := v.(map[string]any); ok && len(m) == 0 {
		return enc.noResult
	}
	w := enc.writers.Get().(*jsonenc.Writer)
	defer enc.writers.Put(w)
	return w.Digest(v)
}

// hash returns a function that hashes a value as it would be written.
func (enc *encoder) hash(w *jsonenc.Writer) func(any) uint64 {
	return func(v any) uint64 {
		w.Reset()
		w.Doc(100).Value(v)
		return maphash.Bytes(enc.seed, w.Bytes())
	}
}

// jsonText returns the JSON of v, bounded and redacted as everything else.
func (enc *encoder) jsonText(v any) string {
	w := enc.writer()
	defer enc.writers.Put(w)
	w.Doc(partsShare).Value(v)
	enc.tally(w)
	if !json.Valid(w.Bytes()) {
		return "{}"
	}
	return string(w.Bytes())
}

// cleanText returns s without the secrets in it. It may be longer than s: so may the mark
// of a secret.
func (enc *encoder) cleanText(s string) string {
	w := enc.writer()
	defer enc.writers.Put(w)
	defer enc.tally(w)
	return w.Clean(s, math.MaxInt)
}

// Encoded is a value as a row would hold it.
type Encoded struct {
	JSON []byte
	// Exact says that nothing was cut. Redacted says that something was replaced because it
	// is secret.
	Exact, Redacted bool
}

// Encode returns v as a row would hold it, within the limits of a whole row.
func (enc *encoder) Encode(v any) Encoded { return enc.encode(v, 100) }

// EncodeContent returns v as the content of a row would hold it.
func (enc *encoder) EncodeContent(v any) Encoded { return enc.encode(v, contentShare) }

func (enc *encoder) encode(v any, share int) Encoded {
	w := enc.writer()
	defer enc.writers.Put(w)
	w.Doc(share).Value(v)
	return Encoded{JSON: bytes.Clone(w.Bytes()), Exact: !w.Truncated(), Redacted: w.Redacted() > 0}
}

// digestOf is the digest of a payload where it is known from writing it.
type digestOf struct {
	digest jsonenc.Digest
	known  bool
}

// Shares of a row's size, in percent, that its columns may take.
const (
	contentShare    = 55
	partsShare      = 10
	attributesShare = 33
	latencyShare    = 2
)

// counters are the atomic form of Stats.
type counters struct {
	rows, refused, skipped            atomic.Uint64
	truncated, redacted, repaired     atomic.Uint64
	formatterFailed, classifierFailed atomic.Uint64
	notOffloaded, panics              atomic.Uint64
}
