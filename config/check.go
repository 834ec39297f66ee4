// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/text/paths"
)

// problems are the faults that a check finds. Of those of one value the first one counts.
type problems []Problem

// when adds a problem of the value at path if wrong holds.
func (p *problems) when(wrong bool, path, text, remedy string) {
	if wrong {
		*p = append(*p, Problem{path, text, remedy})
	}
}

// sorted calls each with the entries of the map at path, in the order of their names.
func sorted[V any](path string, m map[string]V, each func(at, name string, v V)) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		each(Entry(path, name), name, m[name])
	}
}

// word reports a word that is none of those that are known.
func word[W ~string](p *problems, path string, w W, problem string, known ...W) {
	p.when(w != "" && !slices.Contains(known, w), path, Quote(string(w))+" "+problem, choose(w, "write one of", known))
}

// name reports a name that is missing or that no event could ever hold.
func (p *problems) name(path, s, what string) {
	const longest = 256
	remedy := "write " + what
	p.when(s == "", path, "missing", remedy)
	p.when(strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl), path, Quote(s)+" begins or ends with white space, or holds a control character", remedy)
	p.when(strings.ContainsFunc(s, invisible), path, strconv.QuoteToASCII(shorten(s, longestValue))+" holds an invisible character, so it equals no name that looks like it", "write the name anew, without copying it")
	p.when(len(s) > longest, path, Quote(s)+" is longer than "+strconv.Itoa(longest)+" bytes", remedy)
}

// invisible reports whether a character has no form of its own on a screen: format characters such
// as a zero-width space, and other default-ignorable code points of Unicode.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		unicode.IsSpace(r) && r != ' '
}

// names reports what is wrong with a list of names, each there once.
func (p *problems) names(path string, list []string, what string) {
	for i, s := range list {
		p.name(Index(path, i), s, what)
	}
	p.unique(path, "", list)
}

// unique reports a name that an earlier entry of the list at path has. suffix leads from the entry
// to the name.
func (p *problems) unique(path, suffix string, names []string) {
	for i, s := range names {
		first := slices.Index(names, s)
		p.when(s != "" && first < i, Index(path, i)+suffix, Quote(s)+" is also that of entry ["+strconv.Itoa(first)+"]", "give each entry its own, or merge the two")
	}
}

const toolPattern = "the name of a tool, or a pattern such as provision_*"

const stateKey = "a key of the state of a session, or a pattern such as user:oauth_*"

// pattern reports a malformed pattern of names.
func (p *problems) pattern(path, s string) {
	p.when(text.CheckPattern(s) != nil, path, Quote(s)+" is not a pattern", `close every [ and end no pattern with \, as in provision_* or [a-z]*`)
}

// patterns reports what is wrong with a list of patterns.
func (p *problems) patterns(path string, list []string, what string) {
	for i, s := range list {
		p.pattern(Index(path, i), s)
	}
	p.names(path, list, what)
}

const lowerNameRemedy = "use lower-case letters, digits and underscores, beginning with a letter"

func (p *problems) attribute(path, name string) {
	p.when(!entity.IsAttributeName(name), path, Quote(name)+" is not the name of an attribute", lowerNameRemedy)
}

func (p *problems) entityType(path, s string) {
	const remedy = "a type of entity, for example Product"
	p.name(path, s, remedy)
	if err := (entity.Entity{Type: s, Value: "x"}).Validate(); err != nil {
		p.when(true, path, Quote(s)+" is not a type: "+err.Error(), "write "+remedy)
	}
	_, isSet := entity.ElementOf(s)
	p.when(isSet, path, Quote(s)+" is the type of the sets that look-ups show", "write "+remedy)
}

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// kind reports the type of the value at path, which stands under key, and its currency.
func (p *problems) kind(path, key string, kind entity.Kind, currency string) {
	isKind := kind <= entity.KindSet
	p.when(kind == entity.KindSet && key == "value_type", path+"."+key, "a set names no thing", "write one of: text, number, money, boolean, time")
	p.when(!isKind, path+"."+key, kind.String()+" is not a type of value", choose("", "write one of", kindNames()))
	if path += ".currency"; currency != "" {
		p.when(!currencyCode.MatchString(currency), path, Quote(currency)+" is not a currency code", "write three capital letters, for example USD")
		p.when(isKind && kind != entity.KindMoney, path, "given for a value that is not money", "write the type money, or remove the currency")
	}
}

func kindNames() (names []string) {
	for k := entity.KindText; k <= entity.KindSet; k++ {
		names = append(names, k.String())
	}
	return names
}

// duration reports a duration that is set and not from least to most.
func (p *problems) duration(path string, v, least, most time.Duration) {
	p.when(v < 0, path, FormatDuration(v)+" is negative", "write a positive duration"+orDefault)
	p.when(v != 0 && v < least, path, FormatDuration(v)+" is too short", "write at least "+FormatDuration(least)+orDefault)
	p.when(v > most, path, FormatDuration(v)+" is too long", "write at most "+FormatDuration(most))
}

// size reports a number of bytes that is set and not from least to most.
func (p *problems) size(path string, v, least, most Size) {
	p.when(v < 0, path, v.String()+" is negative", "write at least "+least.String()+orDefault)
	p.when(v != 0 && v < least, path, v.String()+" is too small", "write at least "+least.String())
	p.when(v > most, path, v.String()+" is too large", "write at most "+most.String())
}

// between reports a number that is not from least to most.
func (p *problems) between(path string, v, least, most float64) {
	p.when(!(v >= least && v <= most), path, format(v)+" is out of range", "write a number from "+format(least)+" to "+format(most))
}

// count reports a number that is set and not from 1 to most.
func (p *problems) count(path string, v, most int) {
	if v != 0 {
		p.between(path, float64(v), 1, float64(most))
	}
}

// unit reports a number that is not from 0 to 1, unless it is not set.
func (p *problems) unit(path string, v *float64) {
	if v != nil {
		p.between(path, *v, 0, 1)
	}
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// CheckPath reports a text at path that is not a JSONPath.
func CheckPath(path, jsonPath string) []Problem {
	var p problems
	p.when(jsonPath == "", path, "no path is given", "write a JSONPath, for example $.name")
	parsed, err := jsonpath.Parse(jsonPath)
	if err != nil {
		p.when(true, path, Quote(jsonPath)+" is not a JSONPath (RFC 9535): "+strings.TrimPrefix(err.Error(), "jsonpath: "), "write for example $.name or $.items[*]")
		return p
	}
	p.when(costly(parsed), path, Quote(jsonPath)+" may take hours on a long answer", "write one \"..\" at most and none in a filter; a path from $ in a filter may name one value only")
	return p
}

func (p *problems) jsonPath(path, jsonPath string) { *p = append(*p, CheckPath(path, jsonPath)...) }

// valuePath reports a path to a value of a kind that is no JSONPath. That to a set selects its elements.
func (p *problems) valuePath(path, jsonPath string, kind entity.Kind) {
	p.jsonPath(path, jsonPath)
	if parsed, err := jsonpath.Parse(jsonPath); err == nil && kind == entity.KindSet {
		p.when(parsed.Query().Singular() != nil, path, "selects one value, and a set has many", "write a path to its elements: "+jsonPath+"[*]")
	}
}

// optionalPath reports a text that is set and not a JSONPath.
func (p *problems) optionalPath(path, jsonPath string) {
	if jsonPath != "" {
		p.jsonPath(path, jsonPath)
	}
}

// plain reports the path of a rule over the arguments of an action that leaves elements out.
func (p *problems) plain(path, jsonPath string) {
	parsed, err := jsonpath.Parse(jsonPath)
	p.when(err == nil && !paths.Plain(parsed), path, Quote(jsonPath)+" may leave out what the action is about", "over the arguments of an action write names, indexes and [*] only")
}

// quotedName matches the names and the texts in a path as [jsonpath.Path.String] writes it,
// rootValue a path from the root to one value, with each name written as 0.
var (
	quotedName = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	rootValue  = regexp.MustCompile(`^\$(\[-?[0-9]+\])*([^.\[]|$)`)
)

// costly reports whether the time to evaluate a path may grow with the square of the document. No
// evaluation can be stopped, so none may take long.
func costly(path *jsonpath.Path) bool {
	text := quotedName.ReplaceAllString(path.String(), "0")
	var open []bool // the brackets around; true for a filter
	descends := 0
	for i := range len(text) {
		rest, filtered := text[i:], slices.Contains(open, true)
		switch {
		case text[i] == '[':
			open = append(open, strings.HasPrefix(rest, "[?"))
		case text[i] == ']':
			open = open[:max(len(open)-1, 0)]
		case strings.HasPrefix(rest, ".."):
			descends++
			if filtered || descends > 1 {
				return true
			}
		case text[i] == '$' && filtered && !rootValue.MatchString(rest):
			return true
		}
	}
	return false
}
