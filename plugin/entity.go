// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// ErrNoCall is returned by RecordEntity outside of a tool call that is recorded.
var ErrNoCall = errors.New("contextgraph: no recorded tool call: RecordEntity works inside a tool, with the context the tool was given, in a runner with contextgraph's plugins")

// RecordEntity declares an entity that the running tool evaluated. It is the
// exact source: nothing has to be guessed from the tool's result. The entity
// becomes part of the row that ends the call and is linked to the call's span.
// The recorder sets the fields that say where it was seen. ctx is the context the
// tool was given. RecordEntity refuses an entity that the limits of a row would cut,
// one with an attribute that has the name of a secret, and one beyond [MaxDeclared];
// the error says so. Outside of a recorded call it is [ErrNoCall].
func (rec *Recorder) RecordEntity(ctx agent.Context, e entity.Entity) error {
	if rec.sink == nil {
		return nil
	}
	if e.Confidence == 0 {
		e.Confidence = 1
	}
	if err := e.Validate(); err != nil {
		return fmt.Errorf("contextgraph: record entity: %w", err)
	}
	names := slices.Sorted(maps.Keys(e.Attributes))
	if i := slices.IndexFunc(names, rec.secrets.Secret); i >= 0 {
		return fmt.Errorf("contextgraph: record entity: attribute %q names a secret, which is never recorded: leave it out, or name it otherwise if it is none", names[i])
	}
	a := apart(ctx)
	var r *Run
	if a == nil {
		r = rec.runs.lookup(ctx)
	}
	if a == nil && r == nil || ctx.Actions() == nil {
		return ErrNoCall
	}
	w := rec.writer()
	defer rec.writers.Put(w)
	writeEntity(w.Doc(100), e, names)
	if a == nil {
		rec.tally(w)
	}
	if w.Truncated() {
		// An entity that is cut would be another entity than the evaluated one.
		return fmt.Errorf("contextgraph: record entity: a %s is larger than the limits of a row: shorten its texts, or raise record.max_string or record.max_row", e.Type)
	}
	if a != nil {
		return a.Declare(w.Bytes())
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[ctx.Actions()]
	if c == nil || c.done {
		return ErrNoCall
	}
	if len(c.entities)+w.Len() > MaxDeclared {
		return fmt.Errorf("contextgraph: record entity: more than %d KiB of entities in one call of %s; record fewer, or let a rule extract them", MaxDeclared>>10, c.Name)
	}
	if len(c.entities) > 0 {
		c.entities = append(c.entities, ',')
	}
	c.entities = append(c.entities, w.Bytes()...)
	c.declared++
	return nil
}

// writeEntity writes an entity with the named attributes.
func writeEntity(d jsonenc.Doc, e entity.Entity, names []string) {
	d.Open('{')
	d.Str("type", e.Type)
	d.Str("value", e.Value)
	if !e.Norm.IsZero() {
		d.Any("norm", e.Norm)
	}
	if len(names) > 0 {
		d.Key("attributes")
		d.Open('{')
		for _, name := range names {
			d.Any(name, e.Attributes[name])
		}
		d.Close('}')
	}
	d.OptStr("artifact_uri", e.ArtifactURI)
	d.Any("confidence", e.Confidence)
	d.Close('}')
}

// told adds the entities that a refusal tells the model to the declared ones, and reports whether
// there were any. It leaves out an entity that the limits of a row would cut, because it would be
// another entity, and an attribute with the name of a secret.
func (rec *Recorder) told(declared []byte, told []entity.Entity) (entities []byte, added bool) {
	if len(told) == 0 {
		return declared, false
	}
	w := rec.writers.Get().(*jsonenc.Writer)
	defer rec.writers.Put(w)
	for _, e := range told {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(e.Attributes)), rec.secrets.Secret)
		if len(names) == 0 {
			continue
		}
		e.Confidence = 1
		w.Reset()
		writeEntity(w.Doc(100), e, names)
		if w.Truncated() || len(declared)+w.Len() > MaxDeclared {
			continue
		}
		if len(declared) > 0 {
			declared = append(declared, ',')
		}
		declared, added = append(declared, w.Bytes()...), true
	}
	return declared, added
}

// MaxDeclared bounds the entities that one call declares, in bytes. They stand in the
// row whole, beyond its own limit.
const MaxDeclared = 128 << 10
