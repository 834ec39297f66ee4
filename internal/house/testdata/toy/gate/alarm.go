// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package gate has four files. Two of them, the gate and its lock, use each other.
package gate

// Loud is how loud the alarm is.
const Loud = 11

// Ring is a method outside the file of its type, so this file uses that one.
func (g *Gate) Ring() int { return Loud }
