// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

const featureExtract = "extract"

// extractTableAge is how long the tables of an extraction that failed are kept.
const extractTableAge = 72 * time.Hour

// ExtractRequest says which rows a model reads.
type ExtractRequest struct {
	// Session is the session whose rows are read; the zero Session means all.
	Session record.Session
	// From and To bound the times of the rows: from From, before To. Without them it is
	// the 30 days before now.
	From, To time.Time
	// Answers is the table of answers of an extraction that failed after the model had
	// answered: see [ExtractReport.Answers]. They are used, and the model is not asked.
	Answers string
	// DryRun only says which statements would be run and what the first one would read.
	DryRun bool
}

// ExtractReport says what an extraction did. Every row that was sent counts once, as
// OK, Empty, Failed or Unparseable.
type ExtractReport struct {
	// Endpoint is the URL of the model, Extractor the id under which rows count as read.
	Endpoint, Extractor string
	// Sent is the number of rows that the model was asked about, Left that of the rows
	// that were left for the next extraction by the limit MaxRows.
	Sent, Left int
	// OK gave entities and Empty none. Failed are those where the call failed,
	// Unparseable those whose answer held no list of entities. The last two are sent
	// again the next time, after rows that were never sent.
	OK, Empty, Failed, Unparseable int
	// Reasons counts failed and unparseable rows by what BigQuery or the answer said.
	Reasons map[string]int
	// Truncated counts rows of which the model read a part only, Dropped what it
	// answered that is no entity of the types asked for.
	Truncated, Dropped int
	// Entities counts what was found, once per row and value, by type.
	Entities map[string]int
	// Found are the rows [record.EntitiesFound] that say it, which the dataset has.
	Found []record.Event
	// BytesBilled is the sum over all jobs, of a dry run the estimate of the first.
	// The model is billed by Vertex AI besides.
	BytesBilled int64
	// Jobs are the ids of the jobs, in order.
	Jobs []string
	// Statements are those of a dry run: the one that chooses the rows and the one that
	// asks the model.
	Statements []string
	// Pending and Answers are the tables that an extraction which failed has left for
	// three days; empty when there are none.
	Pending, Answers string
}

// Extract asks the configured model, with AI.GENERATE, which entities the rows of a
// session or of a time name, and adds them to the table of events as rows
// [record.EntitiesFound]. Graphs that are made of the rows after that have them as entities of the source
// "model". It deletes nothing, and changes nothing that a rule or a tool found.
//
// Only rows that this extractor has not read are sent, at most Extract.MaxRows, each
// once; the state of each row is kept in the table extracted_rows. The answers are
// stored before anything is made of them: an error after the model has answered leaves
// them in the table [ExtractReport.Answers], from which a second extraction goes on
// without asking again. The report is not nil with an error either.
//
// Entities are typed and identified by package entity, as those of rules are. That is why answers are
// read here and not in SQL: one thing must have one key, whoever found it.
//
// Without Extract.Location the model is asked beside the dataset, whose place is read
// first: an extraction fails when that cannot be read.
//
// The error wraps [warehouse.ErrNoModel] when no model is configured.
func (d *Dataset) Extract(ctx context.Context, r ExtractRequest) (*ExtractReport, error) {
	x, err := d.newExtraction(ctx, r)
	if err != nil {
		return &ExtractReport{}, err
	}
	if r.DryRun {
		return x.report, x.dryRun(ctx)
	}
	if r.Answers == "" {
		if sent, err := x.ask(ctx); err != nil || !sent {
			return x.report, err
		}
	}
	if err := x.use(ctx); err != nil {
		return x.report, fmt.Errorf("%w; the answers of the model are in the table %s until %s, from where an extraction can go on",
			err, x.answers.Name, x.now.Add(extractTableAge).UTC().Format(time.DateOnly))
	}
	x.drop(ctx)
	return x.report, nil
}

// extraction is one call of Extract.
type extraction struct {
	*Dataset
	request          ExtractRequest
	statement        warehouse.ExtractStatement
	pending, answers warehouse.Table
	report           *ExtractReport
	now              time.Time
}

// newExtraction checks the request and the configuration.
func (d *Dataset) newExtraction(ctx context.Context, r ExtractRequest) (*extraction, error) {
	connection, err := warehouse.ExtractConnection(d.cfg)
	if err != nil {
		return nil, fmt.Errorf("bigquery: extract: %w", err)
	}
	x := &extraction{Dataset: d, request: r, now: d.now()}
	if x.request.To.IsZero() {
		x.request.To = x.now
	}
	if x.request.From.IsZero() {
		x.request.From = x.request.To.Add(-ask.DefaultSince)
	}
	if !x.request.From.Before(x.request.To) {
		return nil, fmt.Errorf("bigquery: extract: no time lies between %s and %s: give From before To", x.request.From.Format(time.RFC3339), x.request.To.Format(time.RFC3339))
	}
	x.pending, x.answers = warehouse.ExtractTables(strings.ToLower(rand.Text()))
	if r.Answers != "" {
		if err := warehouse.CheckExtractAnswers(r.Answers); err != nil {
			return nil, fmt.Errorf("bigquery: extract: %w", err)
		}
		x.answers.Name = r.Answers
		x.pending.Name = ""
	}
	endpoint, err := d.endpoint(ctx)
	if err != nil {
		return nil, fmt.Errorf("bigquery: extract: %w", err)
	}
	x.statement = warehouse.ExtractStatement{
		Pending: x.pending.Name, Answers: x.answers.Name,
		Session:  r.Session != record.Session{},
		Endpoint: endpoint, Connection: connection, Thinking: warehouse.ExtractThinking(d.cfg.Extract),
	}
	if !d.cfg.Extract.PlainText {
		x.statement.Schema = warehouse.ExtractSchema
	}
	x.report = &ExtractReport{Endpoint: endpoint, Extractor: warehouse.ExtractorID(d.cfg.Extract), Reasons: make(map[string]int), Entities: make(map[string]int)}
	return x, nil
}

// endpoint returns the URL of the model. Where it depends on the place of the dataset, the
// dataset is asked: what the configuration says of that place is about a new one, and a
// wrong region would be sent the payloads.
func (d *Dataset) endpoint(ctx context.Context) (string, error) {
	url, err := warehouse.ExtractEndpoint(d.cfg, config.Default().BigQuery.Location) // whether there is a model, and how it is named
	if err != nil || d.cfg.Extract.Location != "" || url == d.cfg.Extract.Model {
		return url, err
	}
	location, err := d.location(ctx)
	switch {
	case HasStatus(err, http.StatusNotFound):
		return "", fmt.Errorf("dataset %s.%s does not exist: create it with contextgraph init: %w", d.names.Project(), d.names.Dataset(), err)
	case err != nil:
		return "", fmt.Errorf("where dataset %s.%s is cannot be read, and payloads go to no other region: set extract.location, or allow bigquery.datasets.get (roles/bigquery.metadataViewer): %w",
			d.names.Project(), d.names.Dataset(), err)
	}
	return warehouse.ExtractEndpoint(d.cfg, location)
}

// ask chooses the rows and asks the model about them. It is false when there are none.
func (x *extraction) ask(ctx context.Context) (bool, error) {
	for _, t := range []warehouse.Table{x.pending, x.answers} {
		if err := x.create(ctx, t); err != nil {
			return false, err
		}
	}
	x.report.Pending, x.report.Answers = x.pending.Name, x.answers.Name
	if err := x.run(ctx, x.pendingJob()); err != nil {
		return false, err
	}
	n, err := x.count(ctx, x.pending.Name)
	if err != nil {
		return false, err
	}
	if n == 0 {
		x.drop(ctx)
		return false, nil
	}
	return true, x.run(ctx, x.askJob())
}

func (x *extraction) pendingJob() job {
	params := []bq.QueryParameter{
		param("extractor", x.report.Extractor),
		param("from_time", x.request.From), param("to_time", x.request.To),
		param("event_types", warehouse.ExtractEventTypes()),
		param("max_text", warehouse.MaxExtractText),
		param("max_rows", x.cfg.Extract.MaxRows),
		param("instructions", warehouse.ExtractInstructions),
		param("entity_types", x.cfg.Extract.EntityTypes),
		param("fence", rand.Text()),
	}
	if s := x.request.Session; x.statement.Session {
		params = append(params, param("app_name", s.App), param("user_id", s.User), param("session_id", s.ID))
	}
	return job{statement: "extract_pending", data: x.statement, params: params, feature: featureExtract}
}

func (x *extraction) askJob() job {
	return job{
		statement: "extract_ask", data: x.statement, feature: featureExtract,
		labels: map[string]string{"sdk_ai_function": "ai-generate"},
	}
}

// run runs a job and adds it to the report. A context that ends cancels the job: a model
// that goes on answering costs money.
func (x *extraction) run(ctx context.Context, j job) error {
	submitted, status, err := x.finish(ctx, j)
	if submitted != nil {
		x.report.Jobs = append(x.report.Jobs, submitted.ID())
	}
	x.report.BytesBilled += statisticsOf(status).TotalBytesBilled
	return err
}

// dryRun renders the statements and lets BigQuery check and measure the first one. The
// second reads tables that do not exist yet.
func (x *extraction) dryRun(ctx context.Context) error {
	measured := x.pendingJob()
	statement := x.statement
	statement.Pending = ""
	measured.data = statement
	var err error
	if x.report.BytesBilled, err = x.estimate(ctx, measured); err != nil {
		return err
	}
	for _, j := range []job{x.pendingJob(), x.askJob()} {
		text, err := x.names.Statement(j.statement, j.data)
		if err != nil {
			return err
		}
		x.report.Statements = append(x.report.Statements, text)
	}
	return nil
}
