// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var (
	lowerName    = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	eventName    = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)
)

const lowerNameRemedy = "use lower-case letters, digits and underscores, beginning with a letter"

// validate reports everything that is wrong with c, joined as [ConfigError]s
// that name the fields.
func (c Config) validate() error {
	p := newProblems("")
	c.check(p)
	if err := p.err(); err != nil {
		return fmt.Errorf("contextgraph: configuration:\n%w", err)
	}
	return nil
}

// check reports what is wrong with c to p.
func (c Config) check(p *problems) {
	root := keyPath{code: "Config"}
	c.checkStorage(p, root)
	c.Guard.check(p, root.field("guard"))

	names := make(map[string]int)
	for i := range c.Extract {
		k := root.field("extract").index(i)
		c.Extract[i].check(p, k)
		unique(p, k.field("name"), names, c.Extract[i].Name, i)
	}
	types := make(map[string]int)
	for i := range c.Checkers {
		k := root.field("checkers").index(i)
		c.Checkers[i].check(p, k)
		unique(p, k.field("type"), types, c.Checkers[i].Type, i)
	}
	c.checkReplays(p, root)
	c.checkGate(p, root)
	c.checkAction(p, root)
	c.checkConditions(p, root)
	c.checkBigQuery(p, root.field("bigquery"))
	funcs := keyPath{file: "CheckFuncs", code: "Config.CheckFuncs"}
	for _, name := range slices.Sorted(maps.Keys(c.CheckFuncs)) {
		k := funcs.entry(name)
		entityType(p, k, name)
		if c.CheckFuncs[name] == nil {
			p.add(k, "the checker is nil", "give a checker, or remove the entry")
		}
	}
	if len(p.errs) == 0 {
		c.checkUse(p, root)
	}
}

// checkUse reports what only the packages that use the values know to be wrong.
func (c Config) checkUse(p *problems, root keyPath) {
	report := func(k keyPath, err error) {
		if err != nil {
			p.add(k, strings.ReplaceAll(err.Error(), "\n", ", "), "correct this part")
		}
	}
	filled := c.withDefaults()
	report(root.field("guard"), filled.Guard.policy().Validate())
	for i := range filled.Extract {
		_, err := graphsync.Compile([]graphsync.Rule{filled.Extract[i].rule()})
		report(root.field("extract").index(i), err)
	}
	for i := range filled.Checkers {
		k := root.field("checkers").index(i)
		if h := filled.Checkers[i].HTTP; h != nil {
			_, err := source.NewHTTPChecker(h.config())
			report(k.field("http"), err)
		}
		if s := filled.Checkers[i].SQL; s != nil {
			_, err := source.SQL(s.config(noDatabase{}))
			report(k.field("sql"), err)
		}
	}
}

// unique reports a name that an earlier entry of the same list has.
func unique(p *problems, k keyPath, first map[string]int, name string, i int) {
	if name == "" {
		return
	}
	if j, ok := first[name]; ok {
		p.add(k, quote(name)+" is also that of entry ["+strconv.Itoa(j)+"]", "give each entry its own, or merge the two")
		return
	}
	first[name] = i
}

// maxLifetime keeps the time at which a request expires in the range of every
// store: ten years.
const maxLifetime = 10 * 365 * 24 * time.Hour

func (c *GuardConfig) check(p *problems, k keyPath) {
	switch c.Mode {
	case "", ModeEnforce:
	case ModeObserve:
		if len(c.Tools) > 0 {
			p.add(k.field("mode"), "observe cannot be combined with guard.tools ("+strings.Join(shown(c.Tools), ", ")+
				"): a configuration cannot remove a gate that it lists",
				"write enforce, or remove the tools from guard.tools; a gate set in code with Protect stays in either mode")
		}
		if len(c.Inputs) > 0 {
			p.add(k.field("mode"), "observe cannot be combined with guard.inputs ("+strings.Join(shown(c.Inputs), ", ")+
				"): a configuration cannot remove a gate that it lists", "write enforce, or remove the nodes from guard.inputs")
		}
	default:
		p.add(k.field("mode"), quote(string(c.Mode))+" is not a mode", choose(c.Mode, ModeEnforce, ModeObserve))
	}

	checkPatterns(p, k.field("tools"), c.Tools, "the name of a tool, or a pattern such as provision_*")
	checkPatterns(p, k.field("inputs"), c.Inputs, "the name of a workflow node, or a pattern such as review_*")
	switch c.Unguarded {
	case "", UnguardedWarn, UnguardedError:
	default:
		p.add(k.field("unguarded"), quote(string(c.Unguarded))+" is not known", choose(c.Unguarded, UnguardedWarn, UnguardedError))
	}

	lifetime, age := k.field("request_lifetime"), k.field("check_age")
	checkDuration(p, lifetime, c.RequestLifetime, maxLifetime)
	checkDuration(p, age, c.CheckAge, maxLifetime)
	limit := c.RequestLifetime
	if limit == 0 {
		limit = safety.DefaultPolicy().RequestLifetime
	}
	if c.CheckAge > limit && !p.failed(lifetime) {
		p.add(age, c.CheckAge.String()+" is longer than request_lifetime ("+limit.String()+")", "a check cannot be valid longer than the request: write a shorter duration")
	}
	timeout, deadline := k.field("check_timeout"), k.field("check_deadline")
	checkDuration(p, timeout, c.CheckTimeout, maxLifetime)
	checkDuration(p, deadline, c.CheckDeadline, maxLifetime)
	if c.CheckDeadline != 0 && c.CheckTimeout > c.CheckDeadline && !p.failed(deadline) {
		p.add(timeout, c.CheckTimeout.String()+" is longer than check_deadline ("+c.CheckDeadline.String()+")", "one check cannot take longer than all together: write a shorter duration")
	}
	if c.MinConfidence != nil {
		unit(p, k.field("min_confidence"), *c.MinConfidence)
	}

	c.checkPolicy(p, k)
}

// checkPatterns checks a list of names and patterns.
func checkPatterns(p *problems, k keyPath, list []string, what string) {
	first := make(map[string]int)
	for i, entry := range list {
		at := k.index(i)
		name(p, at, entry, what)
		if gate.ToolPattern(entry).Validate() != nil {
			p.add(at, quote(entry)+" is not a pattern", `close every [ and end no pattern with \, as in provision_* or [a-z]*`)
		}
		unique(p, at, first, entry, i)
	}
}

// maxTolerance is far above any amount and exact in a float64.
const maxTolerance = 1e15

func (c *ExtractConfig) check(p *problems, k keyPath) {
	name(p, k.field("name"), c.Name, "a name for the rule")
	in, event := k.field("in"), k.field("event")
	switch {
	case c.Tool == "" && c.Event == "":
		p.add(k.field("tool"), "neither tool nor event is given", "write the name of the tool whose events the rule reads")
	case c.Tool != "" && c.Event != "":
		p.add(event, "given beside tool", "keep one of them")
	case c.Tool != "":
		name(p, k.field("tool"), c.Tool, "the name of a tool")
		switch c.In {
		case graphsync.InResult, graphsync.InArgs, graphsync.InAction:
		default:
			p.add(in, c.In.String()+" is not a part of a tool's events", oneOf("result", "args", "action"))
		}
	default:
		if !eventName.MatchString(c.Event) {
			p.add(event, quote(c.Event)+" is not a type of event", "write for example USER_MESSAGE_RECEIVED")
		}
		if c.In != graphsync.InContent && c.In != graphsync.InResult {
			p.add(in, c.In.String()+" belongs to a tool, not to an event", "write content, or leave it out")
		}
	}
	if c.Each != "" {
		checkPath(p, k.field("each"), c.Each)
	}
	entityType(p, k.field("type"), c.Type)
	c.checkValue(p, k)
	checkKind(p, k.field("value_type"), k.field("currency"), c.ValueType, c.Currency)
	checkAttributes(p, k.field("attributes"), c.Attributes)
	c.checkReadings(p, k.field("attributes"))
	if c.ArtifactURI != "" {
		checkPath(p, k.field("artifact_uri"), c.ArtifactURI)
	}
	unit(p, k.field("confidence"), c.Confidence)
	if c.Alternatives && !c.readsResult() {
		p.add(k.field("alternatives"), "the rule does not read a result, which shows what there is to choose from", "remove it, or write in: result")
	}
}

// readsResult reports whether the rule reads the result of a tool.
func (c *ExtractConfig) readsResult() bool { return c.Event == "" && c.In == graphsync.InResult }

// checkValue reports a value that is not taken from one place.
func (c *ExtractConfig) checkValue(p *problems, k keyPath) {
	value := k.field("value")
	if c.ValueArgs == "" {
		checkPath(p, value, c.Value)
		return
	}
	args := keyPath{file: value.file + ".args", code: k.code + ".ValueArgs", parent: &value}
	switch {
	case c.Value != "":
		p.add(args, "given beside a path in the node", "keep one of them")
	case !c.readsResult():
		p.add(args, "the value is taken from the arguments, and the rule does not read a result", "write in: result, or write the path as the value: value: "+c.ValueArgs)
	case c.Each != "" && c.Each != "$":
		p.add(args, "the arguments have one value for all that each selects", "write each: $, or take the value from the node: value: $.id")
	default:
		checkPath(p, args, c.ValueArgs)
	}
}

// checkReadings reports attributes that are not what readings have.
func (c *ExtractConfig) checkReadings(p *problems, k keyPath) {
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
		at, a := k.entry(name), c.Attributes[name]
		if name == safety.Exists && a.Type != entity.KindBool {
			p.add(at.field("type"), "exists is what a rule without attributes gives, a boolean", "write type: boolean, or another name")
		}
		if a.LookedUp && !c.readsResult() {
			p.add(at.field("looked_up"), "the rule does not read a result, where a tool looks things up", "remove it, or write in: result")
		}
	}
}

func checkAttributes(p *problems, k keyPath, attributes map[string]AttributeConfig) {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		at, a := k.entry(name), attributes[name]
		attributeName(p, at, name)
		checkPath(p, at.field("path"), a.Path)
		checkKind(p, at.field("type"), at.field("currency"), a.Type, a.Currency)
	}
}

// checkPath reports a text that is not a JSONPath.
func checkPath(p *problems, k keyPath, path string) {
	if path == "" {
		p.add(k, "no path is given", "write a JSONPath, for example $.name")
		return
	}
	if _, err := jsonpath.Parse(path); err != nil {
		p.add(k, quote(path)+" is not a JSONPath (RFC 9535): "+strings.TrimPrefix(err.Error(), "jsonpath: "), "write for example $.name or $.items[*]")
	}
}

func checkKind(p *problems, kindKey, currencyKey keyPath, kind entity.Kind, currency string) {
	if kind > entity.KindTime {
		p.add(kindKey, kind.String()+" is not a type of value", oneOf(kindNames()...))
	}
	switch {
	case currency == "":
	case !currencyCode.MatchString(currency):
		p.add(currencyKey, quote(currency)+" is not a currency code", "write three capital letters, for example USD")
	case kind != entity.KindMoney && !p.failed(kindKey):
		p.add(currencyKey, "given for a value that is not money", "write the type money, or remove the currency")
	}
}

// checkDuration reports a duration that is negative or above most.
func checkDuration(p *problems, k keyPath, d, most time.Duration) {
	switch {
	case d < 0:
		p.add(k, d.String()+" is negative", "write a positive duration, or leave it out for the default")
	case d > most:
		p.add(k, d.String()+" is too long", "write at most "+most.String())
	}
}

// unit reports a number that is not from 0 to 1.
func unit(p *problems, k keyPath, v float64) {
	if !(v >= 0 && v <= 1) {
		p.add(k, format(v)+" is out of range", "write a number from 0 to 1")
	}
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func attributeName(p *problems, k keyPath, name string) {
	if !entity.IsAttributeName(name) {
		p.add(k, quote(name)+" is not the name of an attribute", lowerNameRemedy)
	}
}

func entityType(p *problems, k keyPath, s string) {
	const remedy = "a type of entity, for example Product"
	name(p, k, s, remedy)
	if err := (entity.Entity{Type: s, Value: "x"}).Validate(); err != nil {
		p.add(k, quote(s)+" is not a type: "+err.Error(), "write "+remedy)
	}
}

// name reports a name that is missing or that no event could ever hold.
func name(p *problems, k keyPath, s, what string) {
	const longest = 256
	switch {
	case s == "":
		p.add(k, "missing", "write "+what)
	case strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl):
		p.add(k, quote(s)+" begins or ends with white space, or holds a control character", "write "+what)
	case len(s) > longest:
		p.add(k, quote(s)+" is longer than "+strconv.Itoa(longest)+" bytes", "write "+what)
	}
}

func shown(list []string) []string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return quoted
}
