// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Extractor finds entities in rows. It is immutable and safe for concurrent use.
// A nil Extractor has no rules and finds declared entities only.
type Extractor struct {
	byEvent map[string][]*compiled
	// rules are all of them in their order: the place of one, from 1, is its number. choices
	// are the types that a rule with Alternatives finds.
	rules   []*compiled
	choices map[string]bool
	version string
}

type compiled struct {
	config.Extract
	number                int
	source                entity.Source
	each, value, artifact *jsonpath.Path
	valueArgs             *jsonpath.Path // of the arguments; value is nil then
	eachOne               bool
	attributes            []compiledAttribute
}

type compiledAttribute struct {
	config.Attribute
	name string
	path *jsonpath.Path
}

// Compile makes an Extractor of rules. Its error joins everything that is wrong with them, as
// [config.Config.Check] says it.
func Compile(rules []config.Extract) (*Extractor, error) {
	if err := (config.Config{Extract: rules}).Check(); err != nil {
		return nil, err
	}
	x := &Extractor{byEvent: make(map[string][]*compiled), choices: make(map[string]bool)}
	normal := make([]config.Extract, len(rules))
	for i, r := range rules {
		c := compileRule(r.WithDefaults())
		normal[i], c.number = c.Extract, i+1
		x.rules = append(x.rules, c)
		if c.Alternatives {
			x.choices[c.Type] = true
		}
		event := c.event()
		x.byEvent[event] = append(x.byEvent[event], c)
	}
	x.version = rulesVersion(normal)
	return x, nil
}

// compileRule compiles a rule that was checked: its paths can be parsed.
func compileRule(r config.Extract) *compiled {
	c := &compiled{Extract: r, source: entity.SourceRule, each: jsonpath.MustParse(r.Each)}
	switch r.In {
	case config.InAction:
		c.source = entity.SourceAction
	case config.InArgs:
		c.source = entity.SourceClaim
	}
	c.eachOne = c.each.Query().Singular() != nil
	if r.ValueArgs != "" {
		c.valueArgs = jsonpath.MustParse(r.ValueArgs)
	} else {
		c.value = jsonpath.MustParse(r.Value)
	}
	if r.ArtifactURI != "" {
		c.artifact = jsonpath.MustParse(r.ArtifactURI)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		a := r.Attributes[name]
		c.attributes = append(c.attributes, compiledAttribute{Attribute: a, name: name, path: jsonpath.MustParse(a.Path)})
	}
	return c
}

// MarshalJSON returns the rules, for [ReadRules].
func (x *Extractor) MarshalJSON() ([]byte, error) {
	rules := []config.Extract{}
	if x != nil {
		for _, c := range x.rules {
			rules = append(rules, c.Extract)
		}
	}
	return json.Marshal(rules)
}

// ReadRules makes an Extractor of what [Extractor.MarshalJSON] returned.
func ReadRules(text []byte) (*Extractor, error) {
	var rules []config.Extract
	if err := json.Unmarshal(text, &rules); err != nil {
		return nil, fmt.Errorf("rules of extraction: %w", err)
	}
	return Compile(rules)
}

// ReadsOther returns the name of a rule that reads rows which stand for no result of a tool and for no output, ""
// if there is none. If such a row is lost, nothing in the history of a session tells.
func (x *Extractor) ReadsOther() string {
	if x == nil {
		return ""
	}
	for _, c := range x.rules {
		switch c.event() {
		case record.ToolStarting, record.ToolCompleted, record.NodeOutput:
		default:
			return c.Name
		}
	}
	return ""
}

// event returns the event type of the rows that c reads.
func (c *compiled) event() string {
	switch c.In {
	case config.InContent:
		return c.Event
	case config.InResult:
		return record.ToolCompleted
	default:
		return record.ToolStarting
	}
}

// Version returns a digest of the rules: two extractors with the same version
// find the same entities in the same rows.
func (x *Extractor) Version() string {
	if x == nil {
		return rulesVersion(nil)
	}
	return x.version
}

// extractionFormat is raised whenever the same rules would find something else.
const extractionFormat = "3"

func rulesVersion(rules []config.Extract) string {
	fields := []string{extractionFormat}
	for _, r := range rules {
		fields = append(fields, r.Name, string(r.In), r.Tool, r.Event, r.Each, r.Type, r.Value, r.ValueArgs, r.ValueType.String(),
			r.Currency, r.ArtifactURI, strconv.FormatFloat(r.Confidence, 'g', -1, 64), strconv.FormatBool(r.Alternatives), strconv.FormatBool(r.FromClient), strconv.FormatBool(r.Optional), strconv.FormatBool(r.CountsOthers()), strconv.Itoa(len(r.Attributes)))
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			a := r.Attributes[name]
			fields = append(fields, name, a.Path, a.Type.String(), a.Currency, strconv.FormatBool(a.Optional), strconv.FormatBool(a.LookedUp))
		}
	}
	return hashKey(fields...)
}
