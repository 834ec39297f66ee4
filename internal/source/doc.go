// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package source asks the places that need no code of the host for the present state of
// entities: services over HTTP and databases over SQL.
//
// Its checkers keep the contract of [safety.Checker], and nothing is decided here: package
// safety compares what they answer. What is not understood in full is an error, beside which
// what was understood is returned. An entity fills places that the configuration sets aside
// for it: a segment of a path, a value of a query, a parameter of a statement. It reaches
// nothing else.
package source
