// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// streamed makes of the rows of a journal those that go to the dataset. The journal keeps its own.
type streamed struct {
	denied []config.PayloadColumn
	// parts takes the payloads of rows that are larger than a request may be.
	parts warehouse.Parts
}

// preparedSource is a source whose rows are those that go to the dataset.
type preparedSource struct {
	store.Outbox
	streamed
}

// Rows implements [store.Outbox].
func (s preparedSource) Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	events, err := s.Outbox.Rows(ctx, after, maxRows, maxBytes)
	for i := range events {
		s.prepare(&events[i])
	}
	return events, err
}

// prepare leaves out what is denied, and stores the payload of a row that is too large.
func (s streamed) prepare(e *record.Event) {
	for _, c := range s.denied {
		switch c {
		case config.PayloadContent:
			e.Content = nil
		case config.PayloadContentParts:
			e.ContentParts = nil
		case config.PayloadAttributes:
			e.Attributes = nil
		case config.PayloadLatency:
			e.LatencyMS = nil
		}
	}
	if s.parts.Store != nil && tooLarge(e) && !slices.Contains(s.denied, config.PayloadContentParts) {
		s.offload(e)
	}
}

// advice says in the dead letter of a row that is too large what would have helped.
func (s streamed) advice() string {
	switch {
	case s.parts.Store == nil:
		return "with an artifact store (record.artifacts.store) its payload would be stored there"
	case slices.Contains(s.denied, config.PayloadContentParts):
		return "its payload cannot be stored elsewhere, because content_parts would name it and is in bigquery.payload_column_denylist"
	}
	return "the artifact store (record.artifacts.store) did not take its payload: see its metrics and record.artifacts.max_bytes"
}

// tooLarge reports whether a request cannot hold the row. One that the encoder panics at is none of
// these: that is for whoever encodes it.
func tooLarge(e *record.Event) (large bool) {
	const rest = 64 << 10 // ids, names and tags
	// A byte that is no UTF-8 becomes three.
	if 3*(len(e.Content)+len(e.ContentParts)+len(e.Attributes)+len(e.LatencyMS)+len(e.ErrorMessage))+rest < replicate.MaxRowBytes {
		return false
	}
	defer func() {
		if recover() != nil {
			large = false
		}
	}()
	row := wire.RowOf(e)
	return row.Size() > replicate.MaxRowBytes
}

// payload is what is stored of a row.
type payload struct {
	Content      json.RawMessage `json:"content,omitempty"`
	ContentParts json.RawMessage `json:"content_parts,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
}

const (
	payloadType = "application/json"
	// markRowStored is the text of the part that names the payload.
	markRowStored = "[ROW OFFLOADED]"
	// smallMember bounds a member of attributes that stays in a row whose payload is stored.
	smallMember = 64 << 10
)

// offload stores the payload columns of a row under one name and puts in their place a part that
// says where they are. Small members of attributes stay: they say which run, call and approval the
// row is of. A row whose payload is not taken stays as it is.
func (s streamed) offload(e *record.Event) {
	all, err := json.Marshal(payload{e.Content, e.ContentParts, e.Attributes})
	if err != nil {
		return // a column that is no JSON
	}
	// Read again, after a restart for one, the row has the same name: the digest says that what is there is its payload.
	name := fmt.Sprintf("%s/%s/%s_%x_row.json", e.Time().UTC().Format(time.DateOnly), cmp.Or(e.TraceID, "none"), e.EventID, sha256.Sum256(all))
	uri, ok := s.parts.Store.Put(name, payloadType, all)
	if !ok {
		return
	}
	e.Content, e.ContentParts, e.Attributes, e.IsTruncated = nil, s.reference(uri), small(e.Attributes, "adk"), true
}

// reference returns the content parts of a row whose payload is stored, in the form of other parts
// that are.
func (s streamed) reference(uri string) []byte {
	type metadata struct {
		ContentType string `json:"content_type"`
	}
	type details struct {
		GCS metadata `json:"gcs_metadata"`
	}
	type objectRef struct {
		URI        string  `json:"uri"`
		Authorizer string  `json:"authorizer,omitempty"`
		Details    details `json:"details"`
	}
	type part struct {
		MIMEType   string     `json:"mime_type"`
		URI        string     `json:"uri"`
		ObjectRef  *objectRef `json:"object_ref,omitempty"`
		Text       string     `json:"text"`
		Index      int        `json:"part_index"`
		Attributes string     `json:"part_attributes"`
		Mode       string     `json:"storage_mode"`
	}
	p := part{MIMEType: payloadType, URI: uri, Text: markRowStored, Attributes: `{"columns":["content","content_parts","attributes"]}`, Mode: "EXTERNAL_URI"}
	if strings.HasPrefix(uri, "gs://") {
		p.Mode, p.ObjectRef = "GCS_REFERENCE", &objectRef{uri, s.parts.Connection, details{metadata{payloadType}}}
	}
	b, err := json.Marshal([]part{p})
	if err != nil {
		panic(err) // texts alone
	}
	return b
}

// small returns the object without its large members. Of the large one that is named it keeps the
// small members. The named one comes first, as the recorder writes it.
func small(object []byte, inside string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	if of := members[inside]; len(of) > smallMember {
		members[inside] = small(of, "")
	}
	b := bytes.NewBufferString("{")
	names := slices.Sorted(maps.Keys(members))
	if i := slices.Index(names, inside); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, inside)
	}
	for _, name := range names {
		if len(members[name]) > smallMember || len(members[name]) == 0 {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			panic(err) // a text
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(members[name])
	}
	b.WriteByte('}')
	return b.Bytes()
}
