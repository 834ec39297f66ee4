// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
)

func canonicalOf(typ, value string, attributes map[string]entity.Value) entity.Canonical {
	return entity.Canonical{Key: entity.Entity{Type: typ, Value: value}.Identity(), Type: typ, Value: value, Attributes: attributes}
}

func TestDifference(t *testing.T) {
	type attributes = map[string]entity.Value
	text, asked := entity.Text, time.Date(2026, 1, 19, 10, 0, 0, 0, time.UTC)
	keep := func(args []byte) []byte { return args }
	for _, tt := range []struct {
		name     string
		was, now Approval
		redact   func([]byte) []byte
		want     Difference
	}{
		{"nothing", Approval{RequestedAt: asked}, Approval{}, keep, Difference{Since: asked}},
		{
			"things", Approval{Entities: []entity.Canonical{
				canonicalOf("B", "same", attributes{"x": text("1")}), canonicalOf("A", "gone", attributes{"x": text("1")}),
				canonicalOf("A", "other", attributes{"availability": entity.Bool(true), "left": text("l"), "same": text("s")}),
			}},
			Approval{Entities: []entity.Canonical{
				canonicalOf("A", "new", attributes{"y": text("2\n3")}), canonicalOf("A", "bare", nil),
				canonicalOf("A", "other", attributes{"availability": entity.Bool(false), "added": text("a"), "same": text("s")}),
				canonicalOf("B", "same", attributes{"x": text("1")}),
			}}, keep,
			Difference{Entities: []EntityDifference{
				{Type: "A", Value: "bare", Change: "added"},
				{Type: "A", Value: "gone", Change: "removed"},
				{Type: "A", Value: "new", Change: "added", Attributes: []ValueDifference{{Name: "y", Now: "2 3"}}},
				{Type: "A", Value: "other", Change: "changed", Attributes: []ValueDifference{
					{Name: "added", Now: "a"}, {Name: "availability", Was: "available", Now: "unavailable"}, {Name: "left", Was: "l"},
				}},
			}},
		},
		{
			"arguments", Approval{ArgsDigest: "a", Args: []byte(`{"a":1,"b":[1,{"c":"x"}],"d":{},"e":"","same":2}`)},
			Approval{ArgsDigest: "b", Args: []byte(`{"a":2,"b":[1,{"c":"y"},3],"e":[],"f":null,"same":2}`)}, keep,
			Difference{Arguments: []ValueDifference{
				{Name: "a", Was: "1", Now: "2"}, {Name: "b[1].c", Was: `"x"`, Now: `"y"`}, {Name: "b[2]", Now: "3"}, {Name: "d", Was: "{}"},
				{Name: "e", Was: `""`, Now: "[]"}, {Name: "f", Now: "null"},
			}},
		},
		{
			"secrets", Approval{ArgsDigest: "a", Args: []byte(`{"key":"k1","n":1}`)}, Approval{ArgsDigest: "b", Args: []byte(`{"key":"k2","n":2}`)},
			func(args []byte) []byte {
				return bytes.ReplaceAll(bytes.ReplaceAll(args, []byte("k1"), []byte("***")), []byte("k2"), []byte("***"))
			},
			Difference{Arguments: []ValueDifference{{Name: "key", Was: `"***"`, Now: `"***"`}, {Name: "n", Was: "1", Now: "2"}}},
		},
		{
			"what has another shape without secrets", Approval{ArgsDigest: "a", Args: []byte(`{"n":[1]}`)}, Approval{ArgsDigest: "b", Args: []byte(`{"n":[2]}`)},
			func([]byte) []byte { return []byte(`{"n":"***"}`) },
			Difference{Arguments: []ValueDifference{{Name: "n[0]", Was: "(hidden)", Now: "(hidden)"}}},
		},
		{
			"arguments that nobody may show", Approval{ArgsDigest: "a", Args: []byte(`{"n":1}`)}, Approval{ArgsDigest: "b", Args: []byte(`{"n":2,"m":3}`)}, nil,
			Difference{Arguments: []ValueDifference{{Name: "m", Now: "(hidden)"}, {Name: "n", Was: "(hidden)", Now: "(hidden)"}}},
		},
		{"the digest says that nothing differs", Approval{ArgsDigest: "a", Args: []byte(`{"n":1}`)}, Approval{ArgsDigest: "a", Args: []byte(`{"n":2}`)}, keep, Difference{}},
		{"no JSON", Approval{ArgsDigest: "a", Args: []byte(`{`)}, Approval{ArgsDigest: "b", Args: []byte(`3`)}, keep, Difference{Arguments: []ValueDifference{{Now: "3"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 3 {
				if diff := cmp.Diff(tt.want, difference(tt.was, tt.now, tt.redact)); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// However much differs, 50 values are listed, and texts are short.
func TestDifferenceIsBounded(t *testing.T) {
	var was, now []entity.Canonical
	for i := range 40 {
		a, b := map[string]entity.Value{}, map[string]entity.Value{}
		for j := range 3 {
			a[fmt.Sprint("n", j)], b[fmt.Sprint("n", j)] = entity.Text("1"), entity.Text(strings.Repeat("x", 300))
		}
		was, now = append(was, canonicalOf("T", fmt.Sprintf("%02d", i), a)), append(now, canonicalOf("T", fmt.Sprintf("%02d", i), b))
	}
	now = append(now, canonicalOf("T", "99", nil))
	d := difference(
		Approval{Entities: was, ArgsDigest: "a", Args: []byte(`{"x":1}`)}, Approval{Entities: now, ArgsDigest: "b", Args: []byte(`{"x":2}`)}, nil)
	listed := len(d.Arguments)
	for _, e := range d.Entities {
		listed += len(e.Attributes)
	}
	if listed != 50 || d.Omitted != 120+1+1-50 || len(d.Entities) != 17 || len(d.Entities[16].Attributes) != 2 {
		t.Errorf("%d values of %d entities are listed, %d omitted", listed, len(d.Entities), d.Omitted)
	}
	if n := len(d.Entities[0].Attributes[0].Now); n != 200 {
		t.Errorf("a value of %d bytes", n)
	}
	// Things without attributes take their room too.
	var bare []entity.Canonical
	for i := range 60 {
		bare = append(bare, canonicalOf("T", fmt.Sprintf("%02d", i), nil))
	}
	if d := difference(Approval{}, Approval{Entities: bare}, nil); len(d.Entities) != 50 || d.Omitted != 10 {
		t.Errorf("%d entities are listed, %d omitted", len(d.Entities), d.Omitted)
	}
}
