// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import "strings"

// nodePath is the path of a workflow node: segments name@run between slashes, outermost first. The
// node that a runner puts around its root agent has the agent's name alone.
type nodePath struct {
	parent    string // the path of the node around it
	name, run string
	parentRun string
}

func parseNode(path string) nodePath {
	last := lastSegment(path)
	n := nodePath{parent: strings.TrimSuffix(strings.TrimSuffix(path, last), "/")}
	n.name, n.run = cutRun(last)
	_, n.parentRun = cutRun(lastSegment(n.parent))
	return n
}

// Node returns the name of the workflow node at a path, and the path of the node around it.
func Node(path string) (around, name string) {
	n := parseNode(path)
	return n.parent, n.name
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func cutRun(segment string) (name, run string) {
	if i := strings.LastIndexByte(segment, '@'); i >= 0 {
		return segment[:i], segment[i+1:]
	}
	return segment, ""
}

// scopeKind names the kind of an isolation scope. Two things isolate an agent: the run of a
// workflow node, with a path that ends in name@run, and the call that delegated a task.
func scopeKind(scope string) string {
	if strings.Contains(lastSegment(scope), "@") {
		return "node_run"
	}
	return "function_call"
}
