// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

const (
	// availability is an attribute with a meaning of its own, as [Exists] has one: an answer that it
	// is false is an alert whether or not it was seen.
	availability = "availability"
	// clockSkew is how far ahead of ours a clock that names a time may be.
	clockSkew = 2 * time.Second
	// parallel is how many entities are checked at a time.
	parallel = 8
)

// rulebook is a guard of the configuration, compiled once: every default is written out, and each
// attribute has its rule. The zero rulebook denies.
type rulebook struct {
	config.Guard
	// rules has the rules by type and attribute; under "" are those of every type.
	rules map[string]map[string]rule
	// version is a digest of everything that decides.
	version string
}

// compile returns the rulebook of a guard. It shares nothing with g that a caller could change. Of
// faults it reports only those that leave the version undefined: see [NewGuard].
func compile(g config.Guard) (rulebook, error) {
	g = config.Config{Guard: g}.WithDefaults().Guard
	g.MinConfidence = new(*g.MinConfidence)
	g.Listed = slices.Clone(g.Listed)
	b := rulebook{Guard: g, rules: map[string]map[string]rule{"": compileRules(g.Drift)}}
	for name, t := range g.Types {
		if t.MinConfidence != nil {
			t.MinConfidence = new(*t.MinConfidence)
		}
		g.Types[name] = t
		b.rules[name] = compileRules(t.Drift)
	}
	for i := range g.Budgets {
		g.Budgets[i].Severity = new(*g.Budgets[i].Severity)
	}
	normal, err := json.Marshal(b.normal())
	b.version = digest("policy v4", clockSkew.String(), string(normal))
	return b, err
}

func compileRules(drift map[string]config.Drift) map[string]rule {
	rules := make(map[string]rule, len(drift))
	for attribute, d := range drift {
		r := rule{Drift: d, severity: *d.Severity}
		for _, o := range d.Operands() { // one at the most
			r.condition, _ = conditionOf(o)
		}
		rules[attribute] = r
	}
	return rules
}

// rule returns the rule of an attribute for entities of a type. A rule with the name of the
// attribute comes before the rule for all others, and a rule of the type before one of the guard.
func (b rulebook) rule(typ, attribute string) rule {
	for _, name := range [...]string{attribute, config.Other} {
		for _, of := range [...]string{typ, ""} {
			if r, ok := b.rules[of][name]; ok {
				return r
			}
		}
	}
	return rule{} // only of the zero rulebook
}

// maxAge returns how old an answer about entities of a type may be.
func (b rulebook) maxAge(typ string) time.Duration {
	if d := b.Types[typ].MaxAge; d > 0 {
		return d
	}
	return b.CheckAge
}

// minConfidence returns the floor of the confidence of entities of a type.
func (b rulebook) minConfidence(typ string) float64 {
	for _, f := range [...]*float64{b.Types[typ].MinConfidence, b.MinConfidence} {
		if f != nil {
			return *f
		}
	}
	return 1 // only of the zero rulebook
}

// lasts returns how long a check with these results permits: no longer than the
// youngest answer has to be.
func (b rulebook) lasts(results []EntityResult) time.Duration {
	d := b.CheckAge
	for _, r := range results {
		d = min(d, b.maxAge(r.Type))
	}
	return d
}

// Overriders names the people who may override the check of a tool: see [config.ToolSettings].
func Overriders(g config.Guard, tool string) []string {
	return rulebook{Guard: g}.settings(tool).Override
}

// settings returns what the entries of [config.Guard.Tools] together say of who approves the calls of a
// tool, and of arguments that no rule reads.
func (b rulebook) settings(tool string) config.ToolSettings {
	sum := config.ToolSettings{Approvers: 1}
	for i, s := range config.Matching(b.Tools, tool) {
		sum.Approvers = max(sum.Approvers, s.Approvers)
		if s.Arguments == config.ArgumentsStrict {
			sum.Arguments = s.Arguments
		}
		if i == 0 {
			sum.Override = slices.Clone(s.Override)
			continue
		}
		sum.Override = slices.DeleteFunc(sum.Override, func(who string) bool { return !has(s.Override, who) })
	}
	return sum
}

// normal returns the guard in a form that all guards with the same meaning share. Mode, Unguarded, and
// the names of Tools and Inputs are not part of it: by them the gate chooses the calls that are decided
// about. Their Approvers, Override, ActsOn and Arguments are part of it. State is not: the gate compares it by itself.
// SelfApproval is not: the process that gets the answer says who may approve, as its Authorizer does. Nor is
// CheckBeforeAsking, which approves nothing.
func (b rulebook) normal() config.Guard {
	g := b.Guard
	g.Mode, g.Unguarded, g.SelfApproval, g.EffectTimeout, g.CheckBeforeAsking = "", "", false, 0, nil
	g.Listed = slices.Sorted(slices.Values(g.Listed))
	g.Drift = b.normalRules("")
	g.Types = make(map[string]config.TypePolicy)
	for name, t := range b.Types {
		if t.Drift = b.normalRules(name); reflect.DeepEqual(t.Drift, g.Drift) {
			t.Drift = nil
		}
		if b.maxAge(name) == b.CheckAge {
			t.MaxAge = 0
		}
		if b.minConfidence(name) == b.minConfidence("") {
			t.MinConfidence = nil
		}
		if t.Unseen != config.UnseenAllow {
			t.Unseen = ""
		}
		if !reflect.DeepEqual(t, config.TypePolicy{}) {
			g.Types[name] = t
		}
	}
	g.Tools, g.Inputs = make(map[string]config.ToolSettings), maps.Clone(b.Inputs)
	for pattern, t := range b.Tools {
		people := make([]string, len(t.Override))
		for i, who := range t.Override {
			people[i] = identity(who)
		}
		slices.Sort(people)
		if t.ActsOn == config.ActsOnThings {
			t.ActsOn = ""
		}
		if t.Arguments == config.ArgumentsShown {
			t.Arguments = ""
		}
		if t.Approvers > 1 || len(people) > 0 || t.ActsOn != "" || t.Arguments != "" {
			g.Tools[pattern] = config.ToolSettings{Approvers: t.Approvers, Override: people, ActsOn: t.ActsOn, Arguments: t.Arguments}
		}
	}
	maps.DeleteFunc(g.Inputs, func(_ string, in config.InputSettings) bool { return in.Approvers <= 1 })
	g.Budgets = slices.Clone(g.Budgets)
	written := func(b config.Budget) string {
		line, _ := json.Marshal(b) // compile reports an error
		return string(line)
	}
	slices.SortFunc(g.Budgets, func(x, y config.Budget) int { return strings.Compare(written(x), written(y)) })
	return g
}

// normalRules returns the rules of a type, without those that are like the rule of all others.
func (b rulebook) normalRules(typ string) map[string]config.Drift {
	other := b.rule(typ, config.Other).normal()
	out := map[string]config.Drift{config.Other: other}
	for _, of := range [...]string{typ, ""} {
		for name := range b.rules[of] {
			if d := b.rule(typ, name).normal(); !reflect.DeepEqual(d, other) {
				out[name] = d
			}
		}
	}
	return out
}

// rule is the meaning of a change of one attribute: an entry of the configuration with its condition,
// compiled. The zero rule is the strictest.
type rule struct {
	config.Drift
	severity  float64
	condition condition
}

// normal returns the entry in a form that all entries with the same meaning share.
func (r rule) normal() config.Drift {
	d := r.Drift
	d.AtLeast, d.AtMost, d.OneOf, d.Equals = nil, nil, nil, nil
	if r.condition.operator != "" {
		d.Equals = []any{r.condition.operator, r.condition.path != nil, r.condition.text}
	}
	return d
}

// covers reports whether now counts as unchanged. Values of one kind are expected.
func (r rule) covers(seen, now entity.Value) bool {
	if seen.Equal(now) {
		return true
	}
	if seen.Kind() == entity.KindSet {
		came, went := moves(seen, now)
		return r.Direction == config.Rise && len(came) == 0 || r.Direction == config.Fall && len(went) == 0
	}
	way, ordered := movement(seen, now)
	switch {
	case !ordered:
		return false
	case way > 0 && r.Direction == config.Fall, way < 0 && r.Direction == config.Rise:
		return true
	default:
		return tolerates(r.Tolerance, seen, now)
	}
}

// moves returns the elements that came to a set and those that went, as shown.
func moves(seen, now entity.Value) (came, went []string) {
	count := make(map[string]int)
	for _, e := range now.Elements() {
		count[e]++
	}
	for _, e := range seen.Elements() {
		count[e]--
	}
	for _, e := range slices.Sorted(maps.Keys(count)) {
		came = append(came, slices.Repeat([]string{e}, max(0, count[e]))...)
		went = append(went, slices.Repeat([]string{e}, max(0, -count[e]))...)
	}
	return came, went
}

// movement reports whether a value became more (1) or less (-1); false for values
// without an order.
func movement(seen, now entity.Value) (way int, ordered bool) {
	if a, isTime := seen.AsTime(); isTime {
		b, _ := now.AsTime()
		return b.Compare(a), true
	}
	a, isNumber := seen.Rat()
	if !isNumber || seen.Currency() != now.Currency() {
		return 0, false
	}
	b, _ := now.Rat()
	return b.Cmp(a), true
}

// tolerates reports whether a number that moved moved no further than is tolerated. Nothing else is
// tolerated, and nothing between currencies.
func tolerates(t config.Tolerance, seen, now entity.Value) bool {
	a, isNumber := seen.Rat()
	if !isNumber || t == (config.Tolerance{}) {
		return false
	}
	b, _ := now.Rat()
	moved := b.Sub(b, a)
	moved.Abs(moved)
	if t.Absolute > 0 && moved.Cmp(exact(t.Absolute)) > 0 {
		return false
	}
	limit := exact(t.Percent)
	limit.Mul(limit, a.Abs(a)).Quo(limit, big.NewRat(100, 1))
	return t.Percent == 0 || moved.Cmp(limit) <= 0
}

// exact reads a configured number as the decimal that was written. A policy that
// was validated holds finite numbers only.
func exact(f float64) *big.Rat {
	r, _ := new(big.Rat).SetString(decimalText(f))
	return r
}

// decimalText writes a float64 as the shortest decimal that reads back as it, which
// is also what a person meant by it: 0.1 is one tenth.
func decimalText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
