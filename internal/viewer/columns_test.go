// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"encoding/json"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	noon := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	type row struct {
		ID   string    `json:"id"`
		N    int       `json:"n"`
		At   time.Time `json:"at"`
		Note string    `json:"note,omitempty"`
		Rows []int     `json:"rows,omitempty"`
	}
	for _, tc := range []struct {
		name string
		list []row
		want string
	}{
		{"nothing", nil, `{}`},
		{"whole numbers and times are differences", []row{{ID: "x", N: 5, At: noon}, {ID: "y", N: 3, At: noon.Add(time.Millisecond)}},
			`{"+n":[5,-2],"@at":[1772712000000000,1000],"id":["x","y"]}`},
		{"digits are bytes", []row{{ID: "00ff"}, {ID: "abcd"}}, `{"#id":{"bytes":2,"all":"AP+rzQ=="},"+n":[0,0],"at":["0001-01-01T00:00:00Z","0001-01-01T00:00:00Z"]}`},
		{"digits of several lengths are texts", []row{{ID: "00ff"}, {ID: "ab"}}, `{"+n":[0,0],"at":["0001-01-01T00:00:00Z","0001-01-01T00:00:00Z"],"id":["00ff","ab"]}`},
		{"digits in capitals are texts", []row{{ID: "00FF"}}, `{"+n":[0],"at":["0001-01-01T00:00:00Z"],"id":["00FF"]}`},
		{"the same digits twice are texts", []row{{ID: "00ff"}, {ID: "00ff"}}, `{"+n":[0,0],"at":["0001-01-01T00:00:00Z","0001-01-01T00:00:00Z"],"id":["00ff","00ff"]}`},
		{"a time with parts of a microsecond is a text", []row{{At: noon.Add(1)}}, `{"+n":[0],"at":["2026-03-05T12:00:00.000000001Z"],"id":[""]}`},
		{"what is left out", []row{{ID: "x", At: noon}, {ID: "y", At: noon, Note: "so", Rows: []int{}}}, `{"+n":[0,0],"@at":[1772712000000000,0],"id":["x","y"],"note":[null,"so"]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := json.Marshal(tableOf(tc.list))
			if err != nil || string(got) != tc.want {
				t.Errorf("%s, %v, want %s", got, err, tc.want)
			}
		})
	}
}
