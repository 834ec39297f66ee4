// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import "google.golang.org/adk/v2/plugin"

// Observer returns the callbacks of the recorder as a plugin. It must be registered first:
// the plugin chain of ADK ends at the first plugin that returns a value, and an observer
// behind such a plugin would see nothing. All callbacks return nil values. A caller that
// replaces one calls [Recorder.UserMessage], [Recorder.OnEvent], [Recorder.BeforeTool] or
// [Recorder.EndTool] in its place. Another plugin, registered last, has to call [Run.Admit].
func (rec *Recorder) Observer() plugin.Config {
	return plugin.Config{
		Name:                  observerName,
		OnUserMessageCallback: rec.onUserMessage,
		OnEventCallback:       rec.onEvent,
		BeforeRunCallback:     rec.beforeRun,
		AfterRunCallback:      rec.afterRun,
		BeforeAgentCallback:   rec.beforeAgent,
		AfterAgentCallback:    rec.afterAgent,
		BeforeModelCallback:   rec.beforeModel,
		AfterModelCallback:    rec.afterModel,
		OnModelErrorCallback:  rec.onModelError,
		BeforeToolCallback:    rec.beforeTool,
		AfterToolCallback:     rec.afterTool,
		OnToolErrorCallback:   rec.onToolError,
	}
}
