// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ErrNoCall is returned by RecordEntity outside of a tool call that is recorded.
var ErrNoCall = errors.New("contextgraph: no recorded tool call: RecordEntity works inside a tool, with the context the tool was given, in a runner with contextgraph's plugins")

// RecordEntity declares entities that the running tool evaluated. They are the exact source:
// nothing has to be guessed from the tool's result. They stand in a row of their own on the span of
// the call, and count when the call has ended well. The recorder sets the fields that say where they
// were seen. ctx is the context the tool was given.
//
// RecordEntity returns when the row is stored, or with an error that says why it is not. Then a row
// that waits for the journal may still be stored later. All entities are checked before anything is
// written. It refuses an entity that the limits of a row would cut, one with an attribute that has
// the name of a secret, and those beyond [MaxDeclared]; the error says so. Outside of a recorded
// call it is [ErrNoCall]. RecordEntity does nothing if recording is off, or if the configuration
// leaves such rows out.
func (rec *Recorder) RecordEntity(ctx agent.Context, es ...entity.Entity) error {
	if rec.sink == nil {
		return nil
	}
	if len(es) == 0 {
		return errors.New("contextgraph: record entity: no entity is given")
	}
	names := make([][]string, len(es))
	for i, e := range es {
		var err error
		if names[i], err = rec.checkEntity(e); err != nil {
			return fmt.Errorf("contextgraph: record entity: %s%w", nth(i, len(es)), err)
		}
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
	for i, e := range es {
		if i > 0 {
			w.Doc(100).Raw([]byte{','})
		}
		writeEntity(w.Doc(100), e, names[i])
		if w.Len() > MaxDeclared {
			return errTooManyDeclared
		}
		if w.Truncated() {
			// An entity that is cut would be another entity than the evaluated one.
			return fmt.Errorf("contextgraph: record entity: %sa %s is larger than the limits of a row: shorten its texts, or raise record.max_string or record.max_row", nth(i, len(es)), e.Type)
		}
	}
	if a != nil {
		return a.Declare(w.Bytes())
	}
	rec.tally(w)
	event, err := rec.declare(ctx, r, w.Bytes())
	switch {
	case err != nil:
		return err
	case event == "" && rec.policies[record.EntitiesDeclared].skip:
		return nil
	case event == "":
		return errors.New("contextgraph: record entity: the entities are not on record: the journal did not take the row; the log and Stats say why")
	}
	if err := rec.sink.Commit(ctx, event); err != nil {
		return fmt.Errorf("contextgraph: record entity: the entities are not on record: %w", err)
	}
	return nil
}

// checkEntity returns the names of the attributes of an entity, sorted, or why it cannot be declared.
func (rec *Recorder) checkEntity(e entity.Entity) (names []string, err error) {
	if e.Confidence == 0 {
		e.Confidence = 1
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	names = slices.Sorted(maps.Keys(e.Attributes))
	if i := slices.IndexFunc(names, rec.secrets.Secret); i >= 0 {
		return nil, fmt.Errorf("attribute %q names a secret, which is never recorded: leave it out, or name it otherwise if it is none", names[i])
	}
	return names, nil
}

// nth names one entity of several for an error.
func nth(i, of int) string {
	if of == 1 {
		return ""
	}
	return fmt.Sprintf("entity %d of %d: ", i+1, of)
}

var errTooManyDeclared = fmt.Errorf("contextgraph: record entity: more than %d KiB of entities in one call; record fewer, or let a rule extract them", MaxDeclared>>10)

// declare hands the row with the entities, JSON with commas between them, to the sink. It returns
// the id of the row, "" if the sink did not take it.
func (rec *Recorder) declare(ctx agent.Context, r *Run, entities []byte) (event string, err error) {
	c := r.call(ctx)
	if c == nil {
		return "", ErrNoCall
	}
	c.declaring.Lock()
	defer c.declaring.Unlock()
	defer rec.Rescue("RecordEntity", &r)
	if c.done {
		return "", ErrNoCall
	}
	if c.declared+len(entities) > MaxDeclared {
		return "", errTooManyDeclared
	}
	event = rec.emit(ctx, r, row{
		typ: record.EntitiesDeclared, agent: c.Agent, branch: c.Branch, span: c.Span, parent: c.Parent,
	}, body{
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("tool", c.Name)
			d.Close('}')
		},
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", c.ID)
			d.OptStr("of", c.startRow.String())
		},
		attrs: func(d jsonenc.Doc) { writeEntities(d, entities) },
	}).event
	if event != "" {
		c.declared += len(entities)
	}
	return event, nil
}

// writeEntities writes the member with entities, JSON with commas between them.
func writeEntities(d jsonenc.Doc, entities []byte) {
	d.Key("entities")
	d.Open('[')
	d.Raw(entities)
	d.Close(']')
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
	d.Any("confidence", cmp.Or(e.Confidence, 1))
	d.Close('}')
}

// told returns the entities that a refusal tells the model, as JSON with commas between them. It
// leaves out an entity that the limits of a row would cut, because it would be another entity, and
// an attribute with the name of a secret.
func (rec *Recorder) told(told []entity.Entity) (entities []byte) {
	if len(told) == 0 {
		return nil
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
		if w.Truncated() || len(entities)+w.Len() > MaxDeclared {
			continue
		}
		if len(entities) > 0 {
			entities = append(entities, ',')
		}
		entities = append(entities, w.Bytes()...)
	}
	return entities
}

// MaxDeclared bounds the entities that one call declares, in bytes, and those that one refusal
// tells. They stand in their row whole, beyond its own limit.
const MaxDeclared = 128 << 10
