// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	adkplugin "google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
)

// Plugins returns the plugins of a runner that is recorded and has no gate: the recorder's
// first, the others, and a last one that admits the run.
func Plugins(rec *Recorder, others ...*adkplugin.Plugin) runner.PluginConfig {
	return PluginsWith(rec, func(*adkplugin.Config) {}, others...)
}

// PluginsWith lets change put other callbacks in the place of the recorder's, as a gate does.
func PluginsWith(rec *Recorder, change func(*adkplugin.Config), others ...*adkplugin.Plugin) runner.PluginConfig {
	observer := rec.Observer()
	change(&observer)
	first, err := adkplugin.New(observer)
	if err != nil {
		panic(err)
	}
	last, err := adkplugin.New(adkplugin.Config{
		Name: "admits",
		BeforeRunCallback: func(ctx agent.InvocationContext) (*genai.Content, error) {
			if r := rec.Lookup(ctx); r != nil {
				r.Admit()
			}
			return nil, nil
		},
	})
	if err != nil {
		panic(err)
	}
	return runner.PluginConfig{Plugins: slices.Concat([]*adkplugin.Plugin{first}, others, []*adkplugin.Plugin{last})}
}

// Forget makes a recorder forget all conversations, so that its next rows list all that requests show.
func Forget(rec *Recorder) { rec.conversations.Purge() }
