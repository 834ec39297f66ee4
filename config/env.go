// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// envPrefix begins the name of every variable that overrides a key.
const envPrefix = "CONTEXTGRAPH_"

// The variables of the command: the token for decisions of "contextgraph serve", and the agent to
// which "contextgraph approve" brings an answer. They are no part of a configuration and may be set
// beside one.
const (
	tokenVariable = envPrefix + "TOKEN"
	agentVariable = envPrefix + "AGENT"
)

// environment holds the variables that a process was started with.
type environment struct {
	values map[string]string
	// used holds the variables that the file names.
	used map[string]bool
}

func newEnvironment(environ []string) *environment {
	env := &environment{values: make(map[string]string, len(environ)), used: make(map[string]bool)}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		// As with os.Getenv, the first of two entries counts.
		if _, seen := env.values[name]; ok && !seen {
			env.values[name] = value
		}
	}
	return env
}

// override is a variable that takes the place of a key.
type override struct {
	variable string
	key      Key
	// set puts the value into the Config, or reports its fault.
	set func(value string) (problem, remedy string)
}

// overrides lists the variables of the struct at k: one for each single value, and for
// lists that may grow.
func overrides(k Key, def reflect.Value) (out []override) {
	for _, key := range keys(k.value.Type(), "") {
		f, v := k.value.Type().Field(key.field), k.value.Field(key.field)
		at, of := k.field(f, v), def.Field(key.field)
		o := override{variable: envPrefix + strings.ToUpper(strings.ReplaceAll(at.file, ".", "_")), key: at}
		switch {
		case v.Kind() == reflect.Struct:
			out = append(out, overrides(at, of)...)
			continue
		case f.Tag.Get("env") == "add":
			o.set = func(s string) (string, string) { return addNames(v, s) }
		case v.Kind() == reflect.Slice || v.Kind() == reflect.Map:
			continue
		default:
			o.set = func(s string) (problem, remedy string) {
				f := formOf(at, of)
				if problem, remedy = f.set(v, s); problem == otherType {
					return Quote(s) + " is not a number", f.remedy(new(yaml.Node))
				}
				return problem, remedy
			}
		}
		out = append(out, o)
	}
	return out
}

// addNames sets a list that is written with commas. It must keep the names that the file
// lists: a variable is set far from the review that a file gets, and only code
// can remove a gate.
func addNames(v reflect.Value, s string) (problem, remedy string) {
	var names []string
	for name := range strings.SplitSeq(s, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	for _, name := range v.Interface().([]string) {
		if !slices.Contains(names, name) {
			return "leaves out " + Quote(name) + ", which the file lists",
				"add it: the environment can put more behind the gate, only code can take something away"
		}
	}
	v.Set(reflect.ValueOf(names))
	return "", ""
}

// apply puts the variables over what the file says.
func (env *environment) apply(root Key) {
	p := root.problems
	list := overrides(root, reflect.ValueOf(Default()))
	known := make([]string, len(list))
	for i, o := range list {
		known[i] = o.variable
		value, ok := env.values[o.variable]
		if !ok {
			continue
		}
		problem, remedy := "is set but empty", "unset it, or give it a value"
		if strings.TrimSpace(value) != "" {
			problem, remedy = o.set(strings.TrimSpace(value))
		}
		if problem != "" {
			p.reported[o.key.file] = true
			p.errs = append(p.errs, &Error{Variable: o.variable, Key: o.key.file, Problem: problem, Remedy: remedy})
			continue
		}
		p.override(o.key, o.variable)
	}

	var unknown []string
	for name := range env.values {
		if strings.HasPrefix(name, envPrefix) && name != tokenVariable && name != agentVariable && !slices.Contains(known, name) && !env.used[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		remedy := "a variable is CONTEXTGRAPH_ and the path of its key in capitals, as CONTEXTGRAPH_GUARD_MODE for guard.mode"
		if meant := text.Nearest(name, known); meant != "" {
			remedy = "did you mean " + meant + "? Else " + remedy
		}
		p.errs = append(p.errs, &Error{Variable: name, Problem: "unknown variable", Remedy: remedy})
	}
}

// expand replaces every ${VAR} in text. Its reports name variables, never their values.
func (d *decoder) expand(k Key, at position, text string) (string, bool) {
	var b strings.Builder
	ok := true
	fail := func(variable, problem, remedy string) {
		ok = false
		d.reported[k.file] = true
		d.errs = append(d.errs, &Error{
			File: d.file, Line: at.line, Column: at.column,
			Variable: variable, Key: k.file, Problem: problem, Remedy: remedy,
		})
	}
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			b.WriteString(text)
			return b.String(), ok
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(literal + "${")
			text = rest
			continue
		}
		b.WriteString(before)
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !isVariable(name) {
			fail("", "${ is not followed by the name of a variable and }", "write for example ${ADS_TOKEN}, or $${ for ${ itself")
			return "", false
		}
		d.env.used[name] = true
		switch value, set := d.env.values[name]; {
		case !set:
			fail(name, "the environment variable "+name+" is not set", "set it before the program starts")
		case value == "":
			fail(name, "the environment variable "+name+" is empty", "give it a value before the program starts")
		default:
			b.WriteString(value)
		}
		text = after
	}
}
