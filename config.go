// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Config says what is recorded, which actions are gated and how the world is
// checked. The zero Config is valid: it records into contextgraph.db, gates the
// tools that code protects, and has no rules and no checkers, so that every
// gated action is refused until some are added.
//
// A Config is written in Go or read from a file by [LoadConfig]; both are
// checked by the same rules. A field left zero means its default. A Config must
// not be changed while it is in use.
type Config struct {
	// Disabled turns the recorder off (in a file: "enabled: false"). It does not
	// open a gate: a protected tool that cannot be recorded is refused.
	// Defaults to false.
	Disabled bool
	// Journal is where the events are written, and what may be lost on the way.
	Journal JournalConfig
	// Record says what of the events is written.
	Record RecordConfig
	// Guard is the approval gate.
	Guard GuardConfig
	// Extract holds the rules that find business entities in recorded events.
	// Defaults to none: only entities that tools declare with RecordEntity count.
	Extract []ExtractConfig
	// Checkers ask the outside world for the present state of entities, one per
	// entity type. Defaults to none.
	Checkers []CheckerConfig
	// BigQuery is the dataset that the events and the graph are streamed to. It needs
	// OpenWarehouse. Defaults to none: everything stays in the journal.
	BigQuery warehouse.Config

	// OpenWarehouse connects the journal to the dataset of BigQuery: Open of package
	// warehouse/bigquery, so that a program that streams nothing does not link its
	// client. Required with BigQuery, else not used. Not part of the file.
	OpenWarehouse warehouse.Opener
	// CheckFuncs holds checkers written in Go, by entity type. One of them wins
	// over an entry of Checkers with the same type. They are called by several
	// goroutines at once. Not part of the file.
	CheckFuncs map[string]safety.Checker
	// Databases holds the databases that checkers ask, by the name they have in the
	// file; see [WithDatabase]. They are not closed. Not part of the file.
	Databases map[string]Querier
	// Authorize says who answers a request for an approval and whether they may. What it
	// knows of them it takes from the context of the run: the host's authentication, or
	// for a peer agent the call context of A2A. Defaults to nil: whoever can send a
	// message as the user of a session approves what that session asks for, which is
	// logged at the start and recorded with each approval, and no peer agent does. Not
	// part of the file.
	Authorize safety.Authorizer
	// Format changes the content of a row before it is written: it gets the type of
	// the event and the content as JSON, which it must not keep, and returns the
	// JSON that is written instead, within the same limits and redaction. Where it
	// fails, the content is left out and a mark says so. What else repeats the content
	// as text is left out where there is a formatter; docs/row-contract.md lists it.
	// It is called by several goroutines at once. Defaults to none. Not part of the
	// file.
	Format func(eventType string, content []byte) ([]byte, error)
	// Classify looks at the result of a tool; an error it returns makes the call a
	// TOOL_ERROR with that message. It is called by several goroutines at once.
	// Defaults to none: a result is an error where it says so itself. Not part of
	// the file.
	Classify func(t tool.Tool, args, result map[string]any) error
	// MeterProvider makes the instruments that count what is recorded, dropped and
	// lost. Defaults to the global one of OpenTelemetry. Not part of the file.
	MeterProvider metric.MeterProvider
	// Logger receives what an operator should know. Defaults to [slog.Default].
	// Not part of the file.
	Logger *slog.Logger
	// Now is the clock. Defaults to [time.Now]. Not part of the file.
	Now func() time.Time
}

// Mode says what the gate does with an approval.
type Mode string

const (
	// ModeEnforce blocks what is not proven safe for every tool that is listed,
	// protected in code, or covered by a rule with "in: action". Any other
	// confirmation is observed.
	ModeEnforce Mode = "enforce"
	// ModeObserve checks every confirmation and records the verdict, but blocks
	// only tools that code protects: a configuration can add a gate, it cannot
	// remove one.
	ModeObserve Mode = "observe"
)

// Unguarded says what happens to a tool that is listed, protected or covered and that
// would run without the gate all the same, as a streaming tool that is only listed does.
type Unguarded string

const (
	// UnguardedWarn logs each such tool once.
	UnguardedWarn Unguarded = "warn"
	// UnguardedError fails the model request that offers it, and the run that could
	// resume a call of it.
	UnguardedError Unguarded = "error"
)

// GuardConfig is the approval gate.
type GuardConfig struct {
	// Mode is what the gate does. Defaults to [ModeEnforce].
	Mode Mode
	// Tools names tools every call of which needs an approval, or gives patterns of
	// their names, as [path.Match] has them, but that * and ? also stand for a slash:
	// provision_*. It must be empty with [ModeObserve]. Defaults to none.
	Tools []string
	// Inputs names nodes of workflows, or gives patterns of their names as Tools does,
	// whose requests for an input are requests for an approval: the request is recorded
	// with what it rests on before anybody sees it, and the user message that answers it
	// starts a run only while all of that is unchanged, and once. A name also stands for
	// the nodes inside of a node or of a workflow. Every answer goes through the gate,
	// whatever it says: what it means is known to the node alone. It must be empty with
	// [ModeObserve]. Defaults to none.
	Inputs []string
	// SelfApproval lets whoever asked for an approval give it, if Authorize names them.
	// Without Authorize it changes nothing: the user of the session, whom nothing
	// authenticates, asks and approves. Defaults to false.
	SelfApproval bool
	// Unguarded is what happens when the gate is meant to guard a tool and cannot.
	// Defaults to [UnguardedWarn].
	Unguarded Unguarded
	// RequestLifetime is how long a request waits for its answer before it
	// expires. Defaults to 168h.
	RequestLifetime time.Duration
	// CheckAge is how old an answer about the world may be when a check starts,
	// and how old a check may be when the action starts. It is at most
	// RequestLifetime. Defaults to 30s, or to RequestLifetime when that is shorter.
	CheckAge time.Duration
	// CheckTimeout bounds the check of one entity. It is at most CheckDeadline.
	// Defaults to 5s, or to CheckDeadline when that is shorter.
	CheckTimeout time.Duration
	// CheckDeadline bounds the checks of one approval together. Defaults to 15s,
	// or to CheckTimeout when that is longer.
	CheckDeadline time.Duration
	// MinConfidence is the confidence, from 0 to 1, below which an entity makes
	// the check fail. Nil means the default; 0 accepts every entity.
	// Defaults to 0.5.
	MinConfidence *float64
	// Drift says, by attribute, what a changed value means; the key "*" stands for
	// every attribute without an entry. What is not named keeps its default:
	// availability is inventory_depleted (severity 0.95), price is price_changed
	// (0.72), reach is audience_shifted (0.60), status is campaign_paused (0.90),
	// any other is changed (0.50).
	Drift map[string]DriftConfig
	// Types says what is different for the entities of a type. Defaults to none.
	Types map[string]TypeConfig
	// Require says which entities have to be unchanged beside those that the
	// arguments of the action name, which always have to be: everything that the session
	// recorded, nothing, or what it recorded of the types in Listed, each of which has to
	// be there. It holds when a request is asked and at every check. Defaults to [safety.RequireEverything].
	Require safety.Requirement
	// Listed holds types of entities. It is required with [safety.RequireListed] and
	// must be empty otherwise.
	Listed []string
	// Budgets are rules across entities: what a plan costs now must fit its budget.
	// Defaults to none.
	Budgets []BudgetConfig
}

// DriftConfig says what a changed value of one attribute means.
type DriftConfig struct {
	// Type is the type of the alert: lower-case letters, digits and underscores,
	// beginning with a letter. Defaults to the type of the attribute, see
	// [GuardConfig.Drift].
	Type safety.DriftType
	// Severity is how much the change matters, from 0 to 1. Nil means the
	// default. Defaults to the severity of the attribute, see [GuardConfig.Drift].
	Severity *float64
	// Tolerance is the difference that does not count as a change. Defaults to
	// none: any difference is a change.
	Tolerance ToleranceConfig
	// Direction is which way a number, an amount or a time has to move to be a
	// change. Defaults to [safety.Either].
	Direction safety.Direction
	// AtLeast, AtMost, OneOf and Equals are conditions: the attribute is unchanged if its
	// present value meets the condition, whatever was read. The value that was read has to
	// have met it too. At most one of them may be set, without Tolerance and Direction, and
	// only in [TypeConfig.Drift] under the name of an attribute. The value is a text, a number
	// or a boolean; OneOf is a list of them ([]any). A text that is "$" or begins with "$." or
	// "$[" is a JSONPath into the arguments that are approved: see [safety.Condition].
	// AtLeast and AtMost are for numbers, money and times. Defaults to none.
	AtLeast, AtMost, OneOf, Equals any
	// Effect is what a change leads to: with [safety.Warn] it is recorded and shown,
	// and does not enter the verdict. Defaults to [safety.Block].
	Effect safety.Effect
	// Optional allows the attribute to be missing in the answer of a checker; it is
	// then not compared. Defaults to false.
	Optional bool
}

// ToleranceConfig is the difference between two numbers, or two amounts of the
// same currency, that does not count as a change. When both limits are set, a
// difference must be within both.
type ToleranceConfig struct {
	// Percent is the largest tolerated difference in percent of the value that
	// was seen, from 0 to 100. Defaults to 0: not set.
	Percent float64
	// Absolute is the largest tolerated difference in units of the value.
	// Defaults to 0: not set.
	Absolute float64
}

// ExtractConfig is a rule that finds entities in one kind of event. Paths are
// JSONPath queries as RFC 9535 defines them.
type ExtractConfig struct {
	// Name names the rule in errors; no two rules share one. Required.
	Name string
	// Tool is the tool whose events are read. Either Tool or Event is required.
	Tool string
	// In is the part of the tool's events to read: its result, its arguments, or
	// the arguments of the call being approved (action). Defaults to
	// [graphsync.InResult], or with Event to [graphsync.InContent], which is all that
	// is possible there.
	In graphsync.In
	// Event is the type of event whose content is read, such as
	// USER_MESSAGE_RECEIVED, instead of a tool's.
	Event string
	// Each is the path to the nodes that are one entity each. Defaults to "$".
	Each string
	// Type is the type of the entities, such as Product. Required.
	Type string
	// Value is the path, from the node, to the value of the entity. Either Value or
	// ValueArgs is required.
	Value string
	// ValueArgs is the path, in the arguments of the call, to the value of the entity, for
	// results that do not repeat what was looked up. It is for the result of a tool, with
	// Each "$". In a file: value: {args: PATH}.
	ValueArgs string
	// ValueType is the type of that value. Two spellings of one amount are one
	// entity only when it is [entity.KindMoney]. Defaults to [entity.KindText].
	ValueType entity.Kind
	// Currency is the currency of a money value that names none, in ISO 4217:
	// USD. Defaults to none.
	Currency string
	// Attributes are the values to compare later, by name: lower-case letters,
	// digits and underscores, beginning with a letter. Without any it is compared that the
	// thing is there: the attribute exists, which is boolean wherever it stands. Defaults
	// to none.
	Attributes map[string]AttributeConfig
	// ArtifactURI is the path, from the node, to the URI of a document that shows
	// the entity. Defaults to none.
	ArtifactURI string
	// Confidence is how sure the rule is, greater than 0 and at most 1.
	// Defaults to 1.
	Confidence float64
	// Alternatives says that the entries of a result are there to choose from. An entity
	// then does not count if the action does not name it, only such rules have shown it,
	// and each result that shows it also shows, by the same rule, an entry that the action
	// names. It is for the result of a tool. Defaults to false.
	Alternatives bool
	// Place is where the rule stands, as file and line: "contextgraph.yaml:12". An alert or a
	// failure because of the rule names it. [ParseConfig] sets it; a rule written in Go has
	// none.
	Place string
}

// AttributeConfig says where an attribute stands and what it is.
type AttributeConfig struct {
	// Path is the path to the value, a JSONPath query. Required.
	Path string
	// Type is the type of the value. Defaults to [entity.KindText].
	Type entity.Kind
	// Currency is the currency of a money value that names none, in ISO 4217:
	// USD. Defaults to none.
	Currency string
	// Optional allows the attribute to be missing in an event: it is then not
	// compared later. Without it a missing attribute is an error of the event, so
	// that no check passes. For rules only: an attribute that was seen is required of
	// a checker, but for [DriftConfig.Optional]. Defaults to false.
	Optional bool
	// LookedUp says that the tool looked the value up, although the arguments of the
	// call say it too. Without it a value that repeats an argument counts for nothing.
	// For rules over results only. Defaults to false.
	LookedUp bool
}

// CheckerConfig says how to ask for the present state of entities of one type.
type CheckerConfig struct {
	// Type is the type of the entities, such as Product. Required.
	Type string
	// HTTP asks a JSON service. One of HTTP, SQL and Replay is required.
	HTTP *HTTPCheckerConfig
	// SQL asks a database.
	SQL *SQLCheckerConfig
	// Replay calls the tool again that the entity was seen with.
	Replay *ReplayCheckerConfig
}

// HTTPCheckerConfig asks a JSON service with GET. Only an answer with status 200
// says anything; redirects are refused and a body is at most 1 MiB.
type HTTPCheckerConfig struct {
	// URL is an absolute http or https URL. {value}, {type} and {attributes.NAME}
	// in its path or query stand for those of the entity, escaped. Required.
	URL string
	// Headers are sent with every request. In a file, ${VAR} stands for an
	// environment variable, which must be set, and $${ for ${ itself.
	// Defaults to none.
	Headers map[string]Secret
	// AsOf says how old the answer is: a JSONPath query to a time in its body,
	// "date_header" for the Date header, or "fetch" for the time it was fetched.
	// Defaults to "fetch".
	AsOf string
	// Version says which revision the answer describes: a JSONPath query into its
	// body, or "etag" for the ETag header. Defaults to none.
	Version string
	// Attributes are the values in the answer, by name. At least one is required.
	Attributes map[string]AttributeConfig
}

// Secret is a text that formats and encodes as "[redacted]", so that a Config
// can be logged. Convert it to a string to get the text.
type Secret string

// String returns "[redacted]", or "" for an empty Secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[redacted]"
}

// GoString returns what String returns, in quotes.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText returns what String returns.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (c Config) enabled() bool { return !c.Disabled }
