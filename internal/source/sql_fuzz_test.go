// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"database/sql/driver"
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// dice reads choices from bytes; at their end every choice is the first.
type dice struct{ data []byte }

func (d *dice) next(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

func (d *dice) int16() int64 { return int64(int16(d.next(256)<<8 | d.next(256))) }

// cell is a value as a driver may give it.
func (d *dice) cell(text string) driver.Value {
	switch d.next(11) {
	case 0:
		return "40000.00"
	case 1:
		return true
	case 2:
		return d.int16() * 10
	case 3:
		return float64(d.int16()) * 2.5
	case 4:
		return []byte(text)
	case 5:
		return text
	case 6:
		return epoch.Add(time.Duration(d.int16()) * time.Second)
	case 7:
		return []byte(nil)
	case 8:
		return []float64{math.NaN(), math.Inf(1), math.Copysign(0, -1), 40000}[d.next(4)]
	case 9:
		return int64(d.next(3))
	}
	return nil
}

// isPrice and isTrue say independently of the code whether a cell holds $40,000, and
// whether it says yes.
func isPrice(v driver.Value) bool {
	switch x := v.(type) {
	case int64:
		return x == 40000
	case float64:
		return x == 40000
	case []byte:
		return isPrice(string(x))
	case string:
		digits := regexp.MustCompile(`[0-9.,eE+' \x{a0}\x{202f}\x{2019}-]+`).FindString(strings.TrimSpace(strings.TrimLeft(x, "$USD \t\r\n\u00a0")))
		r, ok := new(big.Rat).SetString(strings.NewReplacer(",", "", " ", "", "'", "", "\u00a0", "", "\u202f", "", "\u2019", "").Replace(digits))
		return ok && r.Cmp(big.NewRat(40000, 1)) == 0
	}
	return false
}

func isTrue(v driver.Value) bool {
	switch x := v.(type) {
	case bool:
		return x
	case int64:
		return x == 1
	}
	return false
}

// FuzzSQLAnswer checks that no row makes the checker panic, that what it reads has the
// configured kinds, and that only exactly one complete and equal row is safe.
func FuzzSQLAnswer(f *testing.F) {
	f.Add([]byte{}, "", uint8(0))
	f.Add([]byte{1, 0, 1}, "$40,000", uint8(0))
	f.Add([]byte{1, 5, 1}, "USD 40.000,00", uint8(0))
	f.Add([]byte{1, 8, 0, 9, 1}, "x", uint8(0))
	f.Add([]byte{1, 4, 5}, "true", uint8(0))
	for i := range byte(3) {
		f.Add([]byte{1, 0, 9, i}, "", uint8(0)) // 0 is no, 1 is yes, 2 is neither
	}
	f.Add([]byte{1, 5, 4}, "\xff", uint8(0))
	for how := range uint8(8) {
		f.Add([]byte{1, 0, 1, 0, 1}, "40000", how)
	}
	f.Fuzz(func(t *testing.T, data []byte, text string, how uint8) {
		d := &dice{data}
		db := &fakeDB{columns: []string{"price", "available"}}
		rows := d.next(3)
		for range rows {
			db.rows = append(db.rows, []driver.Value{d.cell(text), d.cell(text)})
		}
		clean := rows == 1
		switch how % 8 {
		case 1:
			db.columns, clean = []string{"price", text}, clean && text == "available"
		case 2:
			db.columns, clean = []string{"price", "price"}, false
		case 3:
			db.more = true // of which nothing is read
		case 4:
			db.queryErr, clean = errors.New(text), false
		case 5:
			db.rowErr, clean = errors.New(text), false
		case 6:
			db.beginErr = errors.New(text) // asked without a transaction
		}
		checker := sqlChecker(t, placementQuery(), db.open(t))
		s, err := checker.Check(t.Context(), strava)
		for name, v := range s.Attributes {
			if want := map[string]entity.Kind{"price": entity.KindMoney, "availability": entity.KindBool, "exists": entity.KindBool}[name]; v.Kind() != want {
				t.Fatalf("%s is a %s, want %s", name, v.Kind(), want)
			}
		}
		r := check(t, checker)
		if r.IsSafeToApprove() && !(err == nil && clean && isPrice(db.rows[0][0]) && isTrue(db.rows[0][1])) {
			t.Fatalf("safe with %q, %v, %v", db.rows, s, err)
		}
	})
}
