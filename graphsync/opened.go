// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/theory/jsonpath/spec"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Many tools answer with a text that is JSON.

// opened returns the result that c reads, with the values in the place of texts that are JSON, where its paths
// go on into them. A path opens a text if only names and indexes lead to it: behind any other segment an entry
// of a list could say by its form how it is read.
func (c *compiled) opened(doc any) (any, error) {
	if c.In != config.InResult {
		return doc, nil
	}
	each := c.each.Query().Segments()
	doc, err := openAlong(doc, each)
	if err != nil || !c.eachOne {
		return doc, err
	}
	if c.value != nil {
		doc, err = openAlong(doc, slices.Concat(each, c.value.Query().Segments()))
	}
	for _, a := range c.attributes {
		if err == nil {
			doc, err = openAlong(doc, slices.Concat(each, a.path.Query().Segments()))
		}
	}
	return doc, err
}

// openAlong returns v with the values in the place of the texts on a path. v stays as it is.
func openAlong(v any, path []*spec.Segment) (any, error) {
	out, _, err := openFrom(v, path)
	return out, err
}

func openFrom(v any, path []*spec.Segment) (out any, changed bool, err error) {
	if len(path) == 0 {
		return v, false, nil
	}
	if s, ok := v.(string); ok {
		opened, is, err := openText(s)
		if err != nil || !is {
			return v, false, err
		}
		v, changed = opened, true
	}
	selectors := path[0].Selectors()
	if path[0].IsDescendant() || len(selectors) != 1 {
		return v, changed, nil
	}
	inside := false
	switch at := selectors[0].(type) {
	case spec.Name:
		object, _ := v.(map[string]any)
		var inner any
		if inner, inside, err = openFrom(object[string(at)], path[1:]); inside {
			object = maps.Clone(object)
			object[string(at)] = inner
			v = object
		}
	case spec.Index:
		list, _ := v.([]any)
		i := int(at)
		if i < 0 {
			i += len(list)
		}
		if i < 0 || i >= len(list) {
			break
		}
		var inner any
		if inner, inside, err = openFrom(list[i], path[1:]); inside {
			list = slices.Clone(list)
			list[i] = inner
			v = list
		}
	}
	return v, changed || inside, err
}

// openText returns the value of a text that is one object or list as JSON. Objects one after the other, as ADK
// joins the parts of a result of an MCP server, are a list. A text that ends in the middle of a value is an error.
func openText(s string) (v any, opened bool, err error) {
	if v, opened, err = text.OpenJSON(s); opened {
		if err != nil {
			err = fmt.Errorf("a text that is JSON: %w", err)
		}
		return v, true, err
	}
	if s = strings.TrimSpace(s); !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[{") {
		return nil, false, nil
	}
	var list []any
	for dec := json.NewDecoder(strings.NewReader(s)); ; {
		var part json.RawMessage
		switch err := dec.Decode(&part); {
		case err == io.EOF:
			return list, true, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			if jsonenc.Marked(s) { // when it was recorded
				return nil, false, nil
			}
			return nil, false, errors.New("a text that is JSON ends in the middle of a value: it was cut")
		case err != nil || part[0] != '{':
			return nil, false, nil
		}
		one, _, err := text.OpenJSON(string(part))
		if err != nil {
			return nil, false, fmt.Errorf("part %d of a text that is JSON: %w", len(list)+1, err)
		}
		list = append(list, one)
	}
}
