// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// Tolerance is how far a number or an amount of money may move and still count as
// unchanged. The zero value tolerates nothing. When both fields are set a change
// must be within both. It never applies to other kinds or between currencies.
type Tolerance struct {
	// Absolute is in the unit of the attribute.
	Absolute float64
	// Percent is in percent of the value seen: 5 tolerates 95 to 105 for 100.
	Percent float64
}

// Direction says which way a number, an amount of money or a time has to move for
// the change to count. It does not apply to other kinds or between currencies:
// there every change counts.
type Direction uint8

// The directions. The zero value counts every change.
const (
	Either Direction = iota
	// Rise counts an increase, or a later time, only.
	Rise
	// Fall counts a decrease, or an earlier time, only.
	Fall
)

var directionNames = []string{Either: "either", Rise: "rise", Fall: "fall"}

// String returns "either", "rise" or "fall".
func (d Direction) String() string { return nameOf(directionNames, d) }

// Effect is the effect of a change.
type Effect uint8

// The effects. The zero value blocks.
const (
	Block Effect = iota
	// Warn records and shows the change. It does not enter the verdict.
	Warn
)

var effectNames = []string{Block: "block", Warn: "warn"}

// String returns "warn" or, for every other value, "block".
func (e Effect) String() string { return nameOf(effectNames, e) }

// MarshalText encodes the effect as its String.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what String writes. Anything else is an error.
func (e *Effect) UnmarshalText(text []byte) error {
	i := slices.Index(effectNames, string(text))
	if i < 0 {
		return fmt.Errorf("safety: %q is no effect: use one of %q", oneLine(string(text)), effectNames)
	}
	*e = Effect(i)
	return nil
}

// nameOf returns the name of v. A value without a name has the name of the zero value, which is the
// strictest of every type here.
func nameOf[T ~uint8](names []string, v T) string {
	if int(v) >= len(names) {
		v = 0
	}
	return names[v]
}

// Rule defines the meaning of a change of an attribute.
type Rule struct {
	// Drift is the drift type of the alert: lower case letters, digits and
	// underscores.
	Drift DriftType
	// Severity is between 0 (not worth a look) and 1.
	Severity float64
	// Tolerance is how much change is no change.
	Tolerance Tolerance
	// Direction is which way a change has to go to be one. Default: either.
	Direction Direction
	// Condition is the condition on the present value, whatever was read. It is for the rules of
	// one attribute of one type ([TypePolicy.Rules]), without Tolerance and Direction. Default:
	// none, so the present value is compared with the value that was read.
	Condition Condition
	// Effect is the effect of a change. Default: it blocks. An attribute that is missing or of
	// another kind is no change: it fails the check.
	Effect Effect
	// Optional allows two things: the answer may lack the attribute, and no result need have shown
	// it, as for a quantity that only the plan has. It is then not compared. An entity without any
	// comparison fails its check.
	Optional bool
}

func (r Rule) validate() error {
	var errs []error
	if !driftName.MatchString(string(r.Drift)) {
		errs = append(errs, fmt.Errorf("drift type %q: use lower case letters, digits and underscores", r.Drift))
	}
	if !fraction(r.Severity) {
		errs = append(errs, fmt.Errorf("severity is %v: it must be between 0 and 1", r.Severity))
	}
	if !amount(r.Tolerance.Absolute) || !amount(r.Tolerance.Percent) {
		errs = append(errs, fmt.Errorf("tolerance is %v absolute, %v percent: both must be finite and not negative",
			r.Tolerance.Absolute, r.Tolerance.Percent))
	}
	if int(r.Direction) >= len(directionNames) {
		errs = append(errs, fmt.Errorf("direction is %d: use Either, Rise or Fall", uint8(r.Direction)))
	}
	if err := r.Condition.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("condition: %w", err))
	}
	if r.Condition != (Condition{}) && (r.Tolerance != (Tolerance{}) || r.Direction != Either) {
		errs = append(errs, errors.New("condition beside a tolerance or a direction: keep one of them"))
	}
	if int(r.Effect) >= len(effectNames) {
		errs = append(errs, fmt.Errorf("effect is %d: use Block or Warn", uint8(r.Effect)))
	}
	return errors.Join(errs...)
}

func fraction(f float64) bool { return f >= 0 && f <= 1 }

func amount(f float64) bool { return f >= 0 && !math.IsInf(f, 1) }

// fields are everything in the rule as text, for a digest.
func (r Rule) fields() []string {
	return append([]string{
		string(r.Drift), decimalText(r.Severity), decimalText(r.Tolerance.Absolute), decimalText(r.Tolerance.Percent),
		r.Direction.String(), r.Effect.String(), strconv.FormatBool(r.Optional),
	}, r.Condition.fields()...)
}

// covers reports whether now counts as unchanged. Values of one kind are expected.
func (r Rule) covers(seen, now entity.Value) bool {
	if seen.Equal(now) {
		return true
	}
	way, ordered := movement(seen, now)
	switch {
	case !ordered:
		return false
	case way > 0 && r.Direction == Fall, way < 0 && r.Direction == Rise:
		return true
	default:
		return r.Tolerance.covers(seen, now)
	}
}

// movement reports whether a value became more (1) or less (-1); false for values
// without an order.
func movement(seen, now entity.Value) (way int, ordered bool) {
	if a, isTime := seen.AsTime(); isTime {
		b, _ := now.AsTime()
		return b.Compare(a), true
	}
	a, isNumber := seen.Rat()
	if !isNumber || seen.Currency() != now.Currency() {
		return 0, false
	}
	b, _ := now.Rat()
	return b.Cmp(a), true
}

// covers reports whether a number that moved moved no further than is tolerated.
func (t Tolerance) covers(seen, now entity.Value) bool {
	a, isNumber := seen.Rat()
	if !isNumber || t == (Tolerance{}) {
		return false
	}
	b, _ := now.Rat()
	moved := b.Sub(b, a)
	moved.Abs(moved)
	if t.Absolute > 0 && moved.Cmp(exact(t.Absolute)) > 0 {
		return false
	}
	limit := exact(t.Percent)
	limit.Mul(limit, a.Abs(a)).Quo(limit, big.NewRat(100, 1))
	return t.Percent == 0 || moved.Cmp(limit) <= 0
}

// exact reads a configured number as the decimal that was written. A policy that
// was validated holds finite numbers only.
func exact(f float64) *big.Rat {
	r, _ := new(big.Rat).SetString(decimalText(f))
	return r
}

// decimalText writes a float64 as the shortest decimal that reads back as it, which
// is also what a person meant by it: 0.1 is one tenth.
func decimalText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// rulebook is a policy that knows which rule an attribute has.
type rulebook struct {
	Policy
	// base holds the rules of the policy with the defaults.
	base map[string]Rule
}

func (p Policy) rulebook() rulebook {
	b := rulebook{Policy: p, base: rulesOf(config.Default().Guard.Drift)}
	maps.Copy(b.base, p.Rules)
	return b
}

// rule returns the rule of an attribute for entities of a type. A rule with the name of the
// attribute comes before the rule for all others, and a rule of the type before one of the policy.
func (b rulebook) rule(typ, attribute string) Rule {
	of := b.Types[typ].Rules
	for _, name := range [...]string{attribute, config.Other} {
		if r, ok := of[name]; ok {
			return r
		}
		if r, ok := b.base[name]; ok {
			return r
		}
	}
	return Rule{} // not reached: the defaults have config.Other
}

// maxAge returns how old an answer about entities of a type may be.
func (p Policy) maxAge(typ string) time.Duration {
	if d := p.Types[typ].MaxAge; d > 0 {
		return d
	}
	return p.MaxAge
}

// minConfidence returns the floor of the confidence of entities of a type.
func (p Policy) minConfidence(typ string) float64 {
	if f := p.Types[typ].MinConfidence; f != nil {
		return *f
	}
	return p.MinConfidence
}

// lasts returns how long a check with these results permits: no longer than the
// youngest answer has to be.
func (p Policy) lasts(results []EntityResult) time.Duration {
	d := p.MaxAge
	for _, r := range results {
		d = min(d, p.maxAge(r.Type))
	}
	return d
}
