// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package checkpoint takes a session of ADK-Go back to an earlier position. It is an optional part of contextgraph:
//
//	cps := checkpoint.New(cg)
//	sessions := cps.Sessions(database)              // for every runner, and for the REST server
//	cp, err := cps.Create(ctx, s, "before booking") // each user message is a checkpoint already
//	result, err := cps.Rewind(ctx, s, cp.ID)
//
// A checkpoint is a position between two turns, not a copy. A rewind hides the events behind it. They stay in the store
// of sessions and in the record, and bear no evidence for what comes after. What was done in the world stays done: the
// caller has to name each such call. docs/checkpoints.md is the guide.
package checkpoint

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/part"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Errors of [Checkpoints]. They come wrapped, with what is the matter.
var (
	// ErrNotFound means that the user has no such session, or that the session has no such checkpoint. A rewind
	// takes the checkpoints that it leaves with it.
	ErrNotFound = errors.New("checkpoint not found")
	// ErrTooEarly means that the position is before the first message that came through [Checkpoints.Sessions]:
	// nothing has the state of that moment.
	ErrTooEarly = errors.New("the position is before the first message that came through the session service of package checkpoint")
	// ErrCorrupted means that the session has lost the position, or that a file is not what it says.
	ErrCorrupted = errors.New("corrupted")
	// ErrRunning means that something of the session is under way.
	ErrRunning = errors.New("the session is in use")
	// ErrEffects means that calls behind the position may have acted on the world. [Keep] names them.
	ErrEffects = errors.New("what was done stays done")
	// ErrTooLarge means that a file is larger than [MaxBytes].
	ErrTooLarge = errors.New("the file is too large")
	// ErrForeign means that an event of the session says that it went back, and that the record knows nothing of that.
	ErrForeign = errors.New("an event says that the session went back, and the record knows nothing of it")
)

// MaxName bounds the name of a checkpoint, in bytes.
const MaxName = 200

// Checkpoints are the checkpoints of the sessions of one session service. It is safe for concurrent use.
type Checkpoints struct {
	host    part.Host
	reads   []string
	service atomic.Pointer[session.Service] // without the decorator

	// rewinds are those that were read last, by the ids of their rows.
	rewinds *lru.Cache[string, *rewind]
	// An event is appended under the read lock of its session, and a rewind is made under the write lock. went counts
	// the rewinds of each session that this process made.
	locks [64]sync.RWMutex
	seed  maphash.Seed
	went  sync.Map // of record.Session
	busy  sync.Map // sessions that go back
}

// Option is an option of [New].
type Option func(*Checkpoints)

// Reads names tools that only read, by name or pattern, as "search*": a call of one is no effect. So is a call of a tool
// that the program gave to Replayable.
func Reads(tools ...string) Option {
	return func(c *Checkpoints) { c.reads = append(c.reads, tools...) }
}

// New returns the checkpoints of the sessions that cg records.
func New(cg *contextgraph.Instance, opts ...Option) *Checkpoints {
	c := &Checkpoints{seed: maphash.MakeSeed()}
	c.rewinds, _ = lru.New[string, *rewind](1000) // an error is for a size below 1
	for _, o := range opts {
		o(c)
	}
	cg.Attach((*guest)(c))
	return c
}

// guest takes what an instance gives, out of the sight of users.
type guest Checkpoints

func (*guest) Name() string         { return "checkpoint" }
func (g *guest) Attach(h part.Host) { g.host = h }

// Checkpoint is a position of a session.
type Checkpoint struct {
	// ID is that of the user message behind the position, or that of the row that named the position.
	ID string `json:"id"`
	// Name is "" for the position before a message that nobody named.
	Name string `json:"name,omitempty"`
	// Time is when the message came, or when the position was named.
	Time time.Time `json:"time"`
	// Events is how many events the session has there.
	Events int `json:"events"`
	// Message is the beginning of the message behind the position, "" at the end of the session.
	Message string `json:"message,omitempty"`
	// State is the state of the session there, without the parts that are shared. Only Get gives it.
	State map[string]any `json:"state,omitempty"`
}

// Create names the present position of a session. Inside of a turn that is the end of the turn. It costs one row,
// whatever the length of the session. A name may be free again: see Delete.
func (c *Checkpoints) Create(ctx context.Context, s record.Session, name string) (Checkpoint, error) {
	if err := c.ready(); err != nil {
		return Checkpoint{}, err
	}
	if name == "" || len(name) > MaxName || !utf8.ValidString(name) {
		return Checkpoint{}, fmt.Errorf("checkpoint: the name %s is not one: it needs 1 to %d bytes of UTF-8", config.Quote(name), MaxName)
	}
	id, err := c.free(ctx, s, name)
	if err == nil {
		id, err = c.note(ctx, s, id, created, plugin.Object{{Key: "name", Value: name}})
	}
	if err != nil {
		return Checkpoint{}, err
	}
	row, _, err := c.host.Store.Row(ctx, id)
	return Checkpoint{ID: id, Name: name, Time: row.Time()}, err
}

// free returns an id for the row of a name. The ids of a name follow from it, so that nobody has to look for others: each
// is free again when there is a row that deletes it.
func (c *Checkpoints) free(ctx context.Context, s record.Session, name string) (string, error) {
	for n := 0; ; n++ {
		id := c.digest(s, name, fmt.Sprint(n))
		taken, err := c.host.Store.Stored(ctx, id)
		if err != nil || !taken {
			return id, err
		}
		deleted, err := c.host.Store.Stored(ctx, c.digest(s, id))
		if err == nil && !deleted {
			err = fmt.Errorf("checkpoint: the session has a checkpoint %s already; delete it, or take another name", config.Quote(name))
		}
		if err != nil {
			return "", err
		}
	}
}

// digest returns the id of a row that follows from texts.
func (c *Checkpoints) digest(s record.Session, texts ...string) string {
	mac := hmac.New(sha256.New, c.host.Store.Secret())
	fmt.Fprintf(mac, "%q %q", s, texts)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// List returns the positions of a session, newest first: the named ones, and one before each message of the user.
func (c *Checkpoints) List(ctx context.Context, s record.Session) ([]Checkpoint, error) {
	p, err := c.positions(ctx, s)
	if err != nil {
		return nil, err
	}
	list := make([]Checkpoint, 0, len(p.list))
	for _, at := range slices.Backward(p.list) {
		list = append(list, p.shown(at))
	}
	return list, nil
}

// Get returns one position with the state there.
func (c *Checkpoints) Get(ctx context.Context, s record.Session, id string) (Checkpoint, error) {
	p, err := c.positions(ctx, s)
	if err != nil {
		return Checkpoint{}, err
	}
	at, err := p.find(id)
	if err != nil {
		return Checkpoint{}, err
	}
	at.State, err = p.stateAt(at.place)
	return p.shown(at), err
}

// Delete removes the name of a position. The position before a message stays.
func (c *Checkpoints) Delete(ctx context.Context, s record.Session, id string) error {
	if err := c.ready(); err != nil {
		return err
	}
	_, marks, err := c.marks(ctx, s)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(marks, func(m mark) bool { return m.id == id }) {
		return fmt.Errorf("%w: session %s has no named checkpoint %s", ErrNotFound, config.Quote(s.ID), config.Quote(id))
	}
	_, err = c.note(ctx, s, c.digest(s, id), deleted, plugin.Object{{Key: "of", Value: id}})
	return err
}

// positions are the positions of a session.
type positions struct {
	*history
	list     []position     // by their places
	messages []record.Event // the rows
}

type position struct {
	Checkpoint
	place int   // among the visible events
	err   error // why nobody can go there
}

// positionAt returns the position at a place.
func positionAt(place int, id, name string, at time.Time) position {
	return position{place: place, Checkpoint: Checkpoint{ID: id, Name: name, Time: at.UTC(), Events: place}}
}

// shown returns the checkpoint of a position as people see it.
func (h *history) shown(p position) Checkpoint {
	if p.place < len(h.visible) {
		p.Message = summary(h.visible[p.place])
	}
	return p.Checkpoint
}

// positions reads a session and finds its positions.
func (c *Checkpoints) positions(ctx context.Context, s record.Session) (*positions, error) {
	h, err := c.open(ctx, s)
	if err != nil {
		return nil, err
	}
	messages, marks, err := c.marks(ctx, s)
	if err != nil {
		return nil, err
	}
	p := &positions{history: h, messages: messages, list: make([]position, 0, len(h.turns)+len(marks))}
	for _, t := range h.turns {
		ev := h.visible[t.at]
		p.list = append(p.list, positionAt(t.at, ev.ID, "", ev.Timestamp))
	}
	for _, m := range marks {
		place, err := c.place(ctx, h, messages, m)
		if errors.Is(err, ErrNotFound) {
			continue // it was left
		}
		at := positionAt(place, m.id, m.Name, m.at)
		at.err = err
		p.list = append(p.list, at)
	}
	slices.SortStableFunc(p.list, func(a, b position) int { return a.place - b.place })
	return p, nil
}

// find returns the position with an id.
func (p *positions) find(id string) (position, error) {
	i := slices.IndexFunc(p.list, func(at position) bool { return at.ID == id })
	if i < 0 || id == "" {
		return position{}, fmt.Errorf("%w: the session has no checkpoint %s", ErrNotFound, config.Quote(id))
	}
	return p.list[i], p.list[i].err
}

// place returns the place of a named position: behind the turn of the last message before it.
func (c *Checkpoints) place(ctx context.Context, h *history, messages []record.Event, m mark) (int, error) {
	for _, row := range slices.Backward(messages) {
		if row.Seq > m.seq {
			continue
		}
		i, visible := h.turnOf[row.RunID]
		if !visible {
			i, visible = h.turnOf[row.InvocationID]
		}
		switch {
		case visible && i+1 < len(h.turns):
			return h.turns[i+1].at, nil
		case visible:
			return len(h.visible), nil
		case h.left[row.RunID]:
			return 0, fmt.Errorf("%w: a rewind left it", ErrNotFound)
		}
		if acted, err := c.acted(ctx, row); err != nil {
			return 0, err
		} else if acted {
			return 0, fmt.Errorf("%w: the session has lost the turn before checkpoint %s", ErrCorrupted, config.Quote(m.Name))
		}
	}
	for _, t := range h.turns {
		if t.run != "" {
			return t.at, nil
		}
	}
	return len(h.visible), nil
}

// acted reports whether an agent acted in the run that began with a message. Else the message was turned away, and the
// session never had it.
func (c *Checkpoints) acted(ctx context.Context, message record.Event) (bool, error) {
	rows, err := c.host.Store.RowsAfter(ctx, message.Session(), message.Seq)
	return slices.ContainsFunc(rows, func(e record.Event) bool {
		return e.RunID == message.RunID && e.EventType == record.AgentStarting
	}), err
}

// summary returns the beginning of a message.
func summary(ev *session.Event) string {
	var words []string
	for _, p := range ev.Content.Parts {
		switch {
		case p == nil:
		case p.Text != "":
			words = append(words, p.Text)
		case p.FunctionResponse != nil:
			words = append(words, "(answer to "+p.FunctionResponse.Name+")")
		default:
			words = append(words, "(data)")
		}
	}
	text := []rune(strings.Join(strings.Fields(strings.Join(words, " ")), " "))
	if len(text) > 80 {
		text = append(text[:79], '…')
	}
	return string(text)
}

// ready reports what is missing for any work.
func (c *Checkpoints) ready() error {
	switch {
	case c.host.Store == nil:
		return contextgraph.ErrDisabled
	case c.service.Load() == nil:
		return errors.New("checkpoint: no session service is known; give the runners what Sessions returns for yours")
	}
	return nil
}

// lock returns the lock of a session.
func (c *Checkpoints) lock(s record.Session) *sync.RWMutex {
	return &c.locks[maphash.Comparable(c.seed, s)%uint64(len(c.locks))]
}

// generation returns how often this process took a session back.
func (c *Checkpoints) generation(s record.Session) int {
	n, _ := c.went.Load(s)
	times, _ := n.(int)
	return times
}
