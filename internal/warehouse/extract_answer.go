// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Answer is what a model said about one row, read.
type Answer struct {
	// Entities are distinct by type and value and valid, with [entity.SourceModel].
	// A confidence that the model did not give as a number from 0 to 1 is 0: an approval
	// that asks for some confidence does not rest on it.
	Entities []entity.Entity
	// Dropped counts what was answered and is no entity: of a type that was not asked
	// for, without a value, or with a value that cannot be shown.
	Dropped int
}

// ErrUnparseable is returned for an answer that holds no JSON array of entities.
var ErrUnparseable = errors.New("the answer holds no JSON array of entities")

// maxStarts bounds the places of an answer at which a JSON value is looked for.
const maxStarts = 64

// ReadAnswer reads the answer of a model to [ExtractInstructions]: a JSON array of
// objects, as it is, inside of a code fence, after some words, or as an object that has it
// under "entities"; one object counts as an array of one. An array that breaks off is
// [ErrUnparseable] as a whole: what is missing of it may be what matters.
//
// An entity type counts without regard to case and is returned as types spells it. A
// value may be a number. A confidence may be a number or a text such as "0.9" or "95%";
// any other is 0.
func ReadAnswer(answer string, types []string) (Answer, error) {
	items, ok := answerItems(answer)
	if !ok {
		return Answer{}, ErrUnparseable
	}
	var out Answer
	index := make(map[[2]string]int, len(items))
	for _, item := range items {
		e, ok := answeredEntity(item, types)
		if !ok {
			out.Dropped++
			continue
		}
		id := [2]string{e.Type, e.Value}
		i, known := index[id]
		if !known {
			index[id] = len(out.Entities)
			out.Entities = append(out.Entities, e)
			continue
		}
		out.Entities[i].Confidence = max(out.Entities[i].Confidence, e.Confidence)
	}
	return out, nil
}

// answerItems finds the array of an answer. Words around it must not turn into "no
// entities", so that an empty array counts only where it is all of the answer or of a
// code fence.
func answerItems(answer string) ([]json.RawMessage, bool) {
	answer = strings.TrimSpace(strings.TrimPrefix(answer, "\ufeff"))
	if items, ok := itemsOf(answer, true); ok {
		return items, true
	}
	for rest := answer; ; {
		_, body, found := strings.Cut(rest, "```")
		if !found {
			break
		}
		body, after, closed := strings.Cut(body, "```")
		body = strings.TrimLeft(body, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-")
		if items, ok := itemsOf(strings.TrimSpace(body), true); ok {
			return items, true
		}
		if !closed {
			break
		}
		rest = after
	}
	for i, starts := 0, 0; starts < maxStarts; starts++ {
		next := strings.IndexAny(answer[i:], "[{")
		if next < 0 {
			break
		}
		i += next
		if items, ok := itemsOf(answer[i:], false); ok && len(items) > 0 {
			return items, true
		}
		i++
		// An array that breaks off must not be read as the objects that are whole.
		if answer[i-1] == '[' && strings.HasPrefix(strings.TrimLeft(answer[i:], " \t\r\n"), "{") {
			break
		}
	}
	return nil, false
}

// itemsOf reads the JSON value at the start of s, and all of s when whole is true.
func itemsOf(s string, whole bool) ([]json.RawMessage, bool) {
	dec := json.NewDecoder(strings.NewReader(s))
	var value json.RawMessage
	if dec.Decode(&value) != nil {
		return nil, false
	}
	if whole {
		if _, err := dec.Token(); err != io.EOF {
			return nil, false
		}
	}
	switch value[0] {
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return nil, false
		}
		return items, whole && len(items) == 0 || holdsObject(items)
	case '{':
		var object struct {
			Entities   *[]json.RawMessage `json:"entities"`
			EntityType json.RawMessage    `json:"entity_type"`
		}
		if json.Unmarshal(value, &object) != nil {
			return nil, false
		}
		if object.Entities != nil {
			return *object.Entities, true
		}
		return []json.RawMessage{value}, object.EntityType != nil
	}
	return nil, false
}

func holdsObject(items []json.RawMessage) bool {
	for _, item := range items {
		if item[0] == '{' {
			return true
		}
	}
	return false
}

func answeredEntity(item json.RawMessage, types []string) (entity.Entity, bool) {
	var read struct {
		Type       string          `json:"entity_type"`
		Value      json.RawMessage `json:"entity_value"`
		Confidence json.RawMessage `json:"confidence"`
	}
	if json.Unmarshal(item, &read) != nil {
		return entity.Entity{}, false
	}
	e := entity.Entity{Value: strings.TrimSpace(answeredText(read.Value)), Confidence: confidence(read.Confidence), Source: entity.SourceModel}
	for _, t := range types {
		if t == strings.TrimSpace(read.Type) {
			e.Type = t
			break
		}
		if e.Type == "" && strings.EqualFold(t, strings.TrimSpace(read.Type)) {
			e.Type = t
		}
	}
	// Only an amount that names its currency is typed: what a number alone means is
	// known to a rule, not here.
	if v, err := entity.ParseMoney(e.Value, ""); err == nil && v.Currency() != "" {
		e.Norm = v
	}
	return e, e.Type != "" && e.Validate() == nil
}

// answeredText returns a text, or a number as it is written.
func answeredText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

func confidence(raw json.RawMessage) float64 {
	s, percent := strings.CutSuffix(strings.TrimSpace(answeredText(raw)), "%")
	c, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if percent {
		c /= 100
	}
	if err != nil || math.IsNaN(c) || c < 0 || c > 1 {
		return 0
	}
	return c
}
