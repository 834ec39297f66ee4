// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// modelConfig writes attributes.llm_config, .labels and .tools. Only what is set
// is written.
func (enc *encoder) modelConfig(d jsonenc.Doc, c *genai.GenerateContentConfig) {
	if c == nil {
		return
	}
	var schemas *schemaWriter
	if c.ResponseSchema != nil || c.ResponseJsonSchema != nil || len(c.Tools) > 0 {
		schemas = enc.schemas.writer(d)
	}
	open := false
	set := func() jsonenc.Doc {
		if !open {
			d.Key("llm_config")
			d.Open('{')
			open = true
		}
		return d
	}
	if c.Temperature != nil {
		set().Any("temperature", *c.Temperature)
	}
	if c.TopP != nil {
		set().Any("top_p", *c.TopP)
	}
	if c.TopK != nil {
		set().Any("top_k", *c.TopK)
	}
	if c.CandidateCount != 0 {
		set().Int("candidate_count", int64(c.CandidateCount))
	}
	if c.MaxOutputTokens != 0 {
		set().Int("max_output_tokens", int64(c.MaxOutputTokens))
	}
	if len(c.StopSequences) > 0 {
		set().Any("stop_sequences", c.StopSequences)
	}
	if c.PresencePenalty != nil {
		set().Any("presence_penalty", *c.PresencePenalty)
	}
	if c.FrequencyPenalty != nil {
		set().Any("frequency_penalty", *c.FrequencyPenalty)
	}
	if c.ResponseMIMEType != "" {
		set().Str("response_mime_type", c.ResponseMIMEType)
	}
	if c.ResponseSchema != nil {
		set().Key("response_schema")
		schemas.value(c.ResponseSchema)
	} else if c.ResponseJsonSchema != nil {
		set().Key("response_schema")
		schemas.value(c.ResponseJsonSchema)
	}
	if c.Seed != nil {
		set().Int("seed", int64(*c.Seed))
	}
	if c.ResponseLogprobs {
		set().Bool("response_logprobs", true)
	}
	if c.Logprobs != nil {
		set().Int("logprobs", int64(*c.Logprobs))
	}
	if open {
		d.Close('}')
	}
	if len(c.Labels) > 0 {
		d.Any("labels", c.Labels)
	}
	open = false
	for _, t := range c.Tools {
		if t == nil {
			continue
		}
		for _, f := range t.FunctionDeclarations {
			if f == nil {
				continue
			}
			if d.Full() {
				break
			}
			if !open {
				d.Key("tools")
				d.Open('[')
				open = true
			}
			schemas.declaration(f)
		}
	}
	if open {
		d.Close(']')
	}
}
