// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// scalar reads a single value.
func (d *decoder) scalar(k Key, n *yaml.Node, def reflect.Value) {
	f := formOf(k, def)
	s, ok := d.take(k, n, f.remedy(n), f.tags...)
	if !ok {
		return
	}
	problem, remedy := f.set(k.value, s)
	switch {
	case problem == "":
	case problem == otherType:
		d.wrongType(k, n, remedy)
	default:
		d.addAt(place(n), k, problem, remedy)
	}
}

// take returns the scalar at n if it has one of the tags.
func (d *decoder) take(k Key, n *yaml.Node, remedy string, tags ...string) (string, bool) {
	if !d.plain(k, n) {
		return "", false
	}
	if n.Kind == yaml.ScalarNode && slices.Contains(tags, n.ShortTag()) {
		return n.Value, true
	}
	d.wrongType(k, n, remedy)
	return "", false
}

// otherType is the problem of a text that has the tag of a type and is none.
const otherType = "\x00"

// form is how the values of a type are written.
type form struct {
	// tags are those that package yaml gives such a value.
	tags []string
	// remedy says what to write instead of another type of value.
	remedy func(n *yaml.Node) string
	// set sets v to the value of s, or reports the fault of s.
	set func(v reflect.Value, s string) (problem, remedy string)
}

// formOf returns the form of the single value at k.
func formOf(k Key, def reflect.Value) form {
	always := func(remedy string) func(*yaml.Node) string { return func(*yaml.Node) string { return remedy } }
	switch example := k.example(def); k.value.Interface().(type) {
	case time.Duration:
		remedy := "write for example " + example + " (units: ms, s, m, h, d)"
		return form{[]string{"!!str", "!!int"}, always(remedy), func(v reflect.Value, s string) (string, string) { return setDuration(v, s, remedy) }}
	case Size:
		remedy := "write for example " + example + " (units: KB, MB, GB, KiB, MiB, GiB; bytes without one)"
		return form{[]string{"!!str", "!!int"}, always(remedy), func(v reflect.Value, s string) (string, string) { return setSize(v, s, remedy) }}
	case int:
		remedy := "write a whole number, without quotes or a unit, for example " + example
		return form{[]string{"!!int"}, always(remedy), func(v reflect.Value, s string) (string, string) { return setCount(v, s, remedy) }}
	case bool, *bool:
		return form{[]string{"!!bool"}, always("write true or false, without quotes"), setBool}
	case float64, *float64:
		const remedy = "write a number, without quotes or a unit"
		return form{[]string{"!!int", "!!float"}, always(remedy), setNumber}
	case entity.Kind:
		return form{[]string{"!!str"}, textRemedy, setKind}
	}
	if k.value.Kind() == reflect.String {
		return form{[]string{"!!str"}, textRemedy, setText}
	}
	panic(fmt.Sprintf("config: %s has the type %s, which no file can hold", k.code, k.value.Type()))
}

// example returns how a value of k is written: its default, or the example in its tag.
func (k Key) example(def reflect.Value) string {
	if !def.IsValid() || def.IsZero() {
		return k.sample
	}
	switch v := def.Interface().(type) {
	case time.Duration:
		return FormatDuration(v)
	default:
		return fmt.Sprint(v)
	}
}

func textRemedy(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 {
		return `write a text; put quotes around one that begins with a brace, as "{value}"`
	}
	return "write a text; put quotes around it when it looks like a number, a boolean or a date"
}

// setText sets a text. Every optional text of a Config is unset when empty, so that an empty
// one in a file says nothing and is a mistake.
func setText(v reflect.Value, s string) (problem, remedy string) {
	if strings.TrimSpace(s) == "" {
		return "the text is empty", "write a value, or leave the key out"
	}
	v.SetString(s)
	return "", ""
}

func setBool(v reflect.Value, s string) (problem, remedy string) {
	is := strings.EqualFold(s, "true")
	if !is && !strings.EqualFold(s, "false") {
		return Quote(s) + " is not a boolean", "write true or false"
	}
	settle(v, reflect.ValueOf(is))
	return "", ""
}

func setNumber(v reflect.Value, s string) (problem, remedy string) {
	var n yaml.Node
	var f float64
	if err := yaml.Unmarshal([]byte(s), &n); err != nil || len(n.Content) != 1 || n.Content[0].ShortTag() == "!!null" ||
		n.Content[0].Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return otherType, "write a number, without quotes or a unit"
	}
	settle(v, reflect.ValueOf(f))
	return "", ""
}

// settle sets v, or the value that a new v points to.
func settle(v, to reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	v.Set(to)
}

// setDuration sets a duration. Zero would mean the default in a Config, which nobody who
// writes 0 expects.
func setDuration(v reflect.Value, s, example string) (problem, remedy string) {
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		return Quote(s) + " is not a duration", example
	case d <= 0:
		return Quote(s) + " is not a positive duration", example + ", or leave it out for the default"
	}
	v.SetInt(int64(d))
	return "", ""
}

// setSize sets a number of bytes. Zero would mean the default in a Config.
func setSize(v reflect.Value, s, example string) (problem, remedy string) {
	digits := s
	if i := strings.IndexFunc(s, func(c rune) bool { return !isDigit(c) }); i >= 0 {
		digits = s[:i]
	}
	scale, known, meant := unitOf(strings.TrimPrefix(s, digits))
	if digits == "" || !known {
		if digits != "" && meant != "" {
			return Quote(s) + " is not a size", "did you mean " + Quote(digits+meant) + "? Units: KB, MB, GB, KiB, MiB, GiB; bytes without one"
		}
		return Quote(s) + " is not a size", example
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || n > math.MaxInt64/scale:
		return Quote(s) + " is too large", example
	case n == 0:
		return Quote(s) + " is not a positive size", example + ", or leave it out for the default"
	}
	v.SetInt(n * scale)
	return "", ""
}

// unitOf returns the number of bytes of a unit. Where the unit is not known, it
// returns the one that was probably meant, or "".
func unitOf(s string) (scale int64, known bool, meant string) {
	if s == "" {
		return 1, true, ""
	}
	trimmed := strings.TrimSpace(s)
	for _, u := range sizeUnits {
		if s == u.name {
			return u.bytes, true, ""
		}
		if strings.EqualFold(trimmed, u.name) || strings.EqualFold(trimmed+"B", u.name) {
			meant = u.name
		}
	}
	return 0, false, meant
}

// setCount sets a positive whole number.
func setCount(v reflect.Value, s, example string) (problem, remedy string) {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return otherType, example
	case n <= 0:
		return Quote(s) + " is not a positive number", example + ", or leave it out for the default"
	}
	v.SetInt(int64(n))
	return "", ""
}

// setKind sets a type of value.
func setKind(v reflect.Value, s string) (problem, remedy string) {
	if problem, remedy = setText(reflect.New(reflect.TypeFor[string]()).Elem(), s); problem != "" {
		return problem, remedy
	}
	kind, err := entity.ParseKind(s)
	if err != nil || kind == entity.KindNone {
		return Quote(s) + " is not a type of value", oneOf(kindNames()...)
	}
	v.Set(reflect.ValueOf(kind))
	return "", ""
}

func kindNames() []string {
	kinds := []entity.Kind{entity.KindText, entity.KindNumber, entity.KindMoney, entity.KindBool, entity.KindTime}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.String()
	}
	return names
}

// secret reads a text in which ${VAR} stands for an environment variable. Its reports do not show
// the text.
func (d *decoder) secret(k Key, n *yaml.Node) {
	if !d.plain(k, n) {
		return
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value == "" {
		d.addAt(place(n), k, "found no text", "write a text in quotes, for example \"Bearer ${ADS_TOKEN}\"")
		return
	}
	if s, ok := d.expand(k, place(n), n.Value); ok {
		k.value.SetString(s)
	}
}

// operand reads the value of a condition: a text, a number or a boolean, and where the key
// takes it a list of these.
func (d *decoder) operand(k Key, n *yaml.Node) {
	if !k.lists || n.Kind != yaml.SequenceNode {
		if v := d.literal(k, n); v != nil {
			k.value.Set(reflect.ValueOf(v))
		}
		return
	}
	if !d.plain(k, n) {
		return
	}
	values := make([]any, len(n.Content))
	for i, node := range n.Content {
		at := k
		at.value = reflect.Value{}
		at = at.Index(i)
		d.at[at.file] = place(node)
		values[i] = d.literal(at, node)
	}
	if !slices.Contains(values, nil) { // each nil was reported
		k.value.Set(reflect.ValueOf(values))
	}
}

// literal returns a text, a number or a boolean; nil where n is none.
func (d *decoder) literal(k Key, n *yaml.Node) any {
	const remedy = `write a text, a number, a boolean or a JSONPath, for example 8 or $.cpus; put quotes around a date`
	s, ok := d.take(k, n, remedy, "!!str", "!!bool", "!!int", "!!float")
	if !ok {
		return nil
	}
	switch n.ShortTag() {
	case "!!str":
		if problem, remedy := setText(reflect.New(reflect.TypeFor[string]()).Elem(), s); problem != "" {
			d.addAt(place(n), k, problem, remedy)
			return nil
		}
		return s
	case "!!bool":
		return strings.EqualFold(s, "true")
	}
	if !json.Valid([]byte(s)) {
		d.addAt(place(n), k, s+" is not a decimal number", "write for example 8 or 0.5, or put quotes around it for a text")
		return nil
	}
	return json.Number(s)
}
