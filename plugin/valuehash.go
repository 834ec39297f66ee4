// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"google.golang.org/genai"
)

// valueHash hashes the content of a value: every text, number and list in it, at any depth. Two
// values that are written in different ways have the same hash only by chance, at odds of one to
// 2^64. The hash does not depend on addresses. So it is the same for a value that is made anew for
// each request, and another one after any change in place.
//
// It is exact only for types that it knows to the last field. For a value of any other type there is
// no hash: code of the host may write it, from anything.
type valueHash struct {
	hashSeed
	// left is how many values it still looks at.
	left int
	// bytes counts those of the strings in the value.
	bytes int
	// foreign is set by a value of a type that it does not know.
	foreign bool
}

// hashSeed makes the hashes of a process differ from those of others, so that nobody can make two
// values for one hash.
type hashSeed struct {
	seed maphash.Seed
	keys [2]uint64
	// known says that the types of schemas have the fields that are hashed, and no others. A host
	// may use a later version of their packages.
	known bool
}

func newHashSeed() hashSeed {
	return hashSeed{
		seed: maphash.MakeSeed(), keys: [2]uint64{rand.Uint64(), rand.Uint64()},
		known: reflect.TypeFor[jsonschema.Schema]().NumField() == 65 && reflect.TypeFor[genai.Schema]().NumField() == 22,
	}
}

// begin forgets the value before. values is how many values it looks at.
func (s *valueHash) begin(values int) { s.left, s.bytes, s.foreign = values, 0, false }

// whole reports whether the hash covers all of the value.
func (s *valueHash) whole() bool { return !s.foreign && s.left >= 0 }

// visit counts a value, and reports whether to look into it.
func (s *valueHash) visit() bool { return s.visits(1) }

// visits does the same for n values.
func (s *valueHash) visits(n int) bool {
	s.left -= n
	return s.whole()
}

// The parts of a value are mixed one after the other, each with a number that is its place. An empty
// part is left out.

// mix is the function that Go's runtime mixes hashes with.
func (s *hashSeed) mix(h, place, part uint64) uint64 {
	hi, lo := bits.Mul64(h^place^s.keys[0], part^s.keys[1])
	return hi ^ lo
}

// of hashes texts of a kind. Two lists have the same hash by chance at odds of one to 2^64.
func (s *hashSeed) of(kind string, texts ...string) uint64 {
	h := s.hash(kind)
	for _, t := range texts {
		h = s.mix(h, 0, s.hash(t))
	}
	return h
}

// hash hashes a text. Most keys and values are short, which takes half the time of others: their first
// and last bytes are all there are.
func (s *hashSeed) hash(v string) uint64 {
	switch n := len(v); {
	case n > 32:
		return maphash.String(s.seed, v)
	case n > 16:
		in := s.mix(eight(v), 0, eight(v[8:]))
		return s.mix(in, s.mix(eight(v[n-16:]), 1, eight(v[n-8:])), uint64(n))
	case n >= 8:
		return s.mix(s.mix(uint64(n), 0, eight(v)), 0, eight(v[n-8:]))
	case n >= 4:
		return s.mix(uint64(n), 0, four(v)<<32|four(v[n-4:]))
	case n > 0:
		return s.mix(uint64(n), 0, uint64(v[0])|uint64(v[n/2])<<8|uint64(v[n-1])<<16)
	}
	return 0
}

func eight(v string) uint64 { return four(v) | four(v[4:])<<32 }

func four(v string) uint64 {
	return uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16 | uint64(v[3])<<24
}

func (s *valueHash) str(h, place uint64, v string) uint64 {
	if v == "" {
		return h
	}
	return s.text(h, place, v)
}

func (s *valueHash) text(h, place uint64, v string) uint64 {
	s.bytes += len(v)
	return s.mix(h, place, s.hash(v))
}

func (s *valueHash) raw(h, place uint64, v json.RawMessage) uint64 {
	if v == nil {
		return h
	}
	s.bytes += len(v)
	return s.mix(h, place, maphash.Bytes(s.seed, v))
}

func (s *valueHash) flag(h, place uint64, v bool) uint64 {
	if !v {
		return h
	}
	return s.mix(h, place, 1)
}

func number[T int | int64](s *valueHash, h, place uint64, v *T) uint64 {
	if v == nil {
		return h
	}
	return s.mix(h, place, uint64(*v))
}

func (s *valueHash) float(h, place uint64, v *float64) uint64 {
	if v == nil {
		return h
	}
	return s.mix(h, place, math.Float64bits(*v))
}

func (s *valueHash) strs(h, place uint64, v []string) uint64 {
	if v == nil {
		return h
	}
	return s.texts(h, place, v)
}

func (s *valueHash) texts(h, place uint64, list []string) uint64 {
	var in uint64
	for _, v := range list {
		in = s.text(in, 1, v)
	}
	return s.mix(h, place, s.mix(in, 0, uint64(len(list))))
}

func list[V any](s *valueHash, h, place uint64, v []V, of func(*valueHash, V) uint64) uint64 {
	if v == nil {
		return h
	}
	return elements(s, h, place, v, of)
}

// elements hashes a list. of hashes one element.
func elements[V any](s *valueHash, h, place uint64, v []V, of func(*valueHash, V) uint64) uint64 {
	var in uint64
	for _, e := range v {
		in = s.mix(in, 1, of(s, e))
	}
	return s.mix(h, place, s.mix(in, 0, uint64(len(v))))
}

func mapping[V any](s *valueHash, h, place uint64, m map[string]V, of func(*valueHash, V) uint64) uint64 {
	if m == nil {
		return h
	}
	return members(s, h, place, m, of)
}

// members hashes a map. The sum over its members does not depend on their order, which is another one
// each time.
func members[V any](s *valueHash, h, place uint64, m map[string]V, of func(*valueHash, V) uint64) uint64 {
	var in uint64
	for k, v := range m {
		s.bytes += len(k)
		in += s.mix(s.hash(k), 0, of(s, v))
	}
	return s.mix(h, place, s.mix(in, 0, uint64(len(m))))
}

// The kinds of values of any type.
const (
	kindNil uint64 = iota
	kindString
	kindBool
	kindFloat
	kindInt
	kindNumber
	kindRaw
	kindMap
	kindList
	kindStrings
	kindSchema
	kindGenai
	kindDeclaration
)

// object hashes a map with values of any type. Results are mostly such maps. It hashes values of the
// most frequent types without a call, which saves a third of the time.
func (s *valueHash) object(m map[string]any) uint64 {
	if m == nil || !s.visits(len(m)) {
		return 0
	}
	var in uint64
	for k, v := range m {
		var h uint64
		switch v := v.(type) {
		case string:
			s.bytes += len(v)
			h = s.hash(v) + kindString
		case float64:
			h = s.mix(math.Float64bits(v), 0, kindFloat)
		case bool:
			h = kindBool
			if v {
				h = ^kindBool
			}
		default:
			h = s.value(v)
		}
		s.bytes += len(k)
		in += s.mix(s.hash(k), 0, h)
	}
	return s.mix(in, 1, uint64(len(m)))
}

// value hashes a value of any type.
func (s *valueHash) value(v any) uint64 {
	if !s.visit() {
		return 0
	}
	switch v := v.(type) {
	case nil:
		return kindNil
	case string:
		return s.text(0, kindString, v)
	case bool:
		return s.flag(s.mix(0, kindBool, 0), 1, v)
	case float64:
		return s.mix(0, kindFloat, math.Float64bits(v))
	case int:
		return s.mix(0, kindInt, uint64(v))
	case int64:
		return s.mix(0, kindInt, uint64(v))
	case json.Number:
		return s.text(0, kindNumber, string(v))
	case json.RawMessage:
		return s.raw(0, kindRaw, v)
	case map[string]any:
		return s.mix(1, kindMap, s.object(v))
	case []any:
		return list(s, 1, kindList, v, (*valueHash).value)
	case []string:
		return s.strs(1, kindStrings, v)
	case *jsonschema.Schema:
		return s.mix(0, kindSchema, s.json(v))
	case *genai.Schema:
		return s.mix(0, kindGenai, s.genai(v))
	}
	s.foreign = true
	return 0
}
