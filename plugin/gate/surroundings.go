// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Bounds of what is compared of the surroundings of a call.
const (
	maxBoundKeys  = 1000
	maxBoundState = 1 << 20  // bytes, as JSON
	maxBoundFiles = 16 << 20 // bytes
)

// stateOf returns what each of the settings of a tool says about the state. Each has to free a key.
func (g *Gate) stateOf(name string) (free [][]string, show []string) {
	for _, s := range config.Matching(g.settings.Tools, name) {
		free, show = append(free, s.State.Free), append(show, s.State.Show...)
	}
	return free, show
}

// loose reports whether a key of the state may change while a call waits.
func loose(free [][]string, key string) bool {
	if strings.HasPrefix(key, "_adk") {
		return true
	}
	binds := func(keys []string) bool { return !matches(keys, key) }
	return len(free) > 0 && !slices.ContainsFunc(free, binds)
}

func matches(patterns []string, key string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return pattern(p).match(key) })
}

// stateSeen returns the state that a call sees. Its own changes are not in the session yet.
func stateSeen(ctx agent.Context) map[string]any {
	seen := maps.Collect(ctx.State().All())
	if actions := ctx.Actions(); actions != nil {
		maps.Copy(seen, actions.StateDelta)
	}
	return seen
}

// surroundings returns what a call that asks can read beside its arguments. Nobody can watch the reads
// of a tool without Protect around it: of its state only the shown keys count. work bounds the loading.
func (g *Gate) surroundings(ctx agent.Context, work context.Context, c *call) (s safety.Surroundings) {
	free, show := g.stateOf(c.Name)
	if s.Watched = c.inner; !c.inner && len(show) == 0 {
		return s
	}
	seen, size := stateSeen(ctx), 0
	s.State, s.Shown = make(map[string]string), make(map[string]string)
	for _, key := range show {
		if pattern(key).isName() {
			s.Shown[key] = "none"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		shown := matches(show, key)
		if !shown && (!c.inner || loose(free, key)) {
			continue
		}
		if shown {
			s.Shown[key] = g.shownValue(key, seen[key])
		}
		data, err := json.Marshal(seen[key])
		if size += len(key) + len(data); err != nil || len(s.State) == maxBoundKeys || size > maxBoundState {
			size -= len(key) + len(data)
			s.Unbound++
			continue
		}
		s.State[key] = g.rec.Digest(seen[key])
	}
	if c.inner {
		g.bindArtifacts(ctx, work, &s)
	}
	return s
}

// shownValue returns a value as a person sees it: without secrets, and a text without quotes.
func (g *Gate) shownValue(key string, v any) string {
	data := g.rec.Encode(map[string]any{key: v}).JSON // a key may make a secret of its value
	var value map[string]json.RawMessage
	_ = json.Unmarshal(data, &value)
	var said string
	if json.Unmarshal(value[key], &said) != nil {
		said = string(value[key])
	}
	return said
}

// shownChanged says which shown key of the state is not as it was; "" for none.
func (g *Gate) shownChanged(ctx agent.Context, was safety.Surroundings) string {
	if len(was.Shown) == 0 {
		return ""
	}
	seen := stateSeen(ctx)
	for _, key := range slices.Sorted(maps.Keys(was.Shown)) {
		now := ""
		if v, ok := seen[key]; ok {
			now = g.rec.Digest(v)
		}
		if now != was.State[key] {
			return fmt.Sprintf("The state of the session has changed since the approval was asked: the key %q, which was shown", key)
		}
	}
	return ""
}

// bindArtifacts loads each artifact once. One that cannot be loaded has no digest.
func (g *Gate) bindArtifacts(ctx agent.Context, work context.Context, s *safety.Surroundings) {
	defer func() {
		_ = recover() // ADK has no other way to say that there is no service
	}()
	from := ctx.Artifacts()
	list, err := from.List(work)
	if err != nil {
		g.log.Warn("contextgraph: the artifacts could not be listed when an approval was asked; the approved call ends if it loads one", "error", err)
		return
	}
	s.Artifacts = make(map[string]string)
	left := maxBoundFiles
	for i, name := range slices.Sorted(slices.Values(list.FileNames)) {
		loaded, err := from.Load(work, name)
		if err != nil {
			g.log.Warn("contextgraph: an artifact could not be loaded when an approval was asked; the approved call ends if it loads it", "artifact", name, "error", err)
			continue
		}
		digest, size := g.artifactDigest(loaded.Part)
		if left -= size; left < 0 {
			s.Unbound += len(list.FileNames) - i
			return
		}
		s.Artifacts[name] = digest
	}
}

// artifactDigest returns the digest of the content of an artifact, and its size.
func (g *Gate) artifactDigest(p *genai.Part) (digest string, size int) {
	data, err := json.Marshal(p)
	if err != nil || p == nil {
		return "", 0
	}
	sum := sha256.Sum256(data)
	return g.rec.Digest(hex.EncodeToString(sum[:])), len(data)
}
