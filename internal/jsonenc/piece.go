// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import "bytes"

// Piece is a value as a Writer wrote it. To write it again takes a copy of bytes. It must not be
// changed, and is for Writers with the same limits and rules.
type Piece struct {
	json []byte
	// room is how many bytes a document must have left. With less of them something may be cut
	// that the piece holds whole.
	room int
	// nodes, redacted and repaired are what the value counted.
	nodes, redacted, repaired int
}

// Len returns the number of bytes that the piece takes in a document.
func (p *Piece) Len() int { return len(p.json) }

// Keep writes an object or a list by write, and returns it. text is how many bytes the strings in it
// have before they are cleaned and cut, or more. If a part of it was cut, Keep returns nil: with
// more room there would be more of it.
func (d Doc) Keep(text int, write func(Doc)) *Piece {
	w := d.w
	w.sep(d.off)
	from, nodes, redacted, repaired, cut := len(w.buf), w.nodes, w.secrets.Redacted, w.repaired, w.truncated
	w.truncated = false
	write(d)
	whole := !w.truncated
	w.truncated = cut || w.truncated
	if !whole {
		return nil
	}
	json := bytes.Clone(w.buf[from:])
	return &Piece{
		json: json, room: len(json) + text,
		nodes: w.nodes - nodes, redacted: w.secrets.Redacted - redacted, repaired: w.repaired - repaired,
	}
}

// Again writes a piece, and reports whether it did. It does not if the value could come out in
// another way here, for lack of room.
func (d Doc) Again(p *Piece) bool {
	w := d.w
	if w.nodes+p.nodes > w.limits.Nodes || len(w.buf)+p.room > w.end {
		return false
	}
	w.sep(d.off)
	w.buf = append(w.buf, p.json...)
	w.nodes += p.nodes
	w.secrets.Redacted += p.redacted
	w.repaired += p.repaired
	w.odd = true // nobody looked at what it holds
	return true
}
