// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"iter"
	"maps"
	"reflect"

	"google.golang.org/adk/v2/model"
)

// offer holds the tools that a request offers to the model at one time.
type offer struct {
	tools map[string]any
	// services counts what the model service runs itself, as a search.
	services int
}

func offerOf(req *model.LLMRequest) offer {
	return offer{tools: maps.Clone(req.Tools), services: services(req)}
}

// changed yields the tools of req that o does not have, or has another of that name. A
// tool that cannot be compared counts as another.
func (o offer) changed(req *model.LLMRequest) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for name, v := range req.Tools {
			old, had := o.tools[name]
			if had && same(old, v) {
				continue
			}
			if !yield(name, v) {
				return
			}
		}
	}
}

func same(a, b any) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// served reports whether req has more that the model service runs itself.
func (o offer) served(req *model.LLMRequest) bool { return services(req) > o.services }

func services(req *model.LLMRequest) int {
	if req.Config == nil {
		return 0
	}
	n := 0
	for _, t := range req.Config.Tools {
		if t == nil {
			continue
		}
		own := *t
		own.FunctionDeclarations = nil
		v := reflect.ValueOf(own)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				n++
			}
		}
	}
	return n
}
