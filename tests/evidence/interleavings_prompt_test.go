// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"encoding/json"
	"fmt"
	"regexp"

	"google.golang.org/adk/v2/model"
)

var foreignResult = regexp.MustCompile("^\\[\\w+\\] `\\w+` tool returned result: (.*)$")

// shown returns the latest reading of each thing that the prompt shows, and the things for
// which it does not tell the order of the readings.
func (r *ramble) shown(req *model.LLMRequest) (latest map[string]reading, unsure map[string]bool) {
	latest, unsure = map[string]reading{}, map[string]bool{}
	place := 0
	foreign := map[string]bool{}
	take := func(result map[string]any, other bool) {
		for _, found := range resultReadings(result) {
			place++
			if before, again := latest[found.thing]; !r.numbered {
				// A result of another agent stands where its turn ended, not where it was read.
				foreign[found.thing] = foreign[found.thing] || other
				unsure[found.thing] = unsure[found.thing] || again && before.price != found.price && foreign[found.thing]
				found.serial = place
			}
			if found.serial > latest[found.thing].serial {
				latest[found.thing] = found
			}
		}
		id := refusalKey(result)
		for _, found := range refusedReadings(result) {
			found.serial = r.refusals[id]
			if !r.numbered {
				unsure[found.thing] = true
			} else if found.serial > latest[found.thing].serial {
				latest[found.thing] = found
			}
		}
	}
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				take(p.FunctionResponse.Response, false)
			} else if m := foreignResult.FindStringSubmatch(p.Text); m != nil {
				var result map[string]any
				if json.Unmarshal([]byte(m[1]), &result) == nil {
					take(result, true)
				}
			}
		}
	}
	return latest, unsure
}

// resultReadings returns what a result of search shows.
func resultReadings(result map[string]any) (out []reading) {
	var doc struct {
		Items []struct {
			Name, Price string
			N           int
		}
	}
	if result["items"] != nil && json.Unmarshal([]byte(encoded(result)), &doc) == nil {
		for _, i := range doc.Items {
			out = append(out, reading{i.Name, i.Price, i.N})
		}
	}
	return out
}

// refusalKey names a refusal: by its approval, or, where nobody was asked, by all that it says.
func refusalKey(result map[string]any) string {
	if id, _ := result["approval_id"].(string); id != "" {
		return id
	}
	return encoded(result)
}

// refusedReadings returns what a refusal after drift shows.
func refusedReadings(result map[string]any) (out []reading) {
	var doc struct {
		Alerts []struct{ Entity, After string }
	}
	if result["alerts"] != nil && json.Unmarshal([]byte(encoded(result)), &doc) == nil {
		for _, a := range doc.Alerts {
			out = append(out, reading{thing: a.Entity, price: a.After})
		}
	}
	return out
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(text)
}
