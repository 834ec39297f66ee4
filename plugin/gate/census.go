// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Named is a part of the configuration that names a tool.
type Named struct {
	// Key describes the part: guard.tools, or `rule "prices"`.
	Key string
	// Tool is the name, or a pattern of names as in guard.tools.
	Tool string
	// Without says what is missing where no tool has the name: "it finds nothing".
	Without string
}

// UnknownNameError is a name in the configuration that no known tool or node has.
type UnknownNameError struct {
	// Key is the part of the configuration, as guard.tools or `rule "prices"`. Name is the name or
	// pattern there.
	Key, Name string
	// Meant is the known name that was probably meant, "" if none is near.
	Meant string
	// Without says what is missing without the tool or node.
	Without string
	// Node says that the name is meant to be that of a node.
	Node bool
}

// Error returns the name, the consequence and the remedy.
func (e *UnknownNameError) Error() string {
	what, remedy := "tool", "correct the name, or hand the tools of all agents to CheckTools at the start"
	if e.Node {
		what, remedy = "node", "correct the name"
	}
	if e.Meant != "" {
		remedy = fmt.Sprintf("did you mean %q? Else %s", e.Meant, remedy)
	}
	return fmt.Sprintf("contextgraph: %s names %q, but no known %s has that name: %s; %s", e.Key, e.Name, what, e.Without, remedy)
}

// census knows the names of the tools and nodes of the agents that ran, and of the tools that the
// program handed over.
type census struct {
	mu sync.Mutex
	// tools says of each name whether a tool of it was told to ask for confirmations.
	tools map[string]bool
	// bare are the names of tools without Protect.
	bare  map[string]bool
	nodes map[string]bool
	// unasked holds the agents with toolsets that have not been asked for their tools.
	unasked map[string]bool
	// started says that the latest run began at the root of its agents, so that it shows all of them.
	started bool
	// offered is the number of tools in the latest request of each agent.
	offered map[string]int
	// grouped holds the groups of the log with the tools that it has named there.
	grouped map[[2]string]bool
	// agents holds the parts of agents that were walked.
	agents *lru.Cache[agent.Agent, []adkreflect.Part]
}

// Agents and names beyond these numbers are not remembered.
const (
	knownAgents = 1000
	knownNames  = 100_000
)

func newCensus() (*census, error) {
	agents, err := lru.New[agent.Agent, []adkreflect.Part](knownAgents)
	return &census{
		tools: make(map[string]bool), bare: make(map[string]bool), nodes: make(map[string]bool), unasked: make(map[string]bool), offered: make(map[string]int),
		grouped: make(map[[2]string]bool), agents: agents,
	}, err
}

// parts returns the parts of the agent.
func (c *census) parts(a agent.Agent) []adkreflect.Part {
	if a == nil || reflect.TypeOf(a).Kind() != reflect.Pointer {
		return adkreflect.Parts(a)
	}
	parts, ok := c.agents.Get(a)
	if !ok {
		parts = adkreflect.Parts(a)
		c.agents.Add(a, parts)
	}
	return parts
}

// meet learns the names of parts. A toolset counts as one that was not asked yet.
func (c *census) meet(parts []adkreflect.Part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tools)+len(c.nodes) > knownNames {
		return
	}
	for _, p := range parts {
		switch {
		case p.Toolset != nil && p.Agent == nil:
		case p.Toolset != nil:
			if _, asked := c.offered[p.Agent.Name()]; !asked {
				c.unasked[p.Agent.Name()] = true
			}
		case p.Tool == nil && p.Node == nil: // an agent is also the author of requests for inputs
			c.nodes[p.Agent.Name()] = true
		}
		if p.Node != nil {
			c.nodes[p.Node.Name()] = true
		}
		c.tool(p.Tool)
	}
}

func (c *census) tool(t tool.Tool) {
	switch t.(type) {
	case nil:
		return
	case *protected, *protectedStream:
	default:
		c.bare[t.Name()] = true
	}
	c.tools[t.Name()] = c.tools[t.Name()] || adkreflect.Asks(t)
}

// start notes whether a run begins at the root of its agents: one that resumes may begin below it.
func (c *census) start(root bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = root
}

// offers learns the tools that an agent offers to its model. It returns false if it looked at as
// many tools of the agent before: toolsets that change keep their size as a rule.
func (c *census) offers(of string, tools map[string]any) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, known := c.offered[of]; known && n == len(tools) || len(c.tools) > knownNames {
		return false
	}
	c.offered[of] = len(tools)
	delete(c.unasked, of)
	for name, v := range tools {
		if t, ok := v.(tool.Tool); ok {
			c.tool(t)
			c.tools[name] = c.tools[name] || c.tools[t.Name()]
		}
	}
	return true
}

// asked notes that a tool asked for a confirmation.
func (c *census) asked(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools[name] = true
}

// asks reports whether a tool of that name was told to ask for confirmations, or has asked.
func (c *census) asks(t tool.Tool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	asks, known := c.tools[t.Name()]
	if !known && len(c.tools) <= knownNames {
		c.tool(t)
		asks = c.tools[t.Name()]
	}
	return asks
}

// learned logs each tool that asks for approvals, once and in groups, and each name in the
// configuration that seems to be wrong. offered says that a model request has shown the tools of
// an agent, or that no agent makes one: a name that is like no other is wrong only then. The error
// joins the names that are refused.
func (g *Gate) learned(offered bool) error {
	c := g.census
	c.mu.Lock()
	defer c.mu.Unlock()
	g.logGroups()
	whole := offered && c.started
	known := len(c.unasked) == 0 && len(c.tools) <= knownNames
	var refused []error
	for _, e := range g.unknown() {
		guards := e.Key == keyTools || e.Key == keyInputs
		switch {
		case e.Meant != "":
			g.tell(slog.LevelWarn, e)
			if g.refuseUnguarded && guards && known {
				refused = append(refused, e)
			}
		case whole && known && guards:
			g.tell(slog.LevelWarn, e)
		case whole && known: // perhaps a tool of another program with this configuration
			g.tell(slog.LevelInfo, e)
		}
	}
	return errors.Join(refused...)
}

// Notes returns what an approver should know about the configuration: the names in it that are like
// the name of a known tool or node, and that none has.
func (g *Gate) Notes() (notes []string) {
	g.census.mu.Lock()
	defer g.census.mu.Unlock()
	for _, e := range g.unknown() {
		if e.Meant != "" {
			notes = append(notes, strings.TrimPrefix(e.Error(), "contextgraph: "))
		}
	}
	return notes
}

// checkNames logs the names of tools in the configuration that no known tool has. With
// [config.UnguardedError] it returns them too, except for names in rules that are like no other: a
// configuration that programs share names tools of each.
func (g *Gate) checkNames() error {
	g.census.mu.Lock()
	defer g.census.mu.Unlock()
	var found []error
	for _, e := range g.unknown() {
		switch {
		case e.Node: // tools do not show the nodes of the program
		case e.Meant != "" || e.Key == keyTools:
			g.tell(slog.LevelWarn, e)
			found = append(found, e)
		default:
			g.tell(slog.LevelInfo, e)
		}
	}
	if !g.refuseUnguarded {
		return nil
	}
	return errors.Join(found...)
}

// tell logs an unknown name once.
func (g *Gate) tell(level slog.Level, e *UnknownNameError) {
	if g.once(*e) {
		if e.Key == keyTools || e.Key == keyInputs {
			g.unguarded.Add(1)
		}
		g.log.Log(context.Background(), level, e.Error())
	}
}

// Keys of the configuration that name what is guarded.
const (
	keyTools  = "guard.tools"
	keyInputs = "guard.inputs"
)

// unknown returns the names in the configuration that no known tool or node has. The census is locked.
func (g *Gate) unknown() (out []*UnknownNameError) {
	c := g.census
	g.mu.Lock()
	tools := slices.Sorted(maps.Keys(c.tools))
	for name := range g.protected {
		tools = append(tools, name)
	}
	for name := range g.replayable {
		tools = append(tools, name)
	}
	g.mu.Unlock()
	for _, n := range g.named {
		if p := pattern(n.Tool); !slices.ContainsFunc(tools, p.match) {
			out = append(out, &UnknownNameError{Key: n.Key, Name: n.Tool, Without: n.Without, Meant: meant(p, tools)})
		}
	}
	nodes := slices.Sorted(maps.Keys(c.nodes))
	for _, p := range g.inputs.all() {
		if !slices.ContainsFunc(nodes, p.match) {
			out = append(out, &UnknownNameError{Key: keyInputs, Name: string(p), Without: "it guards nothing", Node: true, Meant: meant(p, nodes)})
		}
	}
	return out
}

// The groups of tools in the log.
const (
	groupAlways   = "contextgraph: tools that need an approval for every call"
	groupDecide   = "contextgraph: tools that ask by themselves; the calls that ask are guarded"
	groupUnasked  = "contextgraph: a rule with in: action reads the arguments of these tools, and nothing is known to make them ask: a call that does not ask by itself runs without a check; list them under guard.tools, or wrap them with Protect, if each of their calls needs an approval"
	groupUnseen   = "contextgraph: a checker with replay has to call these tools again, and they are not registered: each check of what they showed fails; hand them to Replayable"
	groupObserved = "contextgraph: tools that ask by themselves and are only observed: no verdict blocks them"
	groupBare     = "contextgraph: guarded tools without Protect, so what a call reads of the state and of artifacts is not compared with what was there when it asked; wrap those with Protect that read any"
)

// logGroups logs the tools that ask for approvals and were not named before. The census is locked.
func (g *Gate) logGroups() {
	names := make(map[string][]string)
	add := func(group, name string) {
		if key := [2]string{group, name}; !g.census.grouped[key] {
			g.census.grouped[key] = true
			names[group] = append(names[group], name)
		}
	}
	for name, asks := range g.census.tools {
		enforced, each := g.enforced(name)
		switch {
		case each:
			g.tellUnread(name)
			add(groupAlways, name)
		case enforced && asks:
			if !g.census.grouped[[2]string{groupUnasked, name}] {
				add(groupDecide, name)
			}
		case enforced:
			add(groupUnasked, name)
		case asks && g.observing:
			add(groupObserved, name)
		}
		if enforced && g.census.bare[name] {
			add(groupBare, name)
		}
		if typ := g.replayed[name]; typ != "" && !g.repeats(typ) {
			add(groupUnseen, name)
		}
	}
	for _, group := range []string{groupAlways, groupDecide, groupUnasked, groupObserved, groupBare, groupUnseen} {
		if len(names[group]) > 0 {
			slices.Sort(names[group])
			level := slog.LevelInfo
			if group == groupUnseen || group == groupUnasked && g.refuseUnguarded {
				level = slog.LevelWarn
			}
			g.log.Log(context.Background(), level, group, "tools", strings.Join(names[group], ", "))
		}
	}
}

// meant returns the known name that the pattern was probably meant to stand for.
func meant(p pattern, names []string) string {
	if p.isName() {
		return text.Nearest(string(p), names)
	}
	prefix := string(p)[:strings.IndexAny(string(p), metaCharacters)]
	var starts []string
	whole := make(map[string]string)
	for _, name := range names {
		for n := len(prefix) - 1; n <= len(prefix)+1; n++ {
			if n > 0 && n <= len(name) {
				starts = append(starts, name[:n])
				whole[name[:n]] = name
			}
		}
	}
	return whole[text.Nearest(prefix, starts)]
}
