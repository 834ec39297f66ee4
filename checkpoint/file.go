// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// MaxBytes bounds the file of an exported session.
const MaxBytes = 64 << 20

const (
	fileFormat  = "contextgraph session"
	fileVersion = 1
)

// file is an exported session.
type file struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// SHA256 is the digest of Session as it stands in the file.
	SHA256  string          `json:"sha256"`
	Session json.RawMessage `json:"session"`
}

// Export writes a session up to a checkpoint as one JSON file. It has all that the agents read, in clear: it is as secret
// as the session. The record stays where it is.
func (c *Checkpoints) Export(ctx context.Context, s record.Session, id string, to io.Writer) error {
	p, err := c.positions(ctx, s)
	if err != nil {
		return err
	}
	at, err := p.find(id)
	if err != nil {
		return err
	}
	tale, err := p.tale(at)
	if err != nil {
		return err
	}
	for _, ev := range tale.Events {
		ev.CustomMetadata = maps.Clone(ev.CustomMetadata)
		if state, has := base(ev); has {
			ev.CustomMetadata[messageKey] = map[string]any{keyState: state}
		} else {
			delete(ev.CustomMetadata, messageKey)
		}
	}
	data, err := json.Marshal(tale)
	if err == nil {
		sum := sha256.Sum256(data)
		data, err = json.Marshal(file{fileFormat, fileVersion, hex.EncodeToString(sum[:]), data})
	}
	switch {
	case err != nil:
		return fmt.Errorf("checkpoint: %w", err)
	case len(data) > MaxBytes:
		return fmt.Errorf("%w: %d MiB; %d are possible", ErrTooLarge, len(data)>>20, MaxBytes>>20)
	}
	if _, err = to.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Import makes a new session of a file that Export wrote, and returns it. The fields of s that are set take the place of
// those in the file. What the history of the session shows proves nothing: before a guarded call the agent has to read
// everything again.
func (c *Checkpoints) Import(ctx context.Context, from io.Reader, s record.Session) (record.Session, error) {
	if err := c.ready(); err != nil {
		return record.Session{}, err
	}
	data, err := io.ReadAll(io.LimitReader(from, MaxBytes+1))
	switch {
	case err != nil:
		return record.Session{}, fmt.Errorf("checkpoint: %w", err)
	case len(data) > MaxBytes:
		return record.Session{}, fmt.Errorf("%w: %d MiB are possible", ErrTooLarge, MaxBytes>>20)
	}
	tale, err := readFile(data)
	if err != nil {
		return record.Session{}, err
	}
	for _, of := range []struct{ to, from *string }{{&s.App, &tale.App}, {&s.User, &tale.User}, {&s.ID, &tale.ID}} {
		if *of.to == "" {
			*of.to = *of.from
		}
	}
	return c.create(ctx, s, tale, imported, func(to record.Session) error {
		return c.host.Recorder.Import(ctx, to, tale.Events)
	})
}

// readFile reads what Export wrote.
func readFile(data []byte) (*tale, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: the file is no JSON object: %v", ErrCorrupted, err)
	}
	sum := sha256.Sum256(f.Session)
	switch {
	case f.Format != fileFormat:
		return nil, fmt.Errorf("%w: the file is no exported session", ErrCorrupted)
	case f.Version != fileVersion:
		return nil, fmt.Errorf("%w: the file has version %d, and this program reads %d", ErrCorrupted, f.Version, fileVersion)
	case hex.EncodeToString(sum[:]) != f.SHA256:
		return nil, fmt.Errorf("%w: the SHA-256 in the file is of another content", ErrCorrupted)
	}
	t := new(tale)
	dec := json.NewDecoder(bytes.NewReader(f.Session))
	dec.DisallowUnknownFields()
	if err := dec.Decode(t); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupted, err)
	}
	for i, ev := range t.Events {
		if ev == nil || ev.ID == "" {
			return nil, fmt.Errorf("%w: event %d has no id", ErrCorrupted, i+1)
		}
		// Only the state of a message is taken from a file.
		state, has := base(ev)
		delete(ev.CustomMetadata, plugin.RewindKey)
		delete(ev.CustomMetadata, messageKey)
		if has {
			ev.CustomMetadata[messageKey] = map[string]any{keyState: own(state)}
		}
		ev.Actions.StateDelta = own(ev.Actions.StateDelta)
	}
	t.State = own(t.State)
	return t, nil
}
