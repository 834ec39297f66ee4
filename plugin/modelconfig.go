// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// modelConfig writes attributes.llm_config, .labels and .tools. Only what is set
// is written.
func modelConfig(d jsonenc.Doc, c *genai.GenerateContentConfig) {
	if c == nil {
		return
	}
	d.Key("llm_config")
	d.Open('{')
	if c.Temperature != nil {
		d.Any("temperature", *c.Temperature)
	}
	if c.TopP != nil {
		d.Any("top_p", *c.TopP)
	}
	if c.TopK != nil {
		d.Any("top_k", *c.TopK)
	}
	if c.CandidateCount != 0 {
		d.Int("candidate_count", int64(c.CandidateCount))
	}
	if c.MaxOutputTokens != 0 {
		d.Int("max_output_tokens", int64(c.MaxOutputTokens))
	}
	if len(c.StopSequences) > 0 {
		d.Any("stop_sequences", c.StopSequences)
	}
	if c.PresencePenalty != nil {
		d.Any("presence_penalty", *c.PresencePenalty)
	}
	if c.FrequencyPenalty != nil {
		d.Any("frequency_penalty", *c.FrequencyPenalty)
	}
	d.OptStr("response_mime_type", c.ResponseMIMEType)
	if c.ResponseSchema != nil {
		d.Any("response_schema", c.ResponseSchema)
	} else if c.ResponseJsonSchema != nil {
		d.Any("response_schema", c.ResponseJsonSchema)
	}
	if c.Seed != nil {
		d.Int("seed", int64(*c.Seed))
	}
	if c.ResponseLogprobs {
		d.Bool("response_logprobs", true)
	}
	if c.Logprobs != nil {
		d.Int("logprobs", int64(*c.Logprobs))
	}
	d.Close('}')
	if len(c.Labels) > 0 {
		d.Any("labels", c.Labels)
	}
	open := false
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
			d.Open('{')
			d.Str("name", f.Name)
			d.OptStr("description", f.Description)
			if f.ParametersJsonSchema != nil {
				d.Any("parameters", f.ParametersJsonSchema)
			} else if f.Parameters != nil {
				d.Any("parameters", f.Parameters)
			}
			d.Close('}')
		}
	}
	if open {
		d.Close(']')
	}
}
