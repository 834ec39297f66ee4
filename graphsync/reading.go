// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Origins of tools that run agents, as the recorder writes them in tool_origin: their
// results are words of agents.
const (
	originSubAgent = "SUB_AGENT"
	originA2A      = "A2A"
)

// classify sets the source of the entities that rule c found in e. A result of a tool is a reading,
// except for attributes that repeat the arguments of the call. Entities in arguments, or in the
// words of a user or an agent, are claims.
func (d *documents) classify(e *record.Event, c *compiled, found []entity.Entity) error {
	if len(found) == 0 || c.In == config.InAction {
		return nil
	}
	if !d.shows(e, c) {
		for i := range found {
			found[i].Source = entity.SourceClaim
		}
		return nil
	}
	args, err := d.arguments()
	if err != nil || len(args.all) == 0 {
		return err
	}
	for i := range found {
		c.echoes(&found[i], args)
	}
	return nil
}

// shows reports whether the content that c reads in e is a result.
func (d *documents) shows(e *record.Event, c *compiled) bool {
	switch e.EventType {
	case record.ToolCompleted, record.ToolResultRewritten:
		return c.In != config.InArgs && e.Status != record.StatusError && d.origin(e) != originSubAgent && d.origin(e) != originA2A
	case record.NodeOutput:
		a := attributesOf(e).ADK
		node := workflowNode(a.Node.Path)
		return node != "" && node != e.Agent && !a.Joins
	case record.HITLInputRequestCompleted:
		return accepted(attributesOf(e))
	}
	return false
}

// origin returns the kind of tool that a row is of.
func (d *documents) origin(e *record.Event) string {
	if d.split {
		return d.tool.Origin
	}
	var content struct {
		Origin string `json:"tool_origin"`
	}
	_ = json.Unmarshal(e.Content, &content) // it is no tool's content then
	return content.Origin
}

// arguments are the scalars in the arguments of a call: all, those under each key, and those in lists. keys
// are sorted.
type arguments struct {
	all, listed []any
	byKey       map[string][]any
	keys        []string
}

// arguments reads the arguments of the call that the row ends.
func (d *documents) arguments() (*arguments, error) {
	if d.args != nil {
		return d.args, nil
	}
	d.args = &arguments{byKey: make(map[string][]any)}
	if d.began == nil {
		return d.args, nil
	}
	var content struct {
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(d.began, &content); err != nil {
		return nil, fmt.Errorf("the row that began the call is not the JSON of a tool row: %w", err)
	}
	if content.Args == nil {
		return d.args, nil
	}
	doc, err := decode(content.Args)
	if err != nil {
		return nil, fmt.Errorf("the arguments of the call are not JSON: %w", err)
	}
	d.args.add("", doc, false)
	d.args.keys = slices.Sorted(maps.Keys(d.args.byKey))
	return d.args, nil
}

func (a *arguments) add(key string, v any, listed bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			a.add(k, e, listed)
		}
	case []any:
		for _, e := range v {
			a.add(key, e, true)
		}
	case nil:
	default:
		a.all = append(a.all, v)
		a.byKey[key] = append(a.byKey[key], v)
		if listed {
			a.listed = append(a.listed, v)
		}
	}
}

// asked reports whether the arguments of a look-up name an entity: a text that has its value as words of its own,
// or a number in a list or under the key of the value. Any other number may be that of a page.
func (c *compiled) asked(e entity.Entity, args *arguments) bool {
	if args == nil {
		return false
	}
	value := words(e.Value)
	return slices.ContainsFunc(args.all, func(arg any) bool {
		text, is := arg.(string)
		return is && strings.Contains(words(text), value)
	}) || slices.ContainsFunc(slices.Concat(args.listed, args.byKey[lastName(c.value)]), func(arg any) bool {
		said, err := entity.FromAny(arg, c.ValueType, c.Currency)
		return err == nil && words(said.String()) == value
	})
}

// words returns the words of a text, in small letters, each between spaces.
func words(s string) string {
	list := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.So) && !strings.ContainsRune("-_.", r)
	})
	for i := range list {
		list[i] = strings.Trim(list[i], "-_.")
	}
	return " " + strings.Join(list, " ") + " "
}

// echoes notes the attributes of e that the arguments say too, sorted. A text is said under any name. A number, an
// amount or a time is said under the name of the attribute, or under any name if the arguments also name the entity:
// a search for at most $400 may find a desk of $400. Under another name it is near. A boolean is one of two values, so
// under another name it is nothing. A set is said if the arguments say all its elements.
func (c *compiled) echoes(e *entity.Entity, args *arguments) {
	named := c.namedIn(args, *e)
	for _, a := range c.attributes {
		v, ok := e.Attributes[a.name]
		if !ok || a.LookedUp {
			continue
		}
		said := func(list []any) bool {
			if set, isSet := v.AsSet(); isSet {
				return saidAll(set, list)
			}
			return slices.ContainsFunc(list, func(arg any) bool {
				said, err := entity.FromAny(arg, a.Type, a.Currency)
				return err == nil && said.Equal(v)
			})
		}
		says := func(key string) bool { return said(args.byKey[key]) }
		keys := []string{a.name, lastName(a.path)} // as it is called
		if v.Kind() == entity.KindText || v.Kind() == entity.KindSet || named && v.Kind() != entity.KindBool {
			keys = append(keys, args.keys...)
		}
		at := slices.IndexFunc(keys, says)
		switch {
		case at >= 0:
			e.Echoes = append(e.Echoes, a.name)
			if e.EchoOf == nil {
				e.EchoOf = make(map[string]string)
			}
			e.EchoOf[a.name] = keys[at]
		case v.Kind() == entity.KindSet && said(args.all):
			e.Echoes = append(e.Echoes, a.name)
		case v.Kind() != entity.KindBool && slices.ContainsFunc(args.keys, says):
			e.Near = append(e.Near, a.name)
		}
	}
}

// namedIn reports whether arguments name an entity.
func (c *compiled) namedIn(args *arguments, e entity.Entity) bool {
	key := e.CanonicalKey()
	return slices.ContainsFunc(args.all, func(arg any) bool {
		said, err := entity.FromAny(arg, c.ValueType, c.Currency)
		return err == nil && entity.Entity{Type: e.Type, Value: said.String(), Norm: said}.CanonicalKey() == key
	})
}

// saidAll reports whether a list says everything in the elements of a set that has any.
func saidAll(set, list []any) bool {
	var inside arguments
	inside.byKey = make(map[string][]any)
	inside.add("", set, false)
	return len(inside.all) > 0 && !slices.ContainsFunc(inside.all, func(e any) bool {
		return !slices.ContainsFunc(list, func(arg any) bool { return fmt.Sprint(arg) == fmt.Sprint(e) })
	})
}

// lastName returns the key in the result that a path reads, "" if it does not end in one.
func lastName(p *jsonpath.Path) string {
	if p == nil || len(p.Query().Segments()) == 0 {
		return ""
	}
	segments := p.Query().Segments()
	selectors := segments[len(segments)-1].Selectors()
	if len(selectors) != 1 {
		return ""
	}
	name, _ := selectors[0].(spec.Name)
	return string(name)
}

// asContent returns the content of the row that begins a call.
func asContent(tool, args string) ([]byte, error) {
	return json.Marshal(map[string]any{"tool": tool, "args": json.RawMessage(cmp.Or(args, "{}"))})
}

// asked finds what a request for an approval names where a callback changed the arguments
// of the call after the row that began it.
func (x *Extractor) asked(e *record.Event) ([]entity.Entity, error) {
	if !bytes.Contains(e.Attributes, []byte(`"args_changed"`)) {
		return nil, nil
	}
	args, err := argsOf(e)
	if err != nil || args == nil {
		return nil, err
	}
	named, err := x.named(record.Decision{Tool: toolName(e.Content), Args: string(args)})
	return named.entities, err
}

// argsOf returns the arguments in the row that ended a call, nil if it has none.
func argsOf(e *record.Event) (json.RawMessage, error) {
	var a schema.Attributes
	err := a.Read(e.Attributes)
	return a.ADK.Args, err
}

// argsAtEnd returns the arguments that a call had when it ended.
func argsAtEnd(e *record.Event) (any, error) {
	args, err := argsOf(e)
	if err == nil && args == nil {
		err = errors.New("the row lacks the arguments at the end of the call: it was recorded before the configuration had this rule")
	}
	if err != nil {
		return nil, err
	}
	return decode(args)
}
