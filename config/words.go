// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
)

// worded is a type with words as values.
type worded interface {
	// words returns what is wrong with any other word, and those that are known.
	words() (problem string, known []string)
}

func texts[S ~string](all ...S) (out []string) {
	for _, s := range all {
		out = append(out, string(s))
	}
	return out
}

func (Mode) words() (string, []string) { return "is not a mode", texts(ModeEnforce, ModeObserve) }
func (Unguarded) words() (string, []string) {
	return "is not known", texts(UnguardedWarn, UnguardedError)
}
func (Requirement) words() (string, []string) {
	return "is not a requirement", texts(RequireEverything, RequireNamed, RequireListed)
}
func (Direction) words() (string, []string) { return "is not a direction", texts(Either, Rise, Fall) }
func (Effect) words() (string, []string)    { return "is not an effect", texts(EffectBlock, EffectWarn) }
func (Unseen) words() (string, []string) {
	return "is not an answer to what is unseen", texts(UnseenDeny, UnseenAllow)
}
func (In) words() (string, []string) {
	return "is not a part of an event", texts(InResult, InArgs, InAction, InContent)
}
func (Durability) words() (string, []string) {
	return "is not a level of durability", texts(DurabilityMemory, DurabilityJournal, DurabilitySync)
}
func (OnFull) words() (string, []string) {
	return "does not say what a full queue does", texts(DropOldest, Block)
}
func (ContentPolicy) words() (string, []string) {
	return "is not a content policy", texts(ContentFull, ContentDigest, ContentNone)
}
func (PromptHistory) words() (string, []string) {
	return "does not say how much of a prompt is written", texts(PromptFull, PromptDelta)
}
func (Queries) words() (string, []string) {
	return "does not say how questions are asked", texts(QueriesAuto, QueriesGQL, QueriesRecursive)
}
func (PayloadColumn) words() (string, []string) {
	return "is not a column that may stay out of the dataset", texts(PayloadContent, PayloadContentParts, PayloadAttributes, PayloadLatency)
}

// checkWords reports each word at k and below that its type does not know.
func checkWords(k Key) {
	v := k.value
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			k.value = v.Elem()
			checkWords(k)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Tag.Get("yaml"); name != "" && name != "-" {
				checkWords(k.field(v.Type().Field(i), v.Field(i)))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkWords(k.Index(i))
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			value := reflect.New(v.Type().Elem())
			value.Elem().Set(entries.Value())
			checkWords(k.Entry(entries.Key().String(), value.Interface()))
		}
	case reflect.String:
		w, ok := v.Interface().(worded)
		if !ok || v.String() == "" {
			return
		}
		if problem, known := w.words(); !slices.Contains(known, v.String()) {
			k.Wrong(Quote(v.String())+" "+problem, choose(v.String(), known...))
		}
	}
}
