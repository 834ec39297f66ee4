// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// BudgetExceeded is the drift type of a plan that costs more now than its budget.
// The alert is about the plan: the budget it names is not stale by it.
const BudgetExceeded = "budget_exceeded"

// budget is a rule across entities: the present cost of a plan must fit the approved budget, also if
// every price is within its tolerance. A rule that cannot be evaluated fails the check with
// [ReasonPolicy]. Reasons are: no entity has the type of the costs; a value is missing, was not
// read, is negative or no number; currencies differ; the budget is not unique.
//
// The entities in the arguments of the action count, each at the price that its checker answers, as
// often as the action names it. With a quantity it may be named once, because only one quantity is
// known: that of the action, else the one that was read. The budget is the one in the arguments of
// the action, or else the only one that is required, with its amount as it was read and approved. An
// amount that is only claimed is no limit, unless the policy lets the unseen pass. With Enough the amount is the
// smallest of all that were read and the present one. With Across other requests take from it. The
// arithmetic is exact.
type budget config.Budget

// budgets returns the rules for the calls of a tool. A check without a request falls under every rule.
func (b rulebook) budgets(tool string) (out []budget) {
	for _, entry := range b.Budgets {
		if entry.Tool == "" || tool == "" || text.MatchName(entry.Tool, tool) {
			out = append(out, budget(entry))
		}
	}
	return out
}

// unreadError says that the present cost of an entity is not known, and why.
type unreadError struct {
	attribute string
	cause     Failure
}

func (e *unreadError) Error() string {
	return fmt.Sprintf("the present %s of %s %s could not be read", e.attribute, e.cause.EntityType, e.cause.Entity)
}

// unread returns the failure of an entity that could not be read: one that time can heal, if there is one.
func (x *entityCheck) unread(e entity.Canonical) Failure {
	for _, f := range slices.Concat(x.failures, x.result.Skipped) {
		if f.heals() {
			return f
		}
	}
	return failOf(e, ReasonPolicy, "")
}

// costs returns the cost of the plan for each rule that applies, with the values that were read.
func (q *check) costs() []Cost {
	costs, _, _ := q.checkBudgets(nil)
	return costs
}

// checkBudgets holds what was found against the budget rules. Without anything found the values that were read count.
func (q *check) checkBudgets(found []entityCheck) (costs []Cost, alerts []Alert, failures []Failure) {
	if q.recordOnly && found != nil {
		return nil, nil, nil
	}
	for _, b := range q.policy.budgets(q.approval.Tool) {
		cost, alert, err := q.checkBudget(b, found)
		costs = append(costs, cost)
		switch {
		case err != nil:
			f := fail(ReasonPolicy, "it cannot be shown that what the plan costs now fits its %s: %v", b.Limit.Type, err)
			if unread, is := errors.AsType[*unreadError](err); is && unread.cause.heals() {
				// It is the same failure once more, and the same people know of both.
				f.EntityType, f.Entity, f.Reason = unread.cause.EntityType, unread.cause.Entity, unread.cause.Reason
			}
			failures = append(failures, f)
		case alert != nil:
			alerts = append(alerts, *alert)
		}
	}
	return costs, alerts, failures
}

// checkBudget returns what the plan costs, an alert if that is more than its budget, and an error if
// that cannot be said.
func (q *check) checkBudget(b budget, found []entityCheck) (Cost, *Alert, error) {
	owner, limit, err := q.limit(b)
	before := q.seenCost(b)
	cost := Cost{BudgetType: b.Limit.Type, Budget: owner.Value, Limit: limit.String(), Seen: before.String()}
	if err != nil {
		return cost, nil, err
	}
	if why := q.record.Unnamed[b.Cost.Type]; b.Everything && why != "" {
		return cost, nil, fmt.Errorf("a %s has no name that can be read, so its %s is not in the sum: %s", b.Cost.Type, b.Cost.Attribute, why)
	}
	left, unknown := q.left(b, owner, limit, found)
	if b.Enough && unknown == nil {
		limit = b.smallest(owner, limit, left)
		cost.Limit = limit.String()
	}
	now, err := b.sum(q.targets, q.approval.DecisionNode, func(i int) (entity.Value, error) {
		if found == nil {
			return latest(q.targets[i].entity, b.Cost.Attribute), nil
		}
		price := found[i].result.Now[b.Cost.Attribute]
		if !found[i].read || price.IsZero() {
			return price, &unreadError{b.Cost.Attribute, found[i].unread(q.targets[i].entity)}
		}
		if e, there := q.targets[i].entity, found[i].result.Now; isFalse(availability, there[availability]) || isFalse(Exists, there[Exists]) {
			cost.Unavailable = strings.TrimPrefix(cost.Unavailable+", "+e.Type+" "+e.Value, ", ")
		}
		return price, nil
	})
	after, tooLong := now.value()
	others, othersErr := q.beside(b, owner, left)
	cost.Others = others.String()
	if found != nil && b.Across == config.AcrossSession {
		taken := LimitCost{Limit: b.limitKey(owner), Left: left, Cost: before}
		if err == nil && tooLong == nil {
			taken.Cost = after
		}
		q.taken = append(q.taken, taken)
	}
	switch err = cmp.Or(err, othersErr); {
	case err == nil && b.Enough && unknown != nil:
		return cost, nil, unknown
	case err != nil:
		return cost, nil, err
	case now.total == nil:
		return cost, nil, q.nothingBought(b)
	case !now.like(limit):
		return cost, nil, fmt.Errorf("the plan costs a %s, the budget is a %s", now.unit(), kindOf(limit))
	case !others.IsZero() && !now.like(others):
		return cost, nil, fmt.Errorf("the plan costs a %s, other requests cost a %s", now.unit(), kindOf(others))
	}
	if found != nil {
		cost.Now = after.String()
	}
	room, _ := limit.Rat()
	if taken, isNumber := others.Rat(); isNumber {
		room.Sub(room, taken)
	}
	if now.total.Cmp(room) <= 0 {
		return cost, nil, nil
	}
	if tooLong != nil {
		return cost, nil, tooLong
	}
	cost.Exceeded = true
	advice := fmt.Sprintf("costs no more than %s (%s)", limit, oneLine(owner.Type+" "+owner.Value))
	if !others.IsZero() {
		advice = fmt.Sprintf("costs, with the %s of other requests, no more than %s (%s)", others, limit, oneLine(owner.Type+" "+owner.Value))
	}
	return cost, &Alert{
		EntityType: owner.Type, Entity: owner.Value, Attribute: "cost", Drift: BudgetExceeded,
		Before: cmp.Or(cost.Seen, "not known"), After: cost.Now, ChangePercent: changePercent(before, after), Severity: *b.Severity, Effect: config.EffectBlock,
		Recommendation: "Change the plan so that it " + advice + ", and ask for approval of the new plan.",
	}, nil
}

// seenCost returns what the plan costs with the values that were read for the request; the zero
// value if that is not known.
func (q *check) seenCost(b budget) entity.Value {
	asked := slices.DeleteFunc(slices.Clone(q.targets), func(t target) bool { return t.unseen })
	seen, err := b.sum(asked, q.approval.DecisionNode, func(i int) (entity.Value, error) { return latest(asked[i].entity, b.Cost.Attribute), nil })
	if err != nil {
		return entity.Value{}
	}
	value, _ := seen.value()
	return value
}

// sum adds up a plan of an action: the targets that the rule counts, each at its price.
func (b budget) sum(targets []target, node string, price func(i int) (entity.Value, error)) (sum, error) {
	var s sum
	for i, t := range targets {
		e := t.entity
		if e.Type != b.Cost.Type || !t.action && !b.Everything {
			continue
		}
		one, err := price(i)
		if err != nil {
			return s, err
		}
		times, err := t.quantity(b.Cost.Quantity, node)
		if err != nil {
			return s, err
		}
		if err := s.add(one, times); err != nil {
			return s, fmt.Errorf("%s of %s %s is %w", b.Cost.Attribute, e.Type, e.Value, err)
		}
	}
	return s, nil
}

// limit returns the budget that was approved, and its amount. With an error there is no amount, and
// no budget if it is not known which one counts.
func (q *check) limit(b budget) (entity.Canonical, entity.Value, error) {
	var named, others []entity.Canonical
	for _, t := range q.targets {
		switch {
		case t.entity.Type != b.Limit.Type || t.unseen:
		case t.action:
			named = append(named, t.entity)
		default:
			others = append(others, t.entity)
		}
	}
	if len(named) == 0 {
		named = others
	}
	switch len(named) {
	case 0:
		return entity.Canonical{}, entity.Value{}, fmt.Errorf("no %s was approved with it: add a rule that finds it, and require it", b.Limit.Type)
	case 1:
	default:
		return entity.Canonical{}, entity.Value{}, fmt.Errorf("%d entities are a %s: name the one that counts in the arguments of the action", len(named), b.Limit.Type)
	}
	e := named[0]
	limit, what, read := e.Norm, "its value", shown(e)
	if b.Limit.Attribute != "" {
		values, _ := readings(e, b.Limit.Attribute)
		limit, what, read = e.Attributes[b.Limit.Attribute], b.Limit.Attribute, len(values) > 0
	}
	if !read && !limit.IsZero() && q.policy.Types[e.Type].Unseen != config.UnseenAllow {
		return e, entity.Value{}, fmt.Errorf("nothing has shown %s of %s %s", what, e.Type, e.Value)
	}
	if _, isNumber := limit.Rat(); !isNumber {
		return e, entity.Value{}, fmt.Errorf("%s of %s %s is %w", what, e.Type, e.Value, errNoNumber(limit))
	}
	return e, limit, nil
}

// nothingBought says why there is nothing to sum.
func (q *check) nothingBought(b budget) error {
	switch {
	case b.Everything:
		return fmt.Errorf("no %s was found", b.Cost.Type)
	case q.approval.DecisionNode == "":
		return fmt.Errorf("there is no request whose arguments could name a %s", b.Cost.Type)
	default:
		return fmt.Errorf("the arguments of %s name no %s: add a rule with in: action that finds it", q.approval.Tool, b.Cost.Type)
	}
}

// quantity returns how many are bought: the attribute as the action at the node says it,
// or else as it was read; without one, as often as the action names it.
func (t target) quantity(name, node string) (*big.Rat, error) {
	e := t.entity
	v := latest(e, name)
	var named int64
	for _, s := range e.Seen {
		if !saidBy(s, node) {
			continue
		}
		named += 1 + int64(s.Repeats)
		if !s.Attributes[name].IsZero() {
			v = s.Attributes[name]
		}
	}
	switch {
	case name == "":
		return big.NewRat(max(named, 1), 1), nil
	case named > 1:
		return nil, fmt.Errorf("the action names %s %s %d times: it has to name it once, with its %s", e.Type, e.Value, named, name)
	}
	n, isNumber := v.Rat()
	switch {
	case !isNumber || v.Kind() != entity.KindNumber:
		return nil, fmt.Errorf("%s of %s %s is %w", name, e.Type, e.Value, errNoNumber(v))
	case n.Sign() < 0:
		return nil, fmt.Errorf("%s of %s %s is negative: %s", name, e.Type, e.Value, v)
	}
	return n, nil
}

func errNoNumber(v entity.Value) error {
	if v.IsZero() {
		return errors.New("not known")
	}
	return fmt.Errorf("a %s where a number is expected", kindOf(v))
}

// sum adds numbers, or amounts of one currency. The zero sum is empty.
type sum struct {
	total *big.Rat
	first entity.Value
}

func (s *sum) add(v entity.Value, times *big.Rat) error {
	n, isNumber := v.Rat()
	switch {
	case !isNumber:
		return errNoNumber(v)
	case n.Sign() < 0:
		return fmt.Errorf("negative: %s", v)
	case s.total == nil:
		s.total, s.first = new(big.Rat), v
	case !s.like(v):
		return fmt.Errorf("a %s, and that of another is a %s", kindOf(v), s.unit())
	}
	s.total.Add(s.total, n.Mul(n, times))
	return nil
}

// like reports whether v can be compared with the sum.
func (s *sum) like(v entity.Value) bool {
	return s.first.Kind() == v.Kind() && s.first.Currency() == v.Currency()
}

func (s *sum) unit() string { return kindOf(s.first) }

// value returns the sum as a value; an error if it is empty or has too many digits.
func (s *sum) value() (entity.Value, error) {
	if s.total == nil {
		return entity.Value{}, errors.New("nothing was approved")
	}
	digits, _ := s.total.FloatPrec() // a sum of products of decimals is a decimal
	text := s.total.FloatString(digits)
	if s.first.Kind() == entity.KindMoney {
		return entity.Money(text, s.first.Currency())
	}
	return entity.ParseNumber(text)
}

// Cost is what a plan costs, and what it may cost by one rule of [config.Guard.Budgets]. It is for people:
// no verdict depends on it. Amounts are texts as shown, such as "$212,000".
//
// A text is "" if it is not known. So a rule that cannot be evaluated has a Cost as well, with the
// amounts that are known and without the others. The failures of the check say why.
type Cost struct {
	// BudgetType and Budget are the type and the value of the entity that is the budget. Budget is ""
	// if it is not known which one counts.
	BudgetType string `json:"budget_type"`
	Budget     string `json:"budget,omitempty"`
	// Limit is the amount of the budget at the time of the request. Where a smaller one is enough, it is the smallest that
	// was read, or the present one if that is less.
	Limit string `json:"limit,omitempty"`
	// Seen is the cost with the values that were read for the request, and Now the cost with the
	// answers of the check. Now is "" before a check.
	Seen string `json:"seen,omitempty"`
	Now  string `json:"now,omitempty"`
	// Others is what other requests of the session take from the budget. It is "" for nothing.
	Others string `json:"others,omitempty"`
	// Unavailable names what Now counts although its source says that it cannot be had.
	Unavailable string `json:"unavailable,omitempty"`
	// Exceeded says that Now, with Others, is more than Limit. The check then has an alert that says so too. Before a
	// check it says so of Seen.
	Exceeded bool `json:"exceeded,omitempty"`
}

// LimitCost is what a call takes from a limit that the requests of its session share.
type LimitCost struct {
	// Limit is the key of the entity, which all spellings of its name share, and the attribute with the amount. Left
	// is the amount when the call was checked.
	Limit string       `json:"limit"`
	Left  entity.Value `json:"left"`
	// Cost is what the call took then; the zero value if nobody knows.
	Cost entity.Value `json:"cost"`
}

// limitKey returns the key of a limit in [LimitCost]. A source may ignore case, so two spellings of a name have one.
func (b budget) limitKey(owner entity.Canonical) string {
	return folded(owner) + " " + b.Limit.Attribute
}

// shares reports whether calls of a tool take from a limit that requests share.
func (b rulebook) shares(tool string) bool {
	return slices.ContainsFunc(b.budgets(tool), func(b budget) bool { return b.Across == config.AcrossSession })
}

// sharers reads the approvals of the session, if calls of the tool share a limit with them.
//
// No lock spans the check of a call and its effect in another process. It needs none: an approval is in the ledger
// before its last check begins. So of two that do not fit together, the later one to be approved always finds the other.
func (g *Guard) sharers(ctx context.Context, s record.Session, tool string) ([]Approval, error) {
	if !g.policy.shares(tool) {
		return nil, nil
	}
	all, err := list(ctx, g.ledger, Query{Session: s, Brief: true})
	if err != nil {
		return nil, fmt.Errorf("reading what other requests take from a limit: %w", err)
	}
	return all, nil
}

// takes reports whether what a permits, or may still permit, takes from limits.
func (a Approval) takes(now time.Time) bool {
	late := now.Add(-clockSkew)
	switch a.State {
	case StateApproved:
		return !late.After(a.ExpiresAt)
	case StatePermitted:
		return !late.After(a.PermitExpiresAt)
	}
	return a.State == StateExecuting || a.State == StateExecuted
}

// beside returns what other requests take from a limit with the present amount left; the zero value for nothing. What
// a call took counts until the amount changes: then its source has counted it. Where a smaller amount is enough,
// a call that has not begun still counts, because it can run with the new amount.
func (q *check) beside(b budget, owner entity.Canonical, left entity.Value) (entity.Value, error) {
	var s sum
	for _, a := range q.others {
		if b.Across != config.AcrossSession || len(a.Consents) == 0 || a.ID == q.approval.ID || !a.takes(q.started) {
			continue
		}
		var most entity.Value // of the rules of one call each alone has to fit
		waits := b.Enough && (a.State == StateApproved || a.State == StatePermitted)
		for _, c := range a.Consents[len(a.Consents)-1].Costs {
			if c.Limit != b.limitKey(owner) || c.Left != left && !waits {
				continue
			}
			if c.Cost.IsZero() {
				return entity.Value{}, fmt.Errorf("it is not known what %s takes from it, which was approved before", oneLine(a.Tool))
			}
			if way, _ := movement(most, c.Cost); most.IsZero() || way > 0 {
				most = c.Cost
			}
		}
		if most.IsZero() {
			continue
		}
		if err := s.add(most, big.NewRat(1, 1)); err != nil {
			return entity.Value{}, fmt.Errorf("the cost of another request is %w", err)
		}
	}
	if s.total == nil {
		return entity.Value{}, nil
	}
	return s.value()
}

// left returns the present amount of a limit, or the one that was read with the reason why nobody knows it.
func (q *check) left(b budget, owner entity.Canonical, limit entity.Value, found []entityCheck) (entity.Value, error) {
	if b.Limit.Attribute == "" || found == nil {
		return limit, nil
	}
	i := slices.IndexFunc(q.targets, func(t target) bool { return t.entity.Key == owner.Key })
	if now := found[i].result.Now[b.Limit.Attribute]; found[i].read && !now.IsZero() {
		return now, nil
	}
	return limit, &unreadError{b.Limit.Attribute, found[i].unread(owner)}
}

// smallest returns the least of the amounts of a limit that were read and the present one.
func (b budget) smallest(owner entity.Canonical, limit, left entity.Value) entity.Value {
	values, _ := readings(owner, b.Limit.Attribute)
	for _, v := range append(values, left) {
		if unlike(limit, v) {
			continue // the check of the limit says so
		}
		if way, _ := movement(limit, v); way < 0 {
			limit = v
		}
	}
	return limit
}

// enough reports whether all that is compared of an attribute is that a plan fits: each budget whose limit it is says
// so.
func (q *check) enough(e entity.Canonical, name string) (is bool) {
	for _, b := range q.policy.budgets(q.approval.Tool) {
		if b.Limit.Type != e.Type || b.Limit.Attribute != name {
			continue
		}
		if owner, _, err := q.limit(b); err != nil || owner.Key != e.Key {
			continue
		}
		if !b.Enough {
			return false
		}
		is = true
	}
	return is
}
