// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package source asks for the present state of entities without code of the host: services
// over HTTP and databases over SQL.
//
// Its checkers keep the contract of [safety.Checker]. They decide nothing: package safety
// compares their answers. An answer that is not understood in full is an error, and the part
// that was understood is returned beside it. An entity fills only the places that the
// configuration sets aside for it: a segment of a path, a value of a query, a parameter of a
// statement.
package source
