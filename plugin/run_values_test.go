// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"sync"
	"testing"

	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// Everyone who asks for a value of a run at once gets the same, and keys of different types
// never meet.
func TestValuesOfARun(t *testing.T) {
	type key struct{ id int }
	type other struct{ id int }
	r := new(recorder.Run)
	if got := r.Known(key{1}); got != nil {
		t.Errorf("before it was made there is %v", got)
	}
	const callers = 100
	got := make([]any, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			got[i] = r.Value(key{i % 2}, new(int))
			if known := r.Known(key{i % 2}); known != got[i] {
				t.Errorf("caller %d got %p, and %p is known", i, got[i], known)
			}
		})
	}
	wg.Wait()
	for i, v := range got {
		if v != got[i%2] {
			t.Errorf("caller %d got another value", i)
		}
	}
	if got[0] == got[1] {
		t.Error("two keys have one value")
	}
	if r.Value(key{1}, new(int)) != got[1] {
		t.Error("the value has changed")
	}
	if r.Known(other{1}) != nil || new(recorder.Run).Known(key{1}) != nil {
		t.Error("a value is known under another key, or in another run")
	}
}
