// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// unique reports a name that an earlier entry of the same list has.
func unique(k Key, first map[string]int, name string, i int) {
	if name == "" {
		return
	}
	if j, ok := first[name]; ok {
		k.Wrong(Quote(name)+" is also that of entry ["+strconv.Itoa(j)+"]", "give each entry its own, or merge the two")
		return
	}
	first[name] = i
}

// name reports a name that is missing or that no event could ever hold.
func name(k Key, s, what string) {
	const longest = 256
	switch {
	case s == "":
		k.Wrong("missing", "write "+what)
	case strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl):
		k.Wrong(Quote(s)+" begins or ends with white space, or holds a control character", "write "+what)
	case strings.ContainsFunc(s, invisible):
		k.Wrong(strconv.QuoteToASCII(shorten(s))+" holds an invisible character, so it equals no name that looks like it", "write the name anew, without copying it")
	case len(s) > longest:
		k.Wrong(Quote(s)+" is longer than "+strconv.Itoa(longest)+" bytes", "write "+what)
	}
}

// invisible reports whether a character has no form of its own on a screen: format characters such
// as a zero-width space, and other default-ignorable code points of Unicode.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		unicode.IsSpace(r) && r != ' '
}

// names reports what is wrong with a list of names, each there once. A nil also
// means nothing else is wrong with one.
func names(k Key, list []string, what string, also func(Key, string)) {
	first := make(map[string]int)
	for i, s := range list {
		at := k.Index(i)
		name(at, s, what)
		unique(at, first, s, i)
		if also != nil {
			also(at, s)
		}
	}
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Quote(s)
	}
	return out
}

const lowerNameRemedy = "use lower-case letters, digits and underscores, beginning with a letter"

func attributeName(k Key, name string) {
	if !entity.IsAttributeName(name) {
		k.Wrong(Quote(name)+" is not the name of an attribute", lowerNameRemedy)
	}
}

func entityType(k Key, s string) {
	const remedy = "a type of entity, for example Product"
	name(k, s, remedy)
	if err := (entity.Entity{Type: s, Value: "x"}).Validate(); err != nil {
		k.Wrong(Quote(s)+" is not a type: "+err.Error(), "write "+remedy)
	}
}

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

func checkKind(kindKey, currencyKey Key, kind entity.Kind, currency string) {
	if kind > entity.KindTime {
		kindKey.Wrong(kind.String()+" is not a type of value", oneOf(kindNames()...))
	}
	switch {
	case currency == "":
	case !currencyCode.MatchString(currency):
		currencyKey.Wrong(Quote(currency)+" is not a currency code", "write three capital letters, for example USD")
	case kind != entity.KindMoney && !kindKey.Failed():
		currencyKey.Wrong("given for a value that is not money", "write the type money, or remove the currency")
	}
}

// checkDuration reports a duration that is negative or above most.
func checkDuration(k Key, d, most time.Duration) {
	switch {
	case d < 0:
		k.Wrong(FormatDuration(d)+" is negative", "write a positive duration, or leave it out for the default")
	case d > most:
		k.Wrong(FormatDuration(d)+" is too long", "write at most "+FormatDuration(most))
	}
}

// checkSize reports a number of bytes that is set and below least or, unless most
// is 0, above most.
func checkSize(k Key, v, least, most Size) {
	switch {
	case v < 0:
		k.Wrong(v.String()+" is negative", "write at least "+least.String()+", or leave it out for the default")
	case v != 0 && v < least:
		k.Wrong(v.String()+" is too small", "write at least "+least.String())
	case most != 0 && v > most:
		k.Wrong(v.String()+" is too large", "write at most "+most.String())
	}
}

// unit reports a number that is not from 0 to 1, unless it is not set.
func unit(k Key, v *float64) {
	if v != nil && !(*v >= 0 && *v <= 1) {
		k.Wrong(format(*v)+" is out of range", "write a number from 0 to 1")
	}
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// CheckPath reports a text at path that is not a JSONPath.
func CheckPath(path, jsonPath string) []Problem {
	if jsonPath == "" {
		return []Problem{{path, "no path is given", "write a JSONPath, for example $.name"}}
	}
	parsed, err := jsonpath.Parse(jsonPath)
	if err != nil {
		return []Problem{{path, Quote(jsonPath) + " is not a JSONPath (RFC 9535): " + strings.TrimPrefix(err.Error(), "jsonpath: "), "write for example $.name or $.items[*]"}}
	}
	if costly(parsed) {
		return []Problem{{path, Quote(jsonPath) + " may take hours on a long answer", "write one \"..\" at most and none in a filter; a path from $ in a filter may name one value only"}}
	}
	return nil
}

func checkPath(k Key, path string) {
	for _, p := range CheckPath("", path) {
		k.Wrong(p.Text, p.Remedy)
	}
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

// checkPattern reports a malformed pattern of names.
func checkPattern(k Key, s string) {
	if text.CheckPattern(s) != nil {
		k.Wrong(Quote(s)+" is not a pattern", `close every [ and end no pattern with \, as in provision_* or [a-z]*`)
	}
}
