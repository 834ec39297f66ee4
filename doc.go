// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package contextgraph records what an ADK-Go agent does, turns it into a graph
// of why the agent wants to act, and lets an approved action run only if the
// world it was approved in is still there.
//
// An existing agent needs an [Instance] and its plugins in the runner:
//
//	cg, err := contextgraph.FromFile("contextgraph.yaml")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer cg.Close(context.Background())
//
//	r, err := runner.New(runner.Config{
//		AppName:        "shop",
//		Agent:          root,
//		SessionService: sessions,
//		PluginConfig:   cg.PluginConfig(),
//	})
//
// A launcher takes the same value as launcher.Config.PluginConfig. A tool whose
// effect matters is given to its agent as cg.Protect(t), a toolset as
// cg.ProtectToolset(ts); cg.CheckTools names tools that would run without the gate.
//
// Everything is kept in a local journal, a SQLite file. Nothing here uses the network
// unless the configuration asks for it: with a checker over HTTP, a bucket for large
// parts, or a BigQuery dataset.
package contextgraph
