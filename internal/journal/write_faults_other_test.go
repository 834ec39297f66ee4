// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package journal_test

// faultChild is for systems on which a process can limit what it may do.
func faultChild(string) {}
