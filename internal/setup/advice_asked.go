// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"maps"
	"regexp"
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// unpaid names what budgets sum or compare and nothing gives. Of a type that code checks nobody knows the attributes, so
// one is named only if it looks misspelt.
func (a *advice) unpaid() {
	for i, b := range a.Guard.Budgets {
		at := config.Index("guard.budgets", i)
		for _, part := range []struct{ path, typ, key, attribute string }{
			{at + ".cost", b.Cost.Type, "attribute", b.Cost.Attribute}, {at + ".cost", b.Cost.Type, "quantity", b.Cost.Quantity},
			{at + ".limit", b.Limit.Type, "attribute", b.Limit.Attribute},
		} {
			all := make(attributes)
			for _, of := range []attributes{a.found, a.answered} {
				for typ, names := range of {
					all.add(typ, slices.Collect(maps.Keys(names))...)
				}
			}
			known := all[part.typ]
			words := slices.Sorted(maps.Keys(known))
			// A tool may declare more, and code may answer more.
			open := slices.Contains(a.coded, part.typ) || a.found[part.typ] == nil || a.checkers[part.typ].Replay != nil
			switch {
			case known == nil && part.key == "attribute":
				a.add(part.path+".type", meant(part.typ, slices.Sorted(maps.Keys(all)), "add a rule that finds it"),
					"no rule finds the type %q: each check that this budget is for fails unless a tool declares one", part.typ)
			case known == nil || part.attribute == "" || known[part.attribute] || open && text.Nearest(part.attribute, words) == "":
			default:
				a.add(part.path+"."+part.key, meant(part.attribute, words, "add it to a rule"),
					"no rule finds the attribute %q of type %q: each check that this budget is for fails unless a tool declares it", part.attribute, part.typ)
			}
		}
	}
}

// changeTime is the name of what says when a thing changed last, which is not when an answer was true.
var changeTime = regexp.MustCompile(`(?i)(^|[_.])(updated|modified|changed|created|last_(update|change|modification))(_?(at|on|time|date))?$`)

// unasked names what checkers, and conditions on arguments, ask for and do not mean.
func (a *advice) unasked() {
	for i, k := range a.Checkers {
		if slices.Contains(a.coded, k.Type) {
			continue
		}
		path, asOf := config.Index("checkers", i)+".http", ""
		if k.HTTP != nil {
			asOf = k.HTTP.AsOf
		}
		if k.SQL != nil {
			path, asOf = config.Index("checkers", i)+".sql", k.SQL.AsOf
		}
		if changeTime.MatchString(asOf) {
			a.add(path+".as_of", "write fetch, or have the source give the time of its read, as now() in a query does",
				"%q looks like the time of the last change; an answer is as old as the read, and one older than guard.check_age is refused (stale_answer)", asOf)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(a.Guard.Types)) {
		var paths []string
		for _, e := range a.Extract {
			if e.In == config.InAction && e.Type == typ {
				for _, attribute := range e.Attributes {
					paths = append(paths, attribute.Path)
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(a.Guard.Types[typ].Drift)) {
			d := a.Guard.Types[typ].Drift[name]
			for _, o := range d.Operands() {
				path, is := o.Path()
				if near := text.Nearest(path, paths); is && len(path) > len("$.quant") && near != "" && !slices.Contains(paths, path) {
					a.add(config.Entry(config.Entry("guard.types", typ)+".drift", name)+"."+o.Key, "did you mean "+near+"?",
						"no rule with in: action reads %s of a %s: %s if the arguments lack it", path, typ, fails)
				}
			}
		}
	}
}
