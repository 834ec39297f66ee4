// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/json"
	"fmt"
	"maps"
)

// A Reducer makes one value of what stands under a key of the state, nil for nothing, and the output of a node. See
// [Into]. It changes neither.
type Reducer func(before, output any) any

// Last keeps the output alone.
func Last(_, output any) any { return output }

// Append makes a list and puts the output behind it. A list that is an output is put behind as its elements.
func Append(before, output any) any {
	list := append([]any{}, listOf(before)...)
	return append(list, listOf(output)...)
}

// listOf returns a value as a list: a list as it is, nothing as an empty one.
func listOf(v any) []any {
	if v == nil {
		return nil
	}
	if list, ok := as[[]any](v); ok {
		return list
	}
	return []any{v}
}

// Merge puts the keys of an output that is a map over those that stand there. It panics if one of both is no map.
func Merge(before, output any) any {
	merged := make(map[string]any)
	for _, v := range []any{before, output} {
		m, ok := as[map[string]any](v)
		if !ok {
			panic(fmt.Sprintf("Merge: %T is no map", v))
		}
		maps.Copy(merged, m)
	}
	return merged
}

// Sum adds numbers. It panics if one is no number.
func Sum(before, output any) any {
	sum := 0.0
	for _, v := range []any{before, output} {
		x, ok := as[float64](v)
		if !ok {
			panic(fmt.Sprintf("Sum: %T is no number", v))
		}
		sum += x
	}
	return sum
}

// as returns a value as a T, as JSON has it. Nothing is the zero T.
func as[T any](v any) (to T, ok bool) {
	if x, is := v.(T); is {
		return x, true
	}
	data, err := json.Marshal(v)
	return to, err == nil && json.Unmarshal(data, &to) == nil
}
