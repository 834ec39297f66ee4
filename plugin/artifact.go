// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// userNamespace begins the names of artifacts that belong to a user, not to one of
// the user's sessions.
const userNamespace = "user:"

// artifactURI names one version of an artifact.
func artifactURI(s record.Session, name string, version int64) string {
	uri := "artifact://apps/" + url.PathEscape(s.App) + "/users/" + url.PathEscape(s.User)
	if !strings.HasPrefix(name, userNamespace) {
		uri += "/sessions/" + url.PathEscape(s.ID)
	}
	return uri + "/artifacts/" + url.PathEscape(name) + "/versions/" + strconv.FormatInt(version, 10)
}

// artifacts writes a row for each version in delta that the run has no row for yet. The versions
// that tools save are in their actions. They are also in the event, if ADK keeps them when it
// merges the results of simultaneous calls.
func (rec *Recorder) artifacts(r *Run, delta map[string]int64, emit func(content func(jsonenc.Doc))) {
	for _, name := range slices.Sorted(maps.Keys(delta)) {
		version := delta[name]
		uri := artifactURI(r.Session, name, version)
		if !r.firstOf(&r.saved, uri) {
			continue
		}
		emit(func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("artifact", name)
			d.Int("version", version)
			d.Str("uri", uri)
			d.Close('}')
		})
	}
}

// firstOf adds key to a set of the run and reports whether it was not there.
func (r *Run) firstOf(set *map[string]bool, key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if (*set)[key] {
		return false
	}
	if *set == nil {
		*set = make(map[string]bool)
	}
	(*set)[key] = true
	return true
}

// savedByEvent records the artifacts that an event brings.
func (rec *Recorder) savedByEvent(ctx context.Context, s *source) {
	if len(s.Actions.ArtifactDelta) == 0 {
		return
	}
	rec.artifacts(s.run, s.Actions.ArtifactDelta, func(content func(jsonenc.Doc)) {
		rec.emitFrom(ctx, s, s.nodeRow(record.ArtifactDelta), body{
			content: content,
			attrs:   func(d jsonenc.Doc) { d.OptStr("source_event_id", s.ID) },
		})
	})
}

// savedByTool records the artifacts that a tool saved, on the span of its call.
func (rec *Recorder) savedByTool(ctx context.Context, r *Run, c *Call, delta map[string]int64) {
	if len(delta) == 0 {
		return
	}
	rec.artifacts(r, delta, func(content func(jsonenc.Doc)) {
		rec.emit(ctx, r, row{
			typ: record.ArtifactDelta, agent: c.Agent, branch: c.Branch, span: c.Span, parent: c.Parent,
		}, body{
			content: content,
			adk:     func(d jsonenc.Doc) { d.OptStr("call_id", c.ID) },
		})
	})
}
