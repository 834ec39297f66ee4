// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import "time"

// Evidence has the things that a decision rests on, as the record of a session has them.
type Evidence struct {
	// Entities are the things recorded before the decision, by type and key, one for each
	// [Entity.Identity], which is their Key.
	//
	// Seen holds the readings that count, by time. Each has the attributes that count and no others.
	// Its Read says whether the deciding step had read it. Of several that say the same one, it is the
	// latest that the step had read, if any. Seen also holds the sightings in the arguments of the
	// action ([SourceAction], with the node of the decision).
	//
	// Attributes has each attribute of any sighting before the decision. Its value is that of the
	// latest reading that counts, or of the latest sighting if no reading of it counts. An entity
	// that was seen or named without attributes has the attribute [Exists], true, unless a reading
	// of another attribute counts. A sighting without attributes has it in Seen too.
	Entities []Canonical
	// NotChosen was recorded before the decision and does not count: rules with alternatives
	// showed it, and the action names other entries. Counted has, by Key, the entities of the
	// same types that count although the action does not name them, and says why.
	NotChosen NotChosen
	Counted   map[string]Counted
	// Echoed has, by Key and attribute, the argument of a look-up that a result only repeated, where no
	// reading of the attribute counts.
	Echoed map[string]map[string]string
	// Places has the places at which the arguments of the action name entities: by Key, the
	// normalized paths (RFC 9535) of the nodes in which rules found them. Paths of conditions start
	// there.
	Places map[string][]string
	// Arguments says what rules read of the arguments of the action.
	Arguments Arguments
	// Unnamed says, by type, why rules with alternatives could not read the name of a thing on a list. Nobody can
	// choose it, so it fails nothing but a sum over all things of the type.
	Unnamed map[string]string
	// Asked says that a model asked. The model must then have read the entities that it names.
	Asked bool
}

// Arguments says what rules read of the arguments of an action, in which texts that are JSON are opened.
type Arguments struct {
	// Read has the places that rules read, as JSON Pointers.
	Read []string
	// Money has, by place, what rules read as an amount, as people write it.
	Money map[string]string
	// Faults says in words what rules may have left aside: a list of which they do not read all, a member that
	// programs may take for one that they read.
	Faults []string
}

// NotChosen has the entities that a decision could have chosen and did not choose. None of them
// counts: they are not checked, have no part in a budget, a fingerprint or a verdict, and do not
// count as entities of a listed type.
type NotChosen struct {
	// Total counts the entities. Entities has the first of them by type and key, at most 20.
	Total    int           `json:"total"`
	Entities []Alternative `json:"entities,omitempty"`
}

// Alternative is an entity that was there to choose, as it was read last.
type Alternative struct {
	Type  string           `json:"type"`
	Value string           `json:"value"`
	Seen  map[string]Value `json:"seen,omitempty"`
	// SeenAt is when it was last seen.
	SeenAt time.Time `json:"seen_at,omitzero"`
}

// Counted says why an entity counts although the action does not name it and rules with
// alternatives find its type.
type Counted struct {
	// Row is the number of a row that shows or names it. Rule is the rule that found it there,
	// "" if a tool declared it or a model found it. Place is where the rule stands, as in
	// [Shown].
	Row         int64
	Rule, Place string
	// Result says that the rule reads the result of a tool, Alternatives that it says alternatives. Such
	// a rule shows nothing in the row that the action names; Session: nor in any other row. Asked says
	// that the arguments of the look-up name the entity.
	Result, Alternatives, Session, Asked bool
}

// Shown names a rule that shows an attribute of a type, and the tool in whose results.
type Shown struct {
	// Attribute is "" for a rule without attributes.
	Type, Attribute string
	// Tool is "" for a rule over the whole content of TOOL_COMPLETED, for any tool.
	Rule, Tool string
	// Place is the file and the line of the rule ("contextgraph.yaml:12"); "" for a rule written in Go.
	Place string
}
