// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// BudgetExceeded is the drift type of a plan that costs more now than its budget.
// The alert is about the plan: the budget it names is not stale by it.
const BudgetExceeded DriftType = "budget_exceeded"

// BudgetRule is a rule across entities: the present cost of a plan must fit the approved budget,
// also if every price is within its tolerance. A rule that cannot be evaluated fails the check with
// [ReasonPolicy]. Reasons are: no entity has the type of the costs; a value is missing, was not
// read, is negative or no number; currencies differ; the budget is not unique.
//
// The arithmetic is exact. An entity that an action names twice costs twice. With a
// QuantityAttribute the rule cannot be evaluated then, because only one quantity is known.
type BudgetRule struct {
	// Tool names the tool whose calls the rule is for, or is a pattern of names as [path.Match]
	// reads it. Here * and ? also match a slash. Default: every call.
	Tool string
	// CostType is the type of the entities that cost something. Those in the
	// arguments of the action count. Required.
	CostType string
	// CostAttribute is the attribute with the cost of one of them; what the checker
	// answers counts. Required.
	CostAttribute string
	// QuantityAttribute is the attribute with the quantity. The action's value counts, else the
	// value that was read. Default: one of each.
	QuantityAttribute string
	// LimitType is the type of the budget: the one in the arguments of the action,
	// or else the only one that is required. Required.
	LimitType string
	// LimitAttribute is the attribute with the amount, as it was read and approved. A value that is
	// only claimed is no limit, unless the policy lets the unseen pass. Default: the value of the
	// entity itself.
	LimitAttribute string
	// Everything sums every required entity of CostType, not only those of the action.
	Everything bool
	// Severity is the severity of the alert, between 0 and 1.
	Severity float64
}

func (p Policy) validateBudgets() error {
	var errs []error
	for i, b := range p.Budgets {
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("budget %d: %s", i, fmt.Sprintf(format, args...)))
		}
		if err := text.CheckPattern(b.Tool); err != nil {
			wrong("Tool %q is no pattern: %v", b.Tool, err)
		}
		if b.CostType == "" || b.LimitType == "" {
			wrong("CostType and LimitType are required")
		}
		if !entity.IsAttributeName(b.CostAttribute) {
			wrong("CostAttribute %q is no name of an attribute", b.CostAttribute)
		}
		if b.QuantityAttribute != "" && !entity.IsAttributeName(b.QuantityAttribute) {
			wrong("QuantityAttribute %q is no name of an attribute", b.QuantityAttribute)
		}
		if b.LimitAttribute != "" && !entity.IsAttributeName(b.LimitAttribute) {
			wrong("LimitAttribute %q is no name of an attribute", b.LimitAttribute)
		}
		if !fraction(b.Severity) {
			wrong("severity is %v: it must be between 0 and 1", b.Severity)
		}
		if b.Everything && !p.requires(entity.Canonical{Type: b.CostType}, false) {
			wrong("Everything sums every %q, but Require leaves them unchecked: list the type", b.CostType)
		}
		if slices.Contains(p.Budgets[:i], b) {
			wrong("it is there twice")
		}
	}
	return errors.Join(errs...)
}

// budgetFields writes the budget rules, in an order of their own, for a digest.
func (p Policy) budgetFields() []string {
	sums := make([]string, len(p.Budgets))
	for i, b := range p.Budgets {
		sums[i] = digest(b.Tool, b.CostType, b.CostAttribute, b.QuantityAttribute, b.LimitType, b.LimitAttribute,
			strconv.FormatBool(b.Everything), decimalText(b.Severity))
	}
	slices.Sort(sums)
	return sums
}

// appliesTo reports whether the rule is for the calls of a tool. A check without a request falls
// under every rule.
func (b BudgetRule) appliesTo(tool string) bool {
	return b.Tool == "" || tool == "" || text.MatchName(b.Tool, tool)
}

// unreadError says that the present cost of an entity is not known, and why.
type unreadError struct {
	attribute string
	cause     Failure
}

func (e *unreadError) Error() string {
	return fmt.Sprintf("the present %s of %s %s could not be read", e.attribute, e.cause.EntityType, e.cause.Entity)
}

// unread returns the failure of an entity that could not be read: that its source is down, if it
// is.
func (x *examined) unread(e entity.Canonical) Failure {
	for _, f := range slices.Concat(x.failures, x.result.Skipped) {
		if f.down() {
			return f
		}
	}
	return failOf(e, ReasonPolicy, "")
}

// checkBudgets holds what was found against the budget rules.
func (q *inquiry) checkBudgets(p Policy, found []examined) (costs []Cost, alerts []Alert, failures []Failure) {
	for _, b := range p.Budgets {
		if !b.appliesTo(q.tool) {
			continue
		}
		cost, alert, err := q.checkBudget(p, b, found)
		costs = append(costs, cost)
		switch {
		case err != nil:
			f := fail(ReasonPolicy, "it cannot be shown that what the plan costs now fits its %s: %v", b.LimitType, err)
			if unread, is := errors.AsType[*unreadError](err); is && unread.cause.down() {
				// The same people know of both.
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
func (q *inquiry) checkBudget(p Policy, b BudgetRule, found []examined) (Cost, *Alert, error) {
	budget, limit, err := q.limit(p, b)
	before := q.seenCost(b)
	cost := b.cost(budget, limit, before)
	if err != nil {
		return cost, nil, err
	}
	now, err := b.sum(q.targets, q.decision.Node, func(i int) (entity.Value, error) {
		price := found[i].result.Now[b.CostAttribute]
		if !found[i].read || price.IsZero() {
			return price, &unreadError{b.CostAttribute, found[i].unread(q.targets[i].entity)}
		}
		return price, nil
	})
	switch {
	case err != nil:
		return cost, nil, err
	case now.total == nil:
		return cost, nil, q.nothingBought(b)
	case !now.like(limit):
		return cost, nil, fmt.Errorf("the plan costs a %s, the budget is a %s", now.unit(), kindOf(limit))
	}
	after, err := now.value()
	cost.Now = after.String()
	if most, _ := limit.Rat(); now.total.Cmp(most) <= 0 {
		return cost, nil, nil
	}
	if err != nil {
		return cost, nil, err
	}
	cost.Exceeded = true
	return cost, &Alert{
		EntityType: budget.Type, Entity: budget.Value, Attribute: "cost", Drift: BudgetExceeded,
		Before: cmp.Or(cost.Seen, "not known"), After: cost.Now, ChangePercent: changePercent(before, after), Severity: b.Severity,
		Recommendation: fmt.Sprintf("Change the plan so that it costs no more than %s (%s), and ask for approval of the new plan.",
			limit, oneLine(budget.Type+" "+budget.Value)),
	}, nil
}

// seenCost returns what the plan costs with the values that were read for the request; the zero
// value if that is not known.
func (q *inquiry) seenCost(b BudgetRule) entity.Value {
	asked := slices.DeleteFunc(slices.Clone(q.targets), func(t target) bool { return t.unseen })
	seen, err := b.sum(asked, q.decision.Node, func(i int) (entity.Value, error) { return latest(asked[i].entity, b.CostAttribute), nil })
	if err != nil {
		return entity.Value{}
	}
	value, _ := seen.value()
	return value
}

// sum adds up a plan of an action: the targets that the rule counts, each at its price.
func (b BudgetRule) sum(targets []target, node string, price func(i int) (entity.Value, error)) (sum, error) {
	var s sum
	for i, t := range targets {
		e := t.entity
		if e.Type != b.CostType || !t.action && !b.Everything {
			continue
		}
		one, err := price(i)
		if err != nil {
			return s, err
		}
		times, err := t.quantity(b.QuantityAttribute, node)
		if err != nil {
			return s, err
		}
		if err := s.add(one, times); err != nil {
			return s, fmt.Errorf("%s of %s %s is %w", b.CostAttribute, e.Type, e.Value, err)
		}
	}
	return s, nil
}

// limit returns the budget that was approved, and its amount. With an error there is no amount, and
// no budget if it is not known which one counts.
func (q *inquiry) limit(p Policy, b BudgetRule) (entity.Canonical, entity.Value, error) {
	var named, others []entity.Canonical
	for _, t := range q.targets {
		switch {
		case t.entity.Type != b.LimitType || t.unseen:
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
		return entity.Canonical{}, entity.Value{}, fmt.Errorf("no %s was approved with it: add a rule that finds it, and require it", b.LimitType)
	case 1:
	default:
		return entity.Canonical{}, entity.Value{}, fmt.Errorf("%d entities are a %s: name the one that counts in the arguments of the action", len(named), b.LimitType)
	}
	e := named[0]
	limit, what, read := e.Norm, "its value", shown(e)
	if b.LimitAttribute != "" {
		values, _ := readings(e, b.LimitAttribute)
		limit, what, read = e.Attributes[b.LimitAttribute], b.LimitAttribute, len(values) > 0
	}
	if !read && !limit.IsZero() && p.Types[e.Type].Unseen != UnseenAllow {
		return e, entity.Value{}, fmt.Errorf("nothing has shown %s of %s %s", what, e.Type, e.Value)
	}
	if _, isNumber := limit.Rat(); !isNumber {
		return e, entity.Value{}, fmt.Errorf("%s of %s %s is %w", what, e.Type, e.Value, errNoNumber(limit))
	}
	return e, limit, nil
}

// nothingBought says why there is nothing to sum.
func (q *inquiry) nothingBought(b BudgetRule) error {
	switch {
	case b.Everything:
		return fmt.Errorf("no %s was found", b.CostType)
	case q.decision.Node == "":
		return fmt.Errorf("there is no request whose arguments could name a %s", b.CostType)
	default:
		return fmt.Errorf("the arguments of %s name no %s: add a rule with in: action that finds it", q.tool, b.CostType)
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
