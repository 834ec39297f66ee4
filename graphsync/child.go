// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// basisOfChild is the basis of an agent that ran as a tool, and the gaps in its record. A gap fails
// the checks of its caller, as it would fail its own.
type basisOfChild struct {
	sightings         []Sighting
	choices           []Choice
	failed, truncated int
	err               string
}

// basisOfChild extracts the rest of the session of an agent that ran as a tool, and returns its
// basis.
func (ev *Evidence) basisOfChild(ctx context.Context, child record.Session, depth int) (basisOfChild, error) {
	for {
		if err := ev.catchUp(ctx, child, depth, false); err != nil {
			return basisOfChild{}, err
		}
		var out basisOfChild
		err := ev.store.View(ctx, child, func(r EvidenceReader) (err error) {
			out, err = ev.lookAtChild(r, child)
			return err
		})
		if !errors.Is(err, errBehind) || ctx.Err() != nil {
			return out, err
		}
	}
}

func (ev *Evidence) lookAtChild(r EvidenceReader, child record.Session) (out basisOfChild, err error) {
	p, err := ev.upToDate(r)
	if err != nil {
		return out, err
	}
	out.failed, out.truncated, out.err = p.Failed, p.Truncated, p.Error
	open, err := r.OpenRuns()
	if err != nil {
		return out, err
	}
	if len(open) > 0 {
		out.failed += len(open)
		out.err = cmp.Or(out.err, fmt.Sprintf("the record of session %s, which ran as a tool, has gaps", child.ID))
	}
	if out.sightings, err = basisOfLast(r); err == nil && ev.extract.choosing() {
		out.choices, err = choicesOfAll(ev.extract, r)
	}
	return out, err
}

// upToDate returns the progress of a session, or errBehind.
func (ev *Evidence) upToDate(r EvidenceReader) (Progress, error) {
	p, err := r.Progress()
	if err != nil {
		return p, err
	}
	last, err := r.LastRow()
	if err == nil && (p.Watermark < last || last > 0 && p.Version != ev.extract.Version()) {
		err = errBehind
	}
	p.Version = ev.extract.Version()
	return p, err
}

// basisOfLast returns the readings that the last model call of a session rests on, as
// sightings for the session of whoever called it. Where no model ran, all readings count.
func basisOfLast(r EvidenceReader) ([]Sighting, error) {
	sel := selector{r: r, excluded: func(int64) bool { return false }, upTo: math.MaxInt64}
	last, ok, err := r.LastModelCall()
	if err != nil {
		return nil, err
	}
	if sel.everything = !ok; ok {
		sel.read, sel.own = last.Read, last.Own
	}
	var out []Sighting
	err = sel.keys(func(key string) error {
		found, err := sel.basis(key)
		out = append(out, found...)
		return err
	})
	return out, err
}

// basis returns the readings that count of one thing, each with one attribute.
func (sel *selector) basis(key string) ([]Sighting, error) {
	names, err := sel.r.Attributes(key)
	if err != nil {
		return nil, err
	}
	var out []Sighting
	for _, name := range names {
		list, err := sel.readings(key, name)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if s.Echoes, s.Read = nil, false; name != "" {
				s.Attributes = map[string]entity.Value{name: s.Attributes[name]}
			}
			out = append(out, s)
		}
	}
	return out, nil
}
