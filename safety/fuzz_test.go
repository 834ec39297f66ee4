// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// dice reads choices from bytes; at their end every choice is the first.
type dice struct{ data []byte }

func (d *dice) next(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

func (d *dice) int16() int64 { return int64(int16(d.next(256)<<8 | d.next(256))) }

// plain is a value as the oracle knows it: a letter for what it is and a number. The
// zero plain is none.
type plain struct {
	kind     byte // t text, n number, m money, b boolean, d date
	currency string
	n        int64
}

func (d *dice) plain() plain {
	kind := "_tnmmmbd"[d.next(8)]
	if kind == '_' {
		return plain{}
	}
	p := plain{kind: kind, n: d.int16()}
	switch kind {
	case 'm':
		p.currency = []string{"USD", "EUR", ""}[d.next(3)]
	case 'b':
		p.n &= 1
	}
	return p
}

func (p plain) value() entity.Value {
	switch p.kind {
	case 't':
		return entity.Text(strconv.FormatInt(p.n, 10))
	case 'n':
		return number(p.n)
	case 'm':
		return must(entity.Money(strconv.FormatInt(p.n, 10), p.currency))
	case 'b':
		return entity.Bool(p.n == 1)
	case 'd':
		return entity.Time(epoch.Add(time.Duration(p.n) * time.Second))
	}
	return entity.Value{}
}

// plainRule is a rule as the oracle knows it.
type plainRule struct {
	absolute, percent int64
	direction         config.Direction
	warn, optional    bool
	needs             plainCondition
}

// plainCondition is a condition as the oracle knows it: an operator, numbers, and how they
// are written. The zero plainCondition is none.
type plainCondition struct {
	operator string
	form     byte // n number, d date, b boolean
	path     bool // in the arguments
	of       []int64
}

func (d *dice) condition() plainCondition {
	c := plainCondition{operator: [...]string{"", atLeast, atMost, oneOf, equals}[d.next(5)], form: "nnndb"[d.next(5)], path: d.next(3) == 1, of: []int64{d.int16()}}
	switch c.operator {
	case "":
		return plainCondition{}
	case oneOf:
		c.of = append(c.of, d.int16(), 300)
	}
	return c
}

// written returns what stands in the policy or in the arguments.
func (c plainCondition) written() any {
	list := []any{}
	for _, n := range c.of {
		switch c.form {
		case 'n':
			list = append(list, n)
		case 'd':
			list = append(list, epoch.Add(time.Duration(n)*time.Second).Format(time.RFC3339Nano))
		default:
			list = append(list, n&1 == 1)
		}
	}
	if c.operator == oneOf {
		return list
	}
	return list[0]
}

// given gives a rule of the policy the condition.
func (c plainCondition) given(d config.Drift, name string) config.Drift {
	if c.path {
		return conditioned(d, c.operator, "$."+name)
	}
	return conditioned(d, c.operator, c.written())
}

// met reports whether a value meets the condition, which is read as the latest value is.
func (c plainCondition) met(latest, p plain) bool {
	ordered := c.operator == atLeast || c.operator == atMost
	fits := map[byte]string{'n': "tnm", 'd': "td", 'b': "b"}[c.form]
	if !strings.ContainsRune(fits, rune(latest.kind)) || ordered && (latest.kind == 't' || latest.kind == 'b') {
		return false
	}
	for _, n := range c.of {
		if c.form == 'b' {
			n &= 1
		}
		same := p.kind == latest.kind && p.currency == latest.currency && !(latest.kind == 't' && c.form == 'd')
		if same && (p.n == n || c.operator == atLeast && p.n > n || c.operator == atMost && p.n < n) {
			return true
		}
	}
	return false
}

func (d *dice) rule() plainRule {
	return plainRule{
		absolute: int64(d.next(4)) * 50, percent: int64(d.next(4)) * 5, direction: [...]config.Direction{config.Either, config.Rise, config.Fall}[d.next(3)],
		warn: d.next(4) == 1, optional: d.next(3) == 1,
	}
}

func (r plainRule) rule() config.Drift {
	out := config.Drift{Type: "changed", Optional: r.optional}
	if r.needs.operator == "" {
		out.Direction, out.Tolerance = r.direction, config.Tolerance{Absolute: float64(r.absolute), Percent: float64(r.percent)}
	}
	if r.warn {
		out.Effect = config.EffectWarn
	}
	return out
}

// holds reports whether a value that was seen is proven by the answer: counted if it was
// compared at all.
func (r plainRule) holds(name string, seen, latest, now plain) (holds, counted bool) {
	moved := now.n - seen.n
	ordered := seen.kind == 'd' || (seen.kind == 'n' || seen.kind == 'm') && seen.currency == now.currency
	within := r.absolute+r.percent > 0 && seen.kind != 'd' && (r.absolute == 0 || max(moved, -moved) <= r.absolute) &&
		(r.percent == 0 || 100*max(moved, -moved) <= r.percent*max(seen.n, -seen.n))
	switch {
	case now.kind == 0:
		return r.optional, false
	case seen.kind != now.kind, seen.currency != now.currency && (seen.currency == "" || now.currency == ""):
		return false, false
	case (r.needs.operator == atLeast || r.needs.operator == atMost) && seen.currency != now.currency:
		return false, false
	case r.warn:
		return true, true
	case name == "availability" && now == plain{kind: 'b'}:
		return false, true
	case r.needs.operator != "":
		return r.needs.met(latest, now), true
	}
	free := ordered && (within || moved > 0 && r.direction == config.Fall || moved < 0 && r.direction == config.Rise)
	return seen == now || free, true
}

// plainSight is what the record has of one attribute.
type plainSight struct {
	read    []plain
	claimed bool // it is there, also if it was not read
}

// proven is what a check comes to, said again in as few words as possible: all that was
// read is in a fresh answer and holds, and something was compared.
func proven(rules map[string]plainRule, seen map[string]plainSight, now map[string]plain) bool {
	compared, shown := 0, false
	for name, r := range rules {
		read := seen[name].read
		if r.needs.operator == "" {
			continue
		}
		if len(read) == 0 && !r.optional {
			return false
		}
		for _, p := range read {
			if !r.needs.met(read[len(read)-1], p) {
				return false
			}
		}
	}
	for name, sight := range seen {
		shown = shown || len(sight.read) > 0
		if len(sight.read) == 0 && !rules[name].optional {
			return false
		}
		for _, p := range sight.read {
			holds, counted := rules[name].holds(name, p, sight.read[len(sight.read)-1], now[name])
			if !holds {
				return false
			}
			if counted {
				compared++
			}
		}
	}
	if len(seen) == 0 { // it was seen, and nothing of it: then its source must say anything
		shown = true
		for _, p := range now {
			if p.kind != 0 {
				compared++
			}
		}
	}
	if !shown {
		return false
	}
	if p := now["availability"]; p.kind != 0 && len(seen["availability"].read) == 0 {
		if p.kind != 'b' || p.n == 0 && !rules["availability"].warn {
			return false
		}
		compared++
	}
	return compared > 0
}

// FuzzCheckerAnswer makes up an entity, rules for it and an answer about it, and compares
// the verdict with the oracle: what is not proven is never safe, and what is proven is.
func FuzzCheckerAnswer(f *testing.F) {
	f.Add([]byte{}, int64(0), uint8(0), "")
	// The price and that it is available, unchanged.
	same := []byte{0, 0, 0, 0, 0, 3, 1, 44, 0, 1, 3, 1, 44, 0}
	f.Add(slices.Concat(same, same), int64(0), uint8(0), "v1")
	f.Add(slices.Concat(same, same), -int64(31*time.Second), uint8(0), "v1")
	f.Add(slices.Concat(same, same), int64(3*time.Second), uint8(0), "v1")
	for how := range uint8(6) {
		f.Add(slices.Concat(same, same), int64(0), how, "\xff\x00")
	}
	// A number, an amount or a time that was 300 and moves, by every rule.
	for i := range 3 * 2 * 2 * 3 * 4 {
		absolute, percent, direction, kind := byte(i%2), byte(i/2%2), byte(i/4%3), []byte{2, 3, 7}[i/12%3]
		moved := []byte{44 - 40, 44 - 10, 44 + 10, 44 + 60}[i/36]
		seen, now := []byte{kind, 1, 44}, []byte{kind, 1, moved}
		if kind == 3 {
			seen, now = append(seen, 0), append(now, 0) // in dollars
		}
		f.Add(slices.Concat([]byte{absolute, percent, direction, 0, 0}, seen, []byte{1}, now), int64(0), uint8(0), "")
	}
	// A number, an amount or a time that was 300, by every condition around it.
	for i := range 4 * 3 * 3 * 3 * 3 * 2 {
		operator, limit, moved := byte(1+i%4), []byte{43, 44, 45}[i/4%3], []byte{43, 44, 45}[i/12%3]
		kind, form, path := []byte{2, 3, 7}[i/36%3], []byte{0, 3, 4}[i/108%3], byte(i/324)
		seen, now := []byte{kind, 1, 44}, []byte{kind, 1, moved}
		if kind == 3 {
			seen, now = append(seen, 0), append(now, 0)
		}
		rule, none := []byte{0, 0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0, 2}
		f.Add(slices.Concat(rule, seen, []byte{1}, now, none, none, none, []byte{0}, []byte{operator, form, path, 1, limit, 1, limit}), int64(0), uint8(0), "")
	}
	for i := range uint16(64) {
		f.Add(slices.Repeat(binary.BigEndian.AppendUint16(nil, 2017*i), 40), int64(i), uint8(0), "W/\"3\"")
	}
	names := []string{"price", "availability", "audience", "starts"}
	f.Fuzz(func(t *testing.T, data []byte, age int64, how uint8, version string) {
		d := &dice{data}
		rules, seen, now := map[string]plainRule{}, map[string]plainSight{}, map[string]plain{}
		first, later := entity.Entity{Source: entity.SourceRule, Attributes: values{}}, entity.Entity{Source: entity.SourceDeclared, Attributes: values{}}
		claim := entity.Entity{Source: entity.SourceAction, TechNode: "node-1", Attributes: values{}}
		answer := values{}
		for _, name := range names {
			rules[name] = d.rule()
			p := d.plain()
			if p.kind != 0 {
				seen[name] = plainSight{[]plain{p}, true}
				first.Attributes[name] = p.value()
			}
			switch d.next(3) {
			case 0: // as it was
				now[name], answer[name] = p, p.value()
			case 1:
				p := d.plain()
				now[name], answer[name] = p, p.value()
			}
		}
		for _, name := range names {
			if !seen[name].claimed {
				continue
			}
			switch d.next(5) {
			case 1: // read again
				if p := d.plain(); p.kind != 0 {
					seen[name] = plainSight{append(seen[name].read, p), true}
					later.Attributes[name] = p.value()
				}
			case 2: // an echo
				seen[name] = plainSight{claimed: true}
				first.Echoes = append(first.Echoes, name)
			case 3: // only the arguments have it
				seen[name] = plainSight{claimed: true}
				claim.Attributes[name] = first.Attributes[name]
				delete(first.Attributes, name)
			}
		}
		conditions, asks := map[string]config.Drift{}, false
		args := map[string]any{}
		for _, name := range names {
			r := rules[name]
			if r.needs = d.condition(); r.needs.operator == "" {
				continue
			}
			rules[name], conditions[name] = r, r.needs.given(r.rule(), name)
			if r.needs.path {
				args[name], asks = r.needs.written(), true
			}
		}
		var sightings []entity.Entity
		for _, s := range []entity.Entity{first, later, claim} {
			if len(s.Attributes) > 0 {
				sightings = append(sightings, s)
			}
		}
		if len(sightings) == 0 {
			sightings = []entity.Entity{first}
		}
		e := sighted("Product", "P", sightings...)
		asOf := epoch.Add(time.Duration(age))
		fresh := age >= -int64(30*time.Second) && age <= int64(2*time.Second)
		check := func(context.Context, entity.Canonical) (safety.State, error) {
			s := safety.State{Attributes: answer, AsOf: asOf, Version: version, Origins: []safety.Origin{{Kind: version, Name: version, Call: version}}}
			switch how % 6 {
			case 1:
				return s, errors.New(version)
			case 2:
				return s, &safety.AnswerError{Reason: version, Err: errors.New(version)}
			case 3:
				panic(version)
			case 4:
				s.AsOf = time.Time{}
			case 5:
				s.Attributes = nil
			}
			return s, nil
		}
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Checkers = map[string]safety.Checker{"Product": safety.CheckerFunc(check)}
			cfg.Policy.Drift = map[string]config.Drift{}
			for name, r := range rules {
				cfg.Policy.Drift[name] = r.rule()
			}
			cfg.Policy.Types = map[string]config.TypePolicy{"Product": {Drift: conditions}}
		}, e)
		if asks {
			b.args, b.record.snap.Places = args, map[string][]string{e.Key: {"$"}}
			b.ask()
		}
		r := b.check()
		if want := how%6 == 0 && fresh && proven(rules, seen, now); r.IsSafeToApprove() != want {
			t.Errorf("safe %t, want %t\nseen %v\nnow %v\nrules %+v\nas of %v, answered the way %d\n%s", !want, want, seen, now, rules, asOf, how%6, r.Summary())
		}
		if r.IsSafeToApprove() && (r.CheckFailed() || r.StaleEntities() > 0 || len(r.Failures()) > 0 || len(r.Alerts()) > 0) {
			t.Errorf("safe beside what is not:\n%s", r.Summary())
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Error(err)
		}
		var back safety.Report
		//lint:ignore SA9005 a report that is read back must deny
		if err := json.Unmarshal(text, &back); err != nil || back.IsSafeToApprove() {
			t.Errorf("read back: safe %t, %v", back.IsSafeToApprove(), err)
		}
	})
}
