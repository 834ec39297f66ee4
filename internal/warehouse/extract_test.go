// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

func TestExtractEndpoint(t *testing.T) {
	for _, c := range []struct {
		name, model, location, dataset, billing, want string
	}{
		{"US", "gemini-2.5-flash", "", "US", "", "https://us-central1-aiplatform.googleapis.com/v1/projects/my-project/locations/us-central1/publishers/google/models/gemini-2.5-flash"},
		{"EU", "gemini-2.5-flash", "", "EU", "", "https://europe-west4-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-2.5-flash"},
		{"region of the dataset", "gemini-2.5-pro", "", "europe-west3", "", "https://europe-west3-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west3/publishers/google/models/gemini-2.5-pro"},
		{"region of its own", "gemini-2.5-pro", "asia-northeast1", "EU", "", "https://asia-northeast1-aiplatform.googleapis.com/v1/projects/my-project/locations/asia-northeast1/publishers/google/models/gemini-2.5-pro"},
		{"global", "gemini-2.5-flash", "global", "EU", "", "https://aiplatform.googleapis.com/v1/projects/my-project/locations/global/publishers/google/models/gemini-2.5-flash"},
		{"multi-region", "gemini-3-flash", "EU", "EU", "", "https://aiplatform.eu.rep.googleapis.com/v1/projects/my-project/locations/eu/publishers/google/models/gemini-3-flash"},
		{"billed elsewhere", "gemini-2.5-flash", "us", "US", "other-project", "https://aiplatform.us.rep.googleapis.com/v1/projects/other-project/locations/us/publishers/google/models/gemini-2.5-flash"},
		{"three numbers", "gemini-2.5.1-flash", "global", "US", "", "https://aiplatform.googleapis.com/v1/projects/my-project/locations/global/publishers/google/models/gemini-2.5.1-flash"},
		{"version", "gemini-2.0-flash@001", "global", "US", "", "https://aiplatform.googleapis.com/v1/projects/my-project/locations/global/publishers/google/models/gemini-2.0-flash@001"},
		{"URL", "https://europe-west9-aiplatform.googleapis.com/v1/projects/p/locations/europe-west9/endpoints/12", "global", "US", "", "https://europe-west9-aiplatform.googleapis.com/v1/projects/p/locations/europe-west9/endpoints/12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config.BigQuery{Project: "my-project", BillingProject: c.billing, Dataset: "d", Location: "asia-south1", Extract: config.Extraction{Model: c.model, Location: c.location}}
			got, err := warehouse.ExtractEndpoint(cfg, c.dataset)
			if err != nil || got != c.want {
				t.Errorf("ExtractEndpoint() = %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestExtractEndpointRefuses(t *testing.T) {
	for model, say := range map[string]string{
		"http://aiplatform.googleapis.com/v1/x":      "https://",
		"ftp://x/y":                                  "https://",
		"https://":                                   "host and a path",
		"https://x.example":                          "host and a path",
		"https://x.example/a' OR":                    "host and a path",
		"https://x.example/a\\":                      "host and a path",
		"https://x.example/a\n":                      "host and a path",
		"a.b.c":                                      "remote model of BigQuery ML",
		"my-project.my_dataset.my_model":             "remote model of BigQuery ML",
		"`my-project.my_dataset.my_model`":           "remote model of BigQuery ML",
		"example.com:my-project.my_dataset.my_model": "remote model of BigQuery ML",
		"gemini'":                                    "name of a Gemini model",
		"gemini 2.5":                                 "name of a Gemini model",
		"Gemini-2.5-Flash":                           "name of a Gemini model",
		"projects/p/locations/l/publishers/google/models/m": "name of a Gemini model",
		strings.Repeat("g", 2000):                           "longer",
	} {
		cfg := config.BigQuery{Project: "my-project", Dataset: "d", Extract: config.Extraction{Model: model}}
		got, err := warehouse.ExtractEndpoint(cfg, "US")
		var name *warehouse.NameError
		if !errors.As(err, &name) || !strings.Contains(err.Error(), say) || len(err.Error()) > 400 {
			t.Errorf("ExtractEndpoint() of %.60q = %q, %v, want an error with %q", model, got, err, say)
		}
	}
	if _, err := warehouse.ExtractEndpoint((config.BigQuery{Project: "my-project", Dataset: "d"}), "US"); !errors.Is(err, warehouse.ErrNoModel) {
		t.Errorf("without a model: %v", err)
	}
	for _, location := range []string{"us'", "a b", "-", "us/../x"} {
		cfg := config.BigQuery{Project: "my-project", Dataset: "d", Extract: config.Extraction{Model: "gemini-2.5-flash", Location: location}}
		if got, err := warehouse.ExtractEndpoint(cfg, "US"); err == nil {
			t.Errorf("location %q gives %q", location, got)
		}
		cfg.Extract.Location = ""
		if got, err := warehouse.ExtractEndpoint(cfg, location); err == nil {
			t.Errorf("a dataset in %q gives %q", location, got)
		}
	}
	// Location is where a new dataset is made, and says nothing about the one there is.
	cfg := config.BigQuery{Project: "my-project", Dataset: "d", Location: "EU", Extract: config.Extraction{Model: "gemini-2.5-flash"}}
	if got, err := warehouse.ExtractEndpoint(cfg, ""); err == nil || !strings.Contains(err.Error(), "extract.location") {
		t.Errorf("without any location: %q, %v", got, err)
	}
}

func TestExtractConnection(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "us.gemini": true, "europe-west3.my_conn-1": true, "my-project.eu.gemini": true,
		"gemini": false, "a.b.c.d": false, "us.": false, ".x": false, "us.x'": false, "p.us.x": false, "my-project.us.x y": false, "us.x\n": false,
	} {
		got, err := warehouse.ExtractConnection(config.BigQuery{Extract: config.Extraction{Connection: name}})
		if (err == nil) != ok || ok && got != name {
			t.Errorf("connection %q = %q, %v", name, got, err)
		}
	}
}

func TestExtractorID(t *testing.T) {
	base := config.Extraction{Model: "m", EntityTypes: []string{"A", "B"}}
	same := []config.Extraction{
		{Model: "m", EntityTypes: []string{"B", "A"}},
		{Model: "m", EntityTypes: []string{"A", "B", "A"}, Location: "eu", Connection: "us.x", MaxRows: 5, PlainText: true},
	}
	for _, c := range same {
		if warehouse.ExtractorID(c) != warehouse.ExtractorID(base) {
			t.Errorf("%+v has another id than %+v", c, base)
		}
	}
	for _, c := range []config.Extraction{{Model: "n", EntityTypes: []string{"A", "B"}}, {Model: "m", EntityTypes: []string{"A"}}, {Model: "mA", EntityTypes: []string{"B"}}} {
		if warehouse.ExtractorID(c) == warehouse.ExtractorID(base) {
			t.Errorf("%+v has the id of %+v", c, base)
		}
	}
}

func answered(typ, value string, confidence float64) entity.Entity {
	e := entity.Entity{Type: typ, Value: value, Confidence: confidence, Source: entity.SourceModel}
	if v, err := entity.ParseMoney(value, ""); err == nil && v.Currency() != "" {
		e.Norm = v
	}
	return e
}

func TestReadAnswer(t *testing.T) {
	reels := `{"entity_type": "Product", "entity_value": "Instagram Reels", "confidence": 0.97}`
	one := []entity.Entity{answered("Product", "Instagram Reels", 0.97)}
	for _, c := range []struct {
		name, answer string
		want         []entity.Entity
		dropped      int
	}{
		{"array", "[" + reels + "]", one, 0},
		{"empty", "[]", nil, 0},
		{"empty in a fence", "```json\n[]\n```", nil, 0},
		{"schema", `{"entities": [` + reels + `]}`, one, 0},
		{"schema, empty", `{"entities": []}`, nil, 0},
		{"fence", "```json\n[" + reels + "]\n```", one, 0},
		{"fence without a language", "```\n[" + reels + "]```", one, 0},
		{"fence that never ends", "```json\n[" + reels + "]", one, 0},
		{"line before the fence", "\n  ```json\n[" + reels + "]\n```\n", one, 0},
		{"preamble before the fence", "Here is the list [as asked]:\n```json\n[" + reels + "]\n```\nAnything else?", one, 0},
		{"second fence", "```sh\nls\n```\n```json\n[" + reels + "]\n```", one, 0},
		{"preamble", "Sure! [1] The entities are: [" + reels + "] - done.", one, 0},
		{"one object", reels, one, 0},
		{"one object in words", "It is " + reels + ".", one, 0},
		{"byte order mark", "\ufeff[" + reels + "]", one, 0},
		{"case of the type", `[{"entity_type": " product ", "entity_value": "Instagram Reels", "confidence": 0.97}]`, one, 0},
		{"unknown type", "[" + reels + `, {"entity_type": "Person", "entity_value": "Bob", "confidence": 1}]`, one, 1},
		{"no value", "[" + reels + `, {"entity_type": "Product"}, {"entity_type": "Product", "entity_value": "  "}, {"entity_type": "Product", "entity_value": null}, {"entity_value": "x"}]`, one, 4},
		{"no objects", "[" + reels + `, "Product", 7, null, {"entity_type": ["Product"], "entity_value": "x"}, {"entity_type": "Product", "entity_value": {"a": 1}}]`, one, 5},
		{"hidden characters", "[" + reels + `, {"entity_type": "Product", "entity_value": "Reels\u202egnp", "confidence": 1}]`, one, 1},
		{"too long", "[" + reels + `, {"entity_type": "Product", "entity_value": "` + strings.Repeat("x", 2000) + `"}]`, one, 1},
		{"number as a value", `[{"entity_type": "Budget", "entity_value": 50000, "confidence": 1}]`, []entity.Entity{answered("Budget", "50000", 1)}, 0},
		{"money", `[{"entity_type": "Budget", "entity_value": "$50,000", "confidence": 1}]`, []entity.Entity{answered("Budget", "$50,000", 1)}, 0},
		{"unicode", `[{"entity_type": "Product", "entity_value": "Приложение 🛒 広告", "confidence": 1}]`, []entity.Entity{answered("Product", "Приложение 🛒 広告", 1)}, 0},
		{"twice", `[{"entity_type": "Product", "entity_value": "A", "confidence": "?"}, {"entity_type": "Product", "entity_value": "A", "confidence": 0.9}, {"entity_type": "Product", "entity_value": "A", "confidence": 0.4}]`, []entity.Entity{answered("Product", "A", 0.9)}, 0},
		{
			"confidences",
			`[{"entity_type": "Product", "entity_value": "a", "confidence": "0.9"},
			  {"entity_type": "Product", "entity_value": "b", "confidence": "95%"},
			  {"entity_type": "Product", "entity_value": "c", "confidence": "high"},
			  {"entity_type": "Product", "entity_value": "d", "confidence": 95},
			  {"entity_type": "Product", "entity_value": "e", "confidence": -1},
			  {"entity_type": "Product", "entity_value": "f", "confidence": null},
			  {"entity_type": "Product", "entity_value": "g"},
			  {"entity_type": "Product", "entity_value": "h", "confidence": "NaN"},
			  {"entity_type": "Product", "entity_value": "i", "confidence": true},
			  {"entity_type": "Product", "entity_value": "j", "confidence": 0}]`,
			[]entity.Entity{
				answered("Product", "a", 0.9), answered("Product", "b", 0.95), answered("Product", "c", 0), answered("Product", "d", 0), answered("Product", "e", 0),
				answered("Product", "f", 0), answered("Product", "g", 0), answered("Product", "h", 0), answered("Product", "i", 0), answered("Product", "j", 0),
			}, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := warehouse.ReadAnswer(c.answer, []string{"Product", "Budget"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(warehouse.Answer{Entities: c.want, Dropped: c.dropped}, got, cmp.Comparer(func(a, b entity.Value) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// An answer that does not say what there is must not count as "there is nothing":
// the row would never be read again.
func TestReadAnswerRefuses(t *testing.T) {
	for _, answer := range []string{
		"", "   ", "null", "true", "7", `"[]"`, "{}", "No entities.", "There are none: []", "I was told to return [].",
		"I cannot help with that.", `[{"entity_type": "Product", "entity_value": "A"`, `[{"entity_type": "Product", "entity_value": "A"}, {"entity_ty`,
		"```json\n[{\"entity_type\": \"Pro", `{"entities": null}`, `{"entities": "A"}`, `["Product"]`, "[1, 2]", `{"error": "quota"}`, strings.Repeat("[", 100_000),
	} {
		if got, err := warehouse.ReadAnswer(answer, []string{"Product"}); !errors.Is(err, warehouse.ErrUnparseable) {
			t.Errorf("ReadAnswer(%.60q) = %+v, %v, want ErrUnparseable", answer, got, err)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{"", "[]", "```json\n[]\n```", `[{"entity_type":"Product","entity_value":"A","confidence":"95%"}]`, `x {"entities":[{}]}`, "[[{", "{\"entity_type\":{}}"} {
		f.Add(s)
	}
	types := []string{"Product", "Budget"}
	f.Fuzz(func(t *testing.T, answer string) {
		got, err := warehouse.ReadAnswer(answer, types)
		if err != nil && (len(got.Entities) > 0 || got.Dropped > 0) {
			t.Errorf("both %+v and %v", got, err)
		}
		seen := make(map[[2]string]bool)
		var again []map[string]any
		for _, e := range got.Entities {
			if err := e.Validate(); err != nil {
				t.Error(err)
			}
			if e.Source != entity.SourceModel || e.Type != "Product" && e.Type != "Budget" || seen[[2]string{e.Type, e.Value}] {
				t.Errorf("%+v", e)
			}
			seen[[2]string{e.Type, e.Value}] = true
			again = append(again, map[string]any{"entity_type": e.Type, "entity_value": e.Value, "confidence": fmt.Sprint(e.Confidence)})
		}
		if again == nil {
			return
		}
		text, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := warehouse.ReadAnswer(string(text), types); err != nil || len(second.Entities) != len(got.Entities) {
			t.Errorf("read again: %+v, %v", second, err)
		}
	})
}
