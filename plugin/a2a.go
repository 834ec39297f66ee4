// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Keys that ADK's remote agents put into an event's metadata.
const (
	a2aPrefix   = "a2a:"
	a2aRequest  = "a2a:request"
	a2aResponse = "a2a:response"
	a2aTaskID   = "a2a:task_id"
)

// interaction writes a row for an exchange with a remote agent. The updates of a
// streamed answer are events with a response of their own: they are partial, or a
// piece of the answer. The event that completes the turn stands for the exchange;
// where the remote agent sends a whole task, that one.
func (rec *Recorder) interaction(ctx context.Context, s *source) {
	if len(s.CustomMetadata) == 0 {
		return
	}
	response, answered := s.CustomMetadata[a2aResponse]
	_, asked := s.CustomMetadata[a2aRequest]
	if !answered && !asked || !asked && isPiece(response) {
		return
	}
	if answered && !s.run.firstOf(&s.run.interactions, interactionKey(s.CustomMetadata[a2aTaskID], response)) {
		return
	}
	x := s.row(record.A2AInteraction)
	if s.ErrorMessage != "" {
		x.failed, x.message = true, s.ErrorMessage
	}
	full := rec.Whole(record.A2AInteraction)
	rec.emitFrom(ctx, s, x, body{
		content: func(d jsonenc.Doc) { d.Value(response) },
		attrs: func(d jsonenc.Doc) {
			metadata := make(map[string]any)
			for k, v := range s.CustomMetadata {
				if strings.HasPrefix(k, a2aPrefix) && (full || k != a2aRequest && k != a2aResponse) {
					metadata[k] = v
				}
			}
			d.Any("a2a_metadata", metadata)
		},
	})
}

// isPiece reports whether a response is one artifact of an answer, or a part of one.
func isPiece(response any) bool {
	update, _ := response.(map[string]any)
	_, ok := update["artifact"]
	return ok
}

// interactionKey tells answers apart. Values that JSON cannot hold are not compared.
func interactionKey(task, response any) string {
	data, err := json.Marshal([]any{task, response})
	if err != nil {
		return newID()
	}
	sum := sha256.Sum256(data)
	return string(sum[:])
}
