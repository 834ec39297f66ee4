// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package verify tries a project of BigQuery out: it makes a dataset of its own, streams a small
// record to it, asks everything that contextgraph can ask and compares the answers with those of
// the journal. Then it removes the dataset.
//
// A run is a list of checks in one order. A check that failed fails those that need it by no
// means: they are skipped, and say why. Each statement has a dry run first, and does not run
// if that says that it reads more than its bound. So the bounds are also the most that a run
// can cost.
package verify
