// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// InitOptions are what [Dataset.Init] takes. The zero value looks at everything and
// creates what is missing.
type InitOptions struct {
	// Quick trusts the labels of the table of events: where they say that this version
	// made the dataset, and that table has all its columns and no table or view is
	// missing, nothing else is looked at. It costs two requests.
	Quick bool
	// NoDataset makes a dataset that does not exist an error.
	NoDataset bool
	// Progress, when set, gets each object as soon as it is done.
	Progress func(InitObject)
}

// Outcome says what Init did with an object.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Upgraded  Outcome = "upgraded"
	Unchanged Outcome = "unchanged"
	// Skipped objects were not made, for the reason in a note or because another one
	// that they need failed.
	Skipped Outcome = "skipped"
	Failed  Outcome = "failed"
)

// InitObject is one object of the dataset and what was done with it.
type InitObject struct {
	Kind    warehouse.Kind
	Name    string
	Outcome Outcome
	// Added are the columns that the table of events got, with dots between a column and its
	// fields.
	Added []string
	// Err is why it failed.
	Err error
}

// InitReport says what Init did.
type InitReport struct {
	// Objects are in the order in which they were looked at. With InitOptions.Quick
	// there are none when nothing was to be done.
	Objects []InitObject
	// Notes are what people should know, such as a table without partitions.
	Notes []string
}

// Changed reports whether anything was created or upgraded.
func (r InitReport) Changed() bool {
	for _, o := range r.Objects {
		if o.Outcome == Created || o.Outcome == Upgraded {
			return true
		}
	}
	return false
}

// Init creates what is missing in the dataset, and the dataset. To a table of events of the plugin
// for Python it adds the columns that it lacks: no column is dropped, retyped or moved, and no row
// is touched. Anything else that has a name of contextgraph and another form stays as it is and is
// an error, unless it is a typed view of the plugin for Python. Init can be run again, and by
// several processes at a time. In a dataset that a newer version made it changes nothing.
//
// An object that fails does not keep the others from being made; what needs it is
// skipped, and the error names all that failed. The labels by which the dataset is known
// to be up to date are written last, so that what was interrupted is taken up again.
func (d *Dataset) Init(ctx context.Context, o InitOptions) (InitReport, error) {
	all, err := warehouse.Definitions(d.cfg)
	if err != nil {
		return InitReport{}, fmt.Errorf("bigquery: %w", err)
	}
	in := &initialization{d: d, o: o, want: all, labels: all[len(all)-1].Labels}
	err = in.run(ctx)
	return in.report, err
}

// initialization is one run of Init.
type initialization struct {
	d    *Dataset
	o    InitOptions
	want []warehouse.Definition
	// labels are to be those of the table of events.
	labels map[string]string
	report InitReport
	errs   []error
}

func (in *initialization) run(ctx context.Context) error {
	d := in.d
	md, err := d.table(d.names.Events()).Metadata(ctx)
	switch {
	case err == nil:
		if v := newerVersion(md.Labels); v > 0 {
			in.note("the dataset was made by a newer version of contextgraph (schema %d, this program knows %d): nothing was changed", v, warehouse.SchemaVersion)
			return nil
		}
		if in.o.Quick {
			if ok, err := in.upToDate(ctx, md); ok || err != nil {
				return err
			}
		}
	case !HasStatus(err, 404):
		return d.explain("table "+d.names.Events(), err)
	}
	made := make(map[string]bool)
	for _, def := range in.want {
		switch def.Kind {
		case warehouse.KindDataset:
			if !in.do(ctx, def.Kind, def.Name, in.dataset) {
				return errors.Join(in.errs...)
			}
		case warehouse.KindTable:
			made[def.Name] = in.do(ctx, def.Kind, def.Name, func(ctx context.Context, o *InitObject) error {
				return in.ensureTable(ctx, def.Table, o)
			})
		case warehouse.KindView:
			if !made[def.View.Table] {
				in.add(InitObject{Kind: def.Kind, Name: def.Name, Outcome: Skipped})
				continue
			}
			made[def.Name] = in.do(ctx, def.Kind, def.Name, func(ctx context.Context, o *InitObject) error {
				return in.ensureView(ctx, def.View, o)
			})
		case warehouse.KindGraph:
			in.ensureGraph(ctx, made)
		case warehouse.KindLabels:
			if len(in.errs) == 0 {
				in.errs = append(in.errs, in.writeLabels(ctx))
			}
		}
	}
	return errors.Join(in.errs...)
}

// do brings one object up to date, records what came of it and reports whether it is
// there.
func (in *initialization) do(ctx context.Context, kind warehouse.Kind, name string, ensure func(context.Context, *InitObject) error) bool {
	o := InitObject{Kind: kind, Name: name, Outcome: Unchanged}
	if err := ensure(ctx, &o); err != nil {
		o.Outcome, o.Err = Failed, in.d.explain(string(kind)+" "+name, err)
		in.errs = append(in.errs, o.Err)
	}
	in.add(o)
	return o.Err == nil
}

func (in *initialization) add(o InitObject) {
	in.report.Objects = append(in.report.Objects, o)
	if in.o.Progress != nil {
		in.o.Progress(o)
	}
}

func (in *initialization) note(format string, args ...any) {
	in.report.Notes = append(in.report.Notes, fmt.Sprintf(format, args...))
}

// newerVersion returns the version in the label when it is newer than what this program
// knows, else 0.
func newerVersion(labels map[string]string) int {
	v, err := strconv.Atoi(labels[warehouse.VersionLabel])
	if err != nil || v <= warehouse.SchemaVersion {
		return 0
	}
	return v
}

// upToDate reports whether the labels of the table of events say that nothing is to be
// done, and neither that table nor the list of tables says otherwise.
func (in *initialization) upToDate(ctx context.Context, md *bq.TableMetadata) (bool, error) {
	for k, v := range in.labels {
		if md.Labels[k] == v {
			continue
		}
		// Whether an edition without graphs has one now is for "contextgraph init" to
		// find out, not for every start.
		if k == warehouse.GraphLabel && md.Labels[k] == "" && *in.d.cfg.Graph.GQL {
			continue
		}
		return false, nil
	}
	if merged, err := mergeSchema(md.Schema, in.d.names.EventsTable()); err != nil || len(merged.added) > 0 {
		return false, nil // the long way reports it
	}
	there := make(map[string]bool)
	tables := in.d.client.DatasetInProject(in.d.names.Project(), in.d.names.Dataset()).Tables(ctx)
	for {
		t, err := tables.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			return false, in.d.explain("tables of "+in.d.names.Dataset(), err)
		}
		there[t.TableID] = true
	}
	for _, def := range in.want {
		if (def.Kind == warehouse.KindTable || def.Kind == warehouse.KindView) && !there[def.Name] {
			return false, nil
		}
	}
	return true, nil
}

// dataset creates the dataset unless it exists. Its own location wins over that of the
// configuration, since nobody can move a dataset.
func (in *initialization) dataset(ctx context.Context, o *InitObject) error {
	d := in.d
	md, err := d.metadata(ctx)
	if HasStatus(err, 404) {
		if in.o.NoDataset {
			return fmt.Errorf("it does not exist: create it, or let contextgraph create it in %s: %w", d.cfg.Location, err)
		}
		err = d.client.DatasetInProject(d.names.Project(), d.names.Dataset()).Create(ctx, &bq.DatasetMetadata{Location: d.cfg.Location, Description: "What agents did and why, recorded by contextgraph."})
		if err == nil {
			d.place.set(d.cfg.Location)
			o.Outcome = Created
			return nil
		}
		if HasStatus(err, 400) {
			return fmt.Errorf("it cannot be created in location %q (a region such as europe-west3, or US or EU): %w", d.cfg.Location, err)
		}
		if HasStatus(err, 409) { // another process was faster
			md, err = d.metadata(ctx)
		}
	}
	if err != nil {
		return err
	}
	if md.Location != "" && md.Location != d.cfg.Location && d.cfg.Location != config.Default().BigQuery.Location {
		in.note("the dataset is in %s and stays there: location %s of the configuration only says where a new one is created", md.Location, d.cfg.Location)
	}
	if e := md.DefaultTableExpiration; e > 0 {
		in.note("BigQuery deletes every table of the dataset, with what agents did, %s after it was made, unless the table says otherwise: change the default table expiration of the dataset and the expiration of the tables", e)
	}
	return nil
}

// table returns the table or view of that name in the dataset.
func (d *Dataset) table(name string) *bq.Table {
	return d.client.DatasetInProject(d.names.Project(), d.names.Dataset()).Table(name)
}
