// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// envPrefix begins the name of every variable that overrides a key.
const envPrefix = "CONTEXTGRAPH_"

// tokenVariable is the token for decisions of "contextgraph serve", which is no part of a
// configuration and may be set beside one.
const tokenVariable = envPrefix + "TOKEN"

// environment is what a process was started with.
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
	key      keyPath
	// set puts the value into the Config, or says what is wrong with it.
	set func(value string) (problem, remedy string)
}

// overrides lists the variables that cfg can be changed by.
func overrides(cfg *Config) []override {
	root := keyPath{code: "Config"}
	journal, record, guard := root.field("journal"), root.field("record"), root.field("guard")
	retention := journal.field("retention")
	bigquery := root.field("bigquery")
	return []override{
		{envPrefix + "ENABLED", root.field("enabled"), func(v string) (string, string) {
			if v != "true" && v != "false" {
				return quote(v) + " is not a boolean", "write true or false"
			}
			cfg.Disabled = v == "false"
			return "", ""
		}},
		{envPrefix + "JOURNAL_PATH", journal.field("path"), setText(&cfg.Journal.Path)},
		{envPrefix + "JOURNAL_DURABILITY", journal.field("durability"), setText(&cfg.Journal.Durability)},
		{envPrefix + "JOURNAL_COMMIT_INTERVAL", journal.field("commit_interval"), setDuration(&cfg.Journal.CommitInterval, "20ms")},
		{envPrefix + "JOURNAL_ON_FULL", journal.field("on_full"), setText(&cfg.Journal.OnFull)},
		{envPrefix + "JOURNAL_RETENTION_MAX_AGE", retention.field("max_age"), setDuration(&cfg.Journal.Retention.MaxAge, "720h")},
		{envPrefix + "JOURNAL_RETENTION_MAX_SIZE", retention.field("max_size"), setSize(&cfg.Journal.Retention.MaxSize, "1GiB")},
		{envPrefix + "RECORD_PROMPT_HISTORY", record.field("prompt_history"), setText(&cfg.Record.PromptHistory)},
		{envPrefix + "RECORD_ARTIFACTS_STORE", record.field("artifacts").field("store"), setText(&cfg.Record.Artifacts.Store)},
		{envPrefix + "GUARD_MODE", guard.field("mode"), setText(&cfg.Guard.Mode)},
		{envPrefix + "GUARD_TOOLS", guard.field("tools"), setTools(&cfg.Guard.Tools)},
		{envPrefix + "GUARD_REQUEST_LIFETIME", guard.field("request_lifetime"), setDuration(&cfg.Guard.RequestLifetime, "168h")},
		{envPrefix + "GUARD_CHECK_AGE", guard.field("check_age"), setDuration(&cfg.Guard.CheckAge, "30s")},
		{envPrefix + "GUARD_CHECK_TIMEOUT", guard.field("check_timeout"), setDuration(&cfg.Guard.CheckTimeout, "5s")},
		{envPrefix + "GUARD_CHECK_DEADLINE", guard.field("check_deadline"), setDuration(&cfg.Guard.CheckDeadline, "15s")},
		{envPrefix + "GUARD_MIN_CONFIDENCE", guard.field("min_confidence"), func(v string) (string, string) {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return quote(v) + " is not a number", "write for example 0.5"
			}
			cfg.Guard.MinConfidence = &f
			return "", ""
		}},
		{envPrefix + "BIGQUERY_PROJECT", bigquery.field("project"), setText(&cfg.BigQuery.Project)},
		{envPrefix + "BIGQUERY_DATASET", bigquery.field("dataset"), setText(&cfg.BigQuery.Dataset)},
		{envPrefix + "BIGQUERY_LOCATION", bigquery.field("location"), setText(&cfg.BigQuery.Location)},
		{envPrefix + "BIGQUERY_TABLE", bigquery.field("table"), setText(&cfg.BigQuery.Table)},
	}
}

func setText[S ~string](dst *S) func(string) (string, string) {
	return func(v string) (string, string) {
		*dst = S(v)
		return "", ""
	}
}

func setDuration(dst *time.Duration, example string) func(string) (string, string) {
	return func(v string) (problem, remedy string) {
		d, problem, remedy := parseDuration(v, example)
		if problem == "" {
			*dst = d
		}
		return problem, remedy
	}
}

func setSize(dst *int64, example string) func(string) (string, string) {
	return func(v string) (problem, remedy string) {
		n, problem, remedy := parseSize(v, example)
		if problem == "" {
			*dst = n
		}
		return problem, remedy
	}
}

// setTools reads a comma-separated list. It must keep the tools that the file
// lists: a variable is set far from the review that a file gets, and only code
// can remove a gate.
func setTools(dst *[]string) func(string) (string, string) {
	return func(v string) (problem, remedy string) {
		var tools []string
		for name := range strings.SplitSeq(v, ",") {
			tools = append(tools, strings.TrimSpace(name))
		}
		for _, name := range *dst {
			if !slices.Contains(tools, name) {
				return "leaves out " + quote(name) + ", which the file lists",
					"add it: the environment can put tools behind the gate, only code can take one away"
			}
		}
		*dst = tools
		return "", ""
	}
}

// apply puts the variables over what the file says.
func (env *environment) apply(cfg *Config, p *problems) {
	list := overrides(cfg)
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
			p.errs = append(p.errs, &ConfigError{Variable: o.variable, Key: o.key.file, Problem: problem, Remedy: remedy})
			continue
		}
		p.override(o.key, o.variable)
	}

	var unknown []string
	for name := range env.values {
		if strings.HasPrefix(name, envPrefix) && name != tokenVariable && !slices.Contains(known, name) && !env.used[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		remedy := "known variables: " + strings.Join(known, ", ")
		if meant := closest(name, known); meant != "" {
			remedy = "did you mean " + meant + "? Known variables: " + strings.Join(known, ", ")
		}
		p.errs = append(p.errs, &ConfigError{Variable: name, Problem: "unknown variable", Remedy: remedy})
	}
}

// expand replaces every ${VAR} in text. What it reports names variables, never
// their values.
func (d *decoder) expand(k keyPath, at position, text string) (string, bool) {
	var b strings.Builder
	ok := true
	fail := func(variable, problem, remedy string) {
		ok = false
		d.reported[k.file] = true
		d.errs = append(d.errs, &ConfigError{
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

func isVariable(name string) bool {
	for i, c := range name {
		if !isLetter(c) && c != '_' && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return name != "" && len(name) <= 128
}
