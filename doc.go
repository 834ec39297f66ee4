// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package contextgraph records what an ADK-Go agent does, shows why it wants to act, and
// checks the world again before an approved action runs.
//
// An existing agent needs an Instance, and its plugins in the runner or the launcher:
//
//	cg, err := contextgraph.FromFile("contextgraph.yaml") // or Open with a Config
//	defer cg.Close(ctx)
//	r, err := runner.New(runner.Config{…, PluginConfig: cg.PluginConfig()})
//
// An Instance has these methods:
//
//	wire   PluginConfig, Run, AgentTool, SpanProcessor
//	guard  Protect, ProtectToolset, CheckTools, Replayable, RecordEntity
//	look   Approvals, History, Check, Why, Graph, Resolve, Stats, JournalPath
//	end    Flush, FlushBigQuery, Close
//
// Everything is kept in a local journal, a SQLite file. Nothing uses the network unless the
// configuration asks for it. Package config has every key, package bqstream is for BigQuery.
package contextgraph
