// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/record"
)

// sized returns a row whose message has about n bytes, most of them in the content.
func sized(n int) record.Event {
	e := full()
	e.ContentParts, e.ErrorMessage = nil, ""
	e.Content = nil
	const text = "the agent says that it has looked at the numbers; "
	e.Content = []byte(`{"response":"` + strings.Repeat(text, (n-wire.RowOf(&e).Size())/len(text)) + `"}`)
	return e
}

// threeParts returns a row of 1 KB with three parts, as the plugin writes them.
func threeParts() record.Event {
	e := sized(600)
	e.ContentParts = []byte(`[{"mime_type":"text/plain","text":"Move 5,000 from the spring campaign to the summer one.","part_index":0,"part_attributes":"{}","storage_mode":"INLINE"},` +
		`{"mime_type":"application/json","text":"Function: move_budget","part_index":1,"part_attributes":"{\"function_name\":\"move_budget\"}","storage_mode":"INLINE"},` +
		`{"mime_type":"image/png","uri":"gs://bucket/2026/01/01/o.png","object_ref":{"uri":"gs://bucket/2026/01/01/o.png","authorizer":"us.parts","details":{"gcs_metadata":{"content_type":"image/png"}}},` +
		`"text":"[MEDIA OFFLOADED]","part_index":2,"part_attributes":"{}","storage_mode":"GCS_REFERENCE"}]`)
	return e
}

// TestAllocs holds that a row costs no allocation but its parts.
func TestAllocs(t *testing.T) {
	broken := full()
	broken.Agent, broken.ContentParts = "\xff", []byte(`[{"text":"a\n\u00e4","more":[{"deep":[1,"a"]}]}]`)
	for name, e := range map[string]record.Event{
		"1 KB": sized(1000), "three parts": threeParts(), "100 KB": sized(100_000), "full": full(), "repaired": broken,
	} {
		row := wire.RowOf(&e)
		buf := make([]byte, 0, row.Size())
		if n := testing.AllocsPerRun(100, func() {
			if len(e.ContentParts) == 0 {
				row = wire.RowOf(&e)
			}
			buf = row.Append(buf[:0])
			if row.Size() != len(buf) || row.PartsLost {
				t.Fail()
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
