// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	adkplugin "google.golang.org/adk/v2/plugin"
)

// Plugins returns the two plugins of a runner. first records and must be the first of all
// plugins; last must be the last. With recording off first is nil, and last denies.
func (g *Gate) Plugins() (first, last *adkplugin.Plugin, err error) {
	gate := adkplugin.Config{
		Name: gateName, BeforeRunCallback: g.admit, BeforeModelCallback: g.beforeModel, BeforeToolCallback: g.beforeTool,
	}
	if g.rec.Recording() {
		observer := g.rec.Observer()
		observer.OnUserMessageCallback = g.onUserMessage
		observer.OnEventCallback = g.onEvent
		observer.BeforeModelCallback = g.offerTools(observer.BeforeModelCallback)
		observer.BeforeToolCallback = g.toolBegins
		observer.AfterToolCallback = g.toolEnds
		if first, err = adkplugin.New(observer); err != nil {
			return nil, nil, fmt.Errorf("contextgraph: observer plugin: %w", err)
		}
	} else if !g.inputs.empty() {
		gate.OnUserMessageCallback = g.refuseInputs
	}
	if last, err = adkplugin.New(gate); err != nil {
		return nil, nil, fmt.Errorf("contextgraph: gate plugin: %w", err)
	}
	return first, last, nil
}
