// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"google.golang.org/genai"
)

// checkObject checks the arguments or the answer of an agent against its schema, as
// ADK does: every property is known and of its type, and none that is required is
// missing. what is "input" or "output".
func checkObject(object map[string]any, schema *genai.Schema, what string) error {
	for name, v := range object {
		property, ok := schema.Properties[name]
		if !ok {
			return fmt.Errorf("%s arg: '%q' does not exist in schema properties", what, name)
		}
		ok, err := isOfType(v, property, what)
		if err != nil {
			return fmt.Errorf("%s arg: '%q' validation failed: %w", what, name, err)
		}
		if !ok {
			return fmt.Errorf("%s arg: '%q' type mismatch, expected schema type %s, got value %v of type %T", what, name, property.Type, v, v)
		}
	}
	for _, name := range schema.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%q args does not contain required key: '%q'", what, name)
		}
	}
	return nil
}

func isOfType(v any, schema *genai.Schema, what string) (ok bool, err error) {
	if schema == nil {
		return false, fmt.Errorf("schema is nil")
	}
	if v == nil {
		return false, nil
	}
	switch genai.Type(strings.ToUpper(string(schema.Type))) {
	case genai.TypeString:
		_, ok = v.(string)
	case genai.TypeBoolean:
		_, ok = v.(bool)
	case genai.TypeNumber:
		_, ok = v.(float64)
	case genai.TypeInteger:
		f, number := v.(float64)
		ok = number && f == math.Trunc(f)
	case genai.TypeArray:
		return isArray(reflect.ValueOf(v), schema, what)
	case genai.TypeObject:
		object, isObject := v.(map[string]any)
		if !isObject {
			return false, nil
		}
		err = checkObject(object, schema, what)
		ok = err == nil
	default:
		err = fmt.Errorf("unsupported type: %s", schema.Type)
	}
	return ok, err
}

func isArray(v reflect.Value, schema *genai.Schema, what string) (bool, error) {
	if v.Kind() != reflect.Slice {
		return false, nil
	}
	if schema.Items == nil {
		return false, fmt.Errorf("array schema missing items definition")
	}
	for i := range v.Len() {
		ok, err := isOfType(v.Index(i).Interface(), schema.Items, what)
		if err != nil {
			return false, fmt.Errorf("array item %d: %w", i, err)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}
