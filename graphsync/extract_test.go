// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// show writes an entity as "type value (source, confidence) attr=... uri".
func show(e entity.Entity) string {
	text, _ := json.Marshal(e.Confidence)
	s := e.Type + " " + e.Value + " (" + string(e.Source) + " " + string(text) + ")"
	for _, name := range []string{"availability", "price", "reach", "status"} {
		if v, ok := e.Attributes[name]; ok {
			s += " " + name + "=" + v.Canonical()
		}
	}
	return strings.TrimSpace(s + " " + e.ArtifactURI)
}

func shown(es []entity.Entity) []string {
	out := []string{}
	for _, e := range es {
		out = append(out, show(e))
	}
	return out
}

func row(t *testing.T, eventType, content string) record.Event {
	t.Helper()
	return record.Event{
		Seq: 1, Timestamp: baseTime, EventID: "e1", EventType: eventType, SessionID: "s1", UserID: "u1", AppName: "ads",
		TraceID: "t1", SpanID: "span1", Status: record.StatusOK, Content: []byte(content), Attributes: []byte(`{}`),
	}
}

// checkFold checks the entities of the spans, or that one row failed and gave none.
func checkFold(t *testing.T, want []string, fail string, s *graphsync.Session) {
	t.Helper()
	got, c := shown(s.Graph().Entities()), s.Counts()
	if fail == "" {
		diff(t, "entities", want, got)
		if c.Failed != 0 {
			t.Errorf("%d rows failed: %s", c.Failed, c.Error)
		}
	} else if c.Failed != 1 || len(got) != 0 || !strings.Contains(c.Error, fail) {
		t.Errorf("entities %v, %d rows failed: %q, want %q", got, c.Failed, c.Error, fail)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestExtractResult(t *testing.T) {
	rule := adRules()[0]
	rule.Attributes["reach"] = config.Attribute{Path: "$.reach", Type: entity.KindNumber, Optional: true}
	rule.Attributes["status"] = config.Attribute{Path: "$.state.now", Optional: true}
	x := compile(t, []config.Extract{rule})
	tests := []struct {
		name    string
		content string
		want    []string
		fail    string
		// unreadable says why an attribute of the thing A cannot be read.
		unreadable string
	}{
		{
			name: "two", content: `{"tool":"query_ad_inventory","result":{"placements":[
				{"name":"Reels","price":40000,"available":true,"reach":1e3,"config_uri":"gs://a/b"},{"name":"Strava","price":"€5.50"}]}}`,
			want: []string{
				"Product Reels (rule 0.97) availability=boolean:true price=money:40000:USD reach=number:1000 gs://a/b",
				"Product Strava (rule 0.97) price=money:5.5:EUR",
			},
		},
		{name: "each selects nothing", content: `{"tool":"query_ad_inventory","result":{"other":1}}`, want: []string{}},
		{name: "empty list", content: `{"tool":"query_ad_inventory","result":{"placements":[]}}`, want: []string{}},
		{name: "other tool", content: `{"tool":"other","result":{"placements":[{}]}}`, want: []string{}},
		{name: "tool failed", content: `{"tool":"query_ad_inventory","result":{"error":"no"}}`, want: []string{}},
		{name: "an error beside a result", content: `{"tool":"query_ad_inventory","result":{"error":"half","placements":[{"name":"A"}]}}`, want: []string{"Product A (rule 0.97)"}},
		{name: "one name for two things", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","price":1},{"name":"A","price":2}]}}`, unreadable: "price is $2 here and $1 before"},
		{name: "one thing twice", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","price":1},{"name":"A","price":1.0,"reach":3}]}}`, want: []string{"Product A (rule 0.97) price=money:1:USD reach=number:3"}},
		{name: "a redacted list", content: `{"tool":"query_ad_inventory","result":{"placements":"[REDACTED]"}}`, fail: "each $.placements[*]: it looks into what was redacted"},
		{name: "a redacted result", content: `{"tool":"query_ad_inventory","result":"[REDACTED]"}`, fail: "each $.placements[*]: it looks into what was redacted"},
		{name: "a redacted object", content: `{"tool":"query_ad_inventory","result":{"placements":["[REDACTED]"]}}`, fail: "value $.name"},
		{name: "a redacted part of it", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","state":"[REDACTED]"}]}}`, unreadable: "attribute status $.state.now: it looks into what was redacted"},
		{name: "redacted beside it", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","x":"[REDACTED]"}],"token":"[REDACTED]"}}`, want: []string{"Product A (rule 0.97)"}},
		{name: "null result", content: `{"tool":"query_ad_inventory","result":null}`, want: []string{}},
		{name: "null attribute", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","price":null,"config_uri":null}]}}`, want: []string{"Product A (rule 0.97)"}},
		{name: "number as name", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":7.0}]}}`, want: []string{"Product 7 (rule 0.97)"}},
		{name: "no value", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A"},{"title":"B"}]}}`, want: []string{"Product A (rule 0.97)"}, fail: "match 2 of each $.placements[*]: value $.name: it selects nothing"},
		{name: "value of a wrong type", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":true}]}}`, fail: "value $.name: true is a boolean"},
		{name: "null value", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":null}]}}`, fail: "value $.name: no value"},
		{name: "empty value", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":""}]}}`, fail: "value is empty"},
		{name: "price of a wrong type", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","price":true}]}}`, unreadable: "attribute price $.price: true is a boolean"},
		{name: "text as boolean", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","available":"true"}]}}`, unreadable: "attribute availability"},
		{name: "bad price", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","price":"50K"}]}}`, unreadable: "attribute price $.price: amount \"50K\""},
		{name: "uri of a wrong type", content: `{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","config_uri":5}]}}`, fail: "artifact_uri $.config_uri: it is not a text"},
		{name: "not JSON", content: `{"tool":`, fail: "content is not the JSON of a tool row"},
		{name: "cut off", content: `{"tool":"query_ad_inventory","result":{"placements":[{"na`, fail: "content is not the JSON of a tool row"},
		{name: "text", content: `"query_ad_inventory"`, fail: "content is not the JSON of a tool row"},
		{name: "no tool", content: `{"result":{}}`, fail: "content does not name the tool"},
		{name: "no result", content: `{"tool":"query_ad_inventory"}`, fail: "content has no result of the tool"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			good := row(t, record.ToolCompleted, `{"tool":"query_ad_inventory","result":{"placements":[{"name":"Other Row"}]}}`)
			good.EventID, good.Seq, good.SpanID = "e0", 2, "span0"
			bad := row(t, record.ToolCompleted, tt.content)
			got := graphsync.Fold(x, []record.Event{good, bad})
			entities := shown(got.Graph().Entities())
			if tt.unreadable != "" {
				if len(entities) != 2 || !strings.Contains(entities[0], "=unreadable:") || !strings.Contains(entities[0], tt.unreadable) {
					t.Errorf("entities %q, want A with an attribute that is unreadable: %s", entities, tt.unreadable)
				}
				entities = entities[len(entities)-1:]
			}
			diff(t, "entities", append(tt.want, "Product Other Row (rule 0.97)"), entities)
			c := got.Counts()
			if failed := btoi(tt.fail != ""); c.RowsRead != 2 || c.Failed != failed || c.Watermark != 2 || c.Truncated != 0 {
				t.Errorf("%d rows up to %d, %d failed, %d truncated; want 2, 2, %d, 0", c.RowsRead, c.Watermark, c.Failed, c.Truncated, failed)
			}
			if tt.fail != "" && (!strings.HasPrefix(c.Error, `row e1: rule "placements": `) || !strings.Contains(c.Error, tt.fail)) {
				t.Errorf("the error is %q, want %q", c.Error, tt.fail)
			}
		})
	}
	if null := (record.Event{EventID: "n", EventType: record.ToolCompleted}); graphsync.Fold(x, []record.Event{null}).Counts().Failed != 1 {
		t.Error("a tool row without content did not fail")
	}
	refused := row(t, record.ToolCompleted, `{"tool":"query_ad_inventory","result":{"placements":[{}]}}`)
	refused.Status = record.StatusError
	if c := graphsync.Fold(x, []record.Event{refused}).Counts(); c.Failed != 0 || c.RowsRead != 1 {
		t.Errorf("the result of a failed tool was read: %s", c.Error)
	}
}

// rulesOf reads rules, one a line, as a configuration writes them. They find Things, and are called r1, r2.
func rulesOf(t *testing.T, text string) []config.Extract {
	t.Helper()
	file := "extract:\n"
	for i, rule := range strings.Split(text, "\n") {
		file += fmt.Sprintf("- {name: r%d, type: Thing, %s}\n", i+1, rule)
	}
	cfg, err := config.Parse("rules.yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Extract
}

func TestExtractRules(t *testing.T) {
	for _, tt := range []struct {
		name, rules string
		event, body string
		want        []string
		fail        string
	}{
		{
			"args", "value: $.v, tool: t, in: args",
			record.ToolStarting, `{"tool":"t","args":{"v":"x"}}`, []string{"Thing x (claim 1)"}, "",
		},
		{
			"action", "value: $.v, tool: t, in: action, value_type: money, currency: USD, confidence: 0.5",
			record.ToolStarting, `{"tool":"t","args":{"v":"50,000.00 USD"}}`, []string{"Thing $50,000 (action 0.5)"}, "",
		},
		{
			"action without arguments", "value: $.v, tool: t, in: action",
			record.ToolStarting, `{"tool":"t","args":null}`, []string{}, "",
		},
		{
			"action that names nothing", "value: $.v, tool: t, in: action\nvalue: $.w, tool: t, in: action\neach: '$.l[*]', value: $.v, tool: t, in: action",
			record.ToolStarting, `{"tool":"t","args":{"v":null,"w":"x","l":[{"v":"y"},{}]}}`, []string{"Thing x (action 1)", "Thing y (action 1)"}, "",
		},
		{
			"arguments that are JSON in a text", "each: '$.l[*]', value: $.v, tool: t, in: action\neach: '$.m[*]', value: $, tool: t, in: args",
			record.ToolStarting, `{"tool":"t","args":{"l":" [{\"v\":\"x\"}]","m":"[\"y\"]"}}`, []string{"Thing x (action 1)", "Thing y (claim 1)"}, "",
		},
		{
			"arguments that cannot be opened", "value: $.v, tool: t, in: action",
			record.ToolStarting, `{"tool":"t","args":{"v":"x","l":"{\"a\":1,\"A\":2}"}}`, []string{"Thing x (action 1)"}, "",
		},
		{
			"action with missing arguments", "value: $.v, tool: t, in: action",
			record.ToolStarting, `{"tool":"t"}`, nil, "content has no args",
		},
		{
			"content", "value: $.v, in: content, event: STATE_DELTA",
			record.StateDelta, `{"v":"x"}`, []string{"Thing x (claim 1)"}, "",
		},
		{
			"content that is not JSON", "value: $.v, in: content, event: STATE_DELTA",
			record.StateDelta, `{"v":"x"} y`, nil, "content is not JSON",
		},
		{
			"several nodes", "value: '$.v[*]', tool: t",
			record.ToolCompleted, `{"tool":"t","result":{"v":["a","b"]}}`, nil, "it selects 2 nodes",
		},
		{
			"several attribute nodes", "value: $.v, tool: t, attributes: {price: {path: $..p, optional: true}}",
			record.ToolCompleted, `{"tool":"t","result":{"v":"x","a":{"p":1},"b":{"p":2}}}`, []string{`Thing x (rule 1) price=unreadable:rule "r1": attribute price $..p: it selects 2 nodes instead of one`}, "",
		},
		{
			"required attribute", "value: $.v, tool: t, attributes: {price: {path: $.p}}",
			record.ToolCompleted, `{"tool":"t","result":{"v":"x","p":null}}`,
			[]string{`Thing x (rule 1) price=unreadable:rule "r1": attribute price $.p: it is null; an attribute that may be missing is optional`}, "",
		},
		{
			"filter", "value: $.v, tool: t, each: '$.l[?@.n > 1]'",
			record.ToolCompleted, `{"tool":"t","result":{"l":[{"n":1,"v":"a"},{"n":2,"v":"b"}]}}`, []string{"Thing b (rule 1)"}, "",
		},
		{
			"members come in one order", "value: $.v, tool: t, each: '$.*', artifact_uri: $.u",
			record.ToolCompleted, `{"tool":"t","result":{"z":{"v":"1","u":"last"},"a":{"v":"1","u":"a"},"m":{"v":"1","u":"m"},"b":{"v":"1","u":"b"}}}`,
			[]string{"Thing 1 (rule 1) last"}, "",
		},
		{
			"exact numbers", "value: $.v, tool: t, value_type: number",
			record.ToolCompleted, `{"tool":"t","result":{"v":9007199254740993}}`, []string{"Thing 9007199254740993 (rule 1)"}, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := compile(t, rulesOf(t, tt.rules))
			for range 8 { // members of an object come in any order
				checkFold(t, tt.want, tt.fail, graphsync.Fold(x, []record.Event{row(t, tt.event, tt.body)}))
			}
		})
	}
}

func TestDeclaredEntities(t *testing.T) {
	tests := []struct {
		attributes string
		want       []string
		fail       string
	}{
		{`{"entities":[{"type":"Product","value":"Reels","attributes":{"price":{"kind":"money","value":"5","currency":"USD"}},"artifact_uri":"gs://x","confidence":0.5},{"type":"A","value":"b"}]}`,
			[]string{"A b (declared 1)", "Product Reels (declared 0.5) price=money:5:USD gs://x"}, ""},
		{`{"entities":[]}`, []string{}, ""},
		{`{}`, []string{}, ""},
		{`{"entities":[{"type":"A","value":"b","attributes":{"n":{"kind":"number","value":"5"}}},{"type":"B","value":"b","attributes":{"n":{"kind":"number","value":"6"}}},{"type":"A","value":"b"}]}`,
			[]string{"A b (declared 1)", "B b (declared 1)"}, ""},
		{`{"entities":[{"type":"A","value":"b","attributes":{"n":{"kind":"number","value":"5"}}},{"type":"A","value":"b","attributes":{"n":{"kind":"number","value":"6"}}}]}`,
			nil, "declared entity 2: A b has the n 6 here and 5 before"},
		{`{"entities":{}}`, nil, "declared entities"},
		{`{"entities":[{"type":"Product"}]}`, nil, "declared entity 1: entity value is empty"},
		{`{"entities":[{"type":"Product","value":"x","price":5}]}`, nil, "declared entities"},
		{`{"entities":[{"type":"Product","value":"x","confidence":2}]}`, nil, "confidence"},
		{`{"entities":[{"type":"Product","value":"x","attributes":{"price":5}}]}`, nil, "declared entities"},
		{`{"entities":`, nil, "attributes are not a JSON object"},
		{`[]`, nil, "attributes are not a JSON object"},
		{``, []string{}, ""},
	}
	for _, tt := range tests {
		declared, ended := row(t, record.EntitiesDeclared, `{"tool":"t"}`), row(t, record.ToolCompleted, `{"tool":"t","result":{}}`)
		declared.Attributes = []byte(tt.attributes)
		ended.EventID, ended.Seq = "e2", 2
		t.Run(tt.attributes, func(t *testing.T) {
			checkFold(t, tt.want, tt.fail, graphsync.Fold(nil, []record.Event{declared, ended}))
		})
	}
}

// What a tool declares counts from the row on that ends its call, and as that row says.
func TestDeclaredInACall(t *testing.T) {
	for name, test := range map[string]struct {
		rows func(r *recorder)
		want []string // with the number of the row
		fail string
	}{
		"a call that ends well": {func(r *recorder) {
			span, start := r.begun("t", m{}, []m{declares("x"), declares("y")})
			r.add(record.ToolCompleted, "", span, "A", m{"tool": "t", "result": m{}}, m{"adk.started": start})
		}, []string{"3 Product x (declared 1)", "3 Product y (declared 1)"}, ""},
		"a call that fails": {func(r *recorder) { r.failed("t", false, "x") }, []string{"3 Product x (claim 1)"}, ""},
		"a refusal for drift": {func(r *recorder) {
			span, start := r.begun("t", m{}, []m{declares("x")})
			r.add(record.ToolError, "", span, "A", m{"tool": "t", "args": m{}}, m{"adk.started": start, "adk.drift": true, "entities": []m{declares("y")}})
		}, []string{"3 Product x (claim 1)", "3 Product y (declared 1)"}, ""},
		"a call without an end": {func(r *recorder) { r.begun("t", m{}, []m{declares("x")}) }, []string{}, ""},
		"two rows, with another call at once": {func(r *recorder) {
			span, start := r.begun("t", m{}, []m{declares("x")})
			other, began := r.begun("t", m{}, []m{declares("z")})
			r.add(record.EntitiesDeclared, "", span, "A", m{"tool": "t"}, m{"adk.of": start, "entities": []m{declares("y")}})
			r.add(record.ToolCompleted, "", span, "A", m{"tool": "t", "result": m{}}, m{"adk.started": start})
			r.add(record.ToolError, "", other, "A", m{"tool": "t", "args": m{}}, m{"adk.started": began})
		}, []string{"6 Product x (declared 1)", "6 Product y (declared 1)", "7 Product z (claim 1)"}, ""},
		"two rows that contradict each other": {func(r *recorder) {
			of := func(n string) m {
				return m{"type": "Product", "value": "x", "attributes": m{"reach": m{"kind": "number", "value": n}}}
			}
			span, start := r.begun("t", m{}, []m{of("5")})
			r.add(record.EntitiesDeclared, "", span, "A", m{"tool": "t"}, m{"adk.of": start, "entities": []m{of("6")}})
			r.add(record.ToolCompleted, "", span, "A", m{"tool": "t", "result": m{}}, m{"adk.started": start})
		}, []string{}, "declared entity 2: Product x has the reach 6 here and 5 before"},
		"a call whose beginning is not on record": {func(r *recorder) {
			r.add(record.EntitiesDeclared, "", "X", "A", m{"tool": "t"}, m{"entities": []m{declares("x")}})
			r.add(record.ToolCompleted, "", "X", "A", m{"tool": "t", "result": m{}}, nil)
		}, []string{"2 Product x (declared 1)"}, ""},
		"rows of one instant, without numbers": {func(r *recorder) {
			span, start := r.begun("t", m{}, []m{declares("x")})
			r.add(record.ToolCompleted, "", span, "A", m{"tool": "t", "result": m{}}, m{"adk.started": start})
			r.rows[1], r.rows[2] = r.rows[2], r.rows[1]
			for i := range r.rows {
				r.rows[i].Seq, r.rows[i].Timestamp = 0, baseTime
			}
		}, []string{"3 Product x (declared 1)"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{t: t, run: "1"}
			test.rows(r)
			s := graphsync.Fold(compile(t, nil), r.rows)
			got := []string{}
			for _, e := range s.Graph().Entities() {
				got = append(got, strings.TrimLeft(e.EventID, "0")+" "+show(e))
			}
			diff(t, "entities", test.want, got)
			if c := s.Counts(); c.Failed != btoi(test.fail != "") || !strings.Contains(c.Error, test.fail) {
				t.Errorf("%d rows failed: %q, want %q", c.Failed, c.Error, test.fail)
			}
		})
	}
}

func TestOneEntityPerSpan(t *testing.T) {
	rules := []config.Extract{
		{Name: "action", Tool: "t", In: config.InAction, Type: "Product", Value: "$.p", Confidence: 0.9},
		{Name: "result", Tool: "t", Type: "Product", Value: "$.p", Confidence: 0.4, Attributes: map[string]config.Attribute{"status": {Path: "$.s", Optional: true}, "price": {Path: "$.price", Optional: true}}},
	}
	r := &recorder{t: t}
	r.start("T", "A", "c1=t", m{"p": "Reels"})
	text := func(s string) m { return m{"kind": "text", "value": s} }
	r.add(record.EntitiesDeclared, "", "T", "A", m{"tool": "t"}, m{"entities": []m{{
		"type": "Product", "value": "Reels", "confidence": 0.2, "attributes": m{"reach": text("5"), "status": text("old")},
	}}})
	r.end("T", "A", "c1=t", m{"p": "Reels", "s": "new"}, nil)
	r.end("T2", "A", "c2=t", m{"p": "Reels", "s": "new"}, nil)
	slices.Reverse(r.rows)

	g := fold(t, rules, r.rows).Graph()
	first, then := g.Sightings()[0][0].Entity, g.Sightings()[0][1].Entity
	diff(t, "what the span knew, row by row", []string{
		"Product Reels (action 0.9)", "Product Reels (rule 0.9) reach=text:5 status=text:new",
	}, shown([]entity.Entity{first, then}))
	got := g.Entities()
	diff(t, "entities, one per span", []string{
		"Product Reels (rule 0.9) reach=text:5 status=text:new",
		"Product Reels (rule 0.4) status=text:new",
	}, shown(got))
	began, ended := r.rows[3], r.rows[1]
	for e, at := range map[*entity.Entity]record.Event{&first: began, &got[0]: ended} {
		if e.EventID != at.EventID || !e.SeenAt.Equal(at.Time()) || e.SpanID != "T" || e.TechNode != r.key("T") {
			t.Errorf("entity %+v, want it of row %s", e, at.EventID)
		}
	}
}

func TestTruncatedRows(t *testing.T) {
	x := compile(t, adRules())
	rows := []record.Event{
		row(t, record.ToolCompleted, `{"tool":"query_audience","result":{"audience":"Runners"}}`),
		row(t, record.ToolCompleted, `{"tool":"unknown","result":"..."}`),
		row(t, record.LLMRequest, `{"prompt":"..."}`),
		row(t, record.ToolCompleted, `{"tool":"query_aud`),
		row(t, record.LLMResponse, `{"response":"call: query_audience"}`),
	}
	for i := range rows {
		rows[i].Seq, rows[i].EventID, rows[i].IsTruncated = int64(i+1), string(rune('a'+i)), true
	}
	s := graphsync.Fold(x, rows)
	found := shown(s.Graph().Entities())
	if c := s.Counts(); c.Truncated != 1 || c.Failed != 1 || len(found) != 1 {
		t.Errorf("%d truncated, %d failed: %s; entities %v", c.Truncated, c.Failed, c.Error, found)
	}
}

func FuzzExtract(f *testing.F) {
	x, err := graphsync.Compile(adRules())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"tool":"query_ad_inventory","result":{"placements":[{"name":"A","price":5}]}}`), []byte(`{"entities":[{"type":"A","value":"b"}]}`))
	f.Add([]byte(`{"tool":"provision_campaign","args":{"budget":"$5"}}`), []byte(`null`))
	f.Add([]byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, content, attributes []byte) {
		for _, eventType := range []string{record.ToolStarting, record.EntitiesDeclared, record.EntitiesFound, record.ToolCompleted, record.LLMResponse} {
			e := record.Event{EventID: "e", EventType: eventType, Content: content, Attributes: attributes, LatencyMS: content}
			s := graphsync.Fold(x, []record.Event{e})
			if c := s.Counts(); c.RowsRead != 1 || c.Failed > 1 || (c.Failed > 0) != (c.Error != "") {
				t.Fatalf("%d rows, %d failed: %q", c.RowsRead, c.Failed, c.Error)
			}
			g := s.Graph()
			for _, en := range g.Entities() {
				if err := en.Validate(); err != nil {
					t.Fatal(err)
				}
			}
			if len(g.Nodes()) != 1 || len(g.Edges()) != 0 {
				t.Fatalf("%d nodes, %d edges", len(g.Nodes()), len(g.Edges()))
			}
		}
	})
}

// What the arguments of an action name twice, in whatever places, is one entity that counts
// twice; two rules that read one place count it once. A result that shows something twice
// says nothing of the kind.
func TestExtractCountsWhatAnActionRepeats(t *testing.T) {
	rules := []config.Extract{
		{Name: "lines", Tool: "t", In: config.InAction, Each: "$.lines[*]", Type: "Product", Value: "$.name"},
		{Name: "main", Tool: "t", In: config.InAction, Type: "Product", Value: "$.main"},
		{Name: "first", Tool: "t", In: config.InAction, Type: "Product", Value: "$.lines[0].name"},
		{Name: "found", Tool: "t", Each: "$.lines[*]", Type: "Product", Value: "$.name"},
	}
	lines := m{"lines": []m{{"name": "A"}, {"name": "B"}, {"name": "A"}, {"name": "A"}}, "main": "B"}
	r := &recorder{t: t}
	r.tool("T", "A", "c1=t", lines, lines)
	for name, test := range map[string]struct {
		rows []record.Event
		want map[string]int
	}{
		"the action": {r.rows[:1], map[string]int{"A": 2, "B": 1}},
		"the result": {r.rows[1:], map[string]int{"A": 0, "B": 0}},
		"the step":   {r.rows, map[string]int{"A": 2, "B": 1}},
	} {
		got := make(map[string]int)
		for _, e := range fold(t, rules, test.rows).Graph().Entities() {
			if _, known := got[e.Value]; known {
				t.Errorf("%s has %s twice", name, e.Value)
			}
			got[e.Value] = e.Repeats
		}
		diff(t, name, test.want, got)
	}
}

// Lines of a plan may want one thing in several numbers, and not two things of one name.
func TestExtractLinesOfAnAction(t *testing.T) {
	x := compile(t, rulesOf(t, "tool: provision, in: action, each: '$.lines[*]', value: $.id, attributes: {"+
		"price: {path: $.price, type: money, currency: USD, optional: true}, "+
		"night: {path: $.night, optional: true}, quantity: {path: $.quantity, type: number, optional: true}}"))
	for second, fail := range map[string]string{
		`"price":10,"night":"may 1","quantity":3`: "",
		`"price":9,"night":"may 1","quantity":2`:  "has the price $9 here and $10 before",
		`"price":10,"night":"may 2"`:              "has the night may 2 here and may 1 before",
	} {
		args := fmt.Sprintf(`{"tool":"provision","args":{"lines":[{"id":"A","price":10,"night":"may 1","quantity":2},{"id":"A",%s}]}}`, second)
		s := graphsync.Fold(x, []record.Event{row(t, record.ToolStarting, args)})
		found, c := s.Graph().Entities(), s.Counts()
		if c.Failed != btoi(fail != "") || !strings.Contains(c.Error, fail) {
			t.Errorf("%s: %d rows failed: %q, want %q", second, c.Failed, c.Error, fail)
		}
		if fail == "" && (len(found) != 1 || found[0].Repeats != 1) {
			t.Errorf("%s: %+v", second, found)
		}
	}
}

// Where a path goes on into a text that is JSON, the text is read as its value.
func TestOpenedTexts(t *testing.T) {
	for _, test := range []struct{ each, value, result, want string }{
		{"$.a[-1]", "$.n", `{"a": ["{\"n\": \"x\"}"]}`, "x"},
		{"$.a[3]", "$.n", `{"a": ["{\"n\": \"x\"}"]}`, ""},
		{"$.a", "$.n", `{"a": " {\"n\": \"x\"}\n"}`, "x"},
		{"$.a[*]", "$.n", `{"a": "{\"n\": \"x\"} {\"n\": \"y\"}"}`, "x y"},
		{"$.a[*]", "$.n", `{"a": "{\"n\": \"x\"} [1]"}`, ""},
		{"$.a[*]", "$.n", `{"a": "{\"n\": \"x\"} and more"}`, ""},
		{"$.a[*]", "$.n", `{"a": "[sic] not found"}`, ""},
		{"$.*[*]", "$.n", `{"a": "[{\"n\": \"x\"}]"}`, ""},
		{"$.a[*]", "$.n", `{"a": "{\"n\": \"x\"} {\"n\": "}`, "cut"},
		{"$.a[*]", "$.n", `{"a": "{\"n\": \"x\"} {\"n\": \"y\", \"N\": 1}"}`, `part 2 of a text that is JSON: it has the keys "N" and "n"`},
		{"$.a[*]", "$.n", `{"a": "[{\"n\": \"x\", \"n\": \"y\"}]"}`, `"n" stands twice`},
		{"$.a[*]", "$.n", `{"a": "{\"n\": \"x\"} {\"n\": \"[REDACTED]"}`, "redacted or left out"},
	} {
		r := &recorder{t: t, run: "1"}
		r.tooled("find", m{}, json.RawMessage(test.result), nil)
		sel := selectOf(t, []config.Extract{{Name: "r", Tool: "find", Each: test.each, Type: "T", Value: test.value}}, record.Decision{}, r.rows...)
		got := strings.Join(valuesOf(sel.Entities), " ")
		if err := sel.Counts.Error; err != "" && got == "" {
			got = err
		}
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s of %s: %q, want %q", test.each, test.result, got, test.want)
		}
	}
}
