// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// raceAttempts bounds how often an object is read again because somebody else changed it
// between reading and writing. Each attempt fails only where another one succeeded.
const raceAttempts = 5

// ensure creates the table or view unless it exists, and hands it to upgrade when it
// does. An object that appears in between (409) or changes (412: the ETag is another one)
// is read again.
func (in *initialization) ensure(ctx context.Context, name string, o *InitObject, create *bq.TableMetadata, upgrade func(*bq.TableMetadata) (*bq.TableMetadataToUpdate, error)) error {
	t := in.d.table(name)
	var err error
	for range raceAttempts {
		var md *bq.TableMetadata
		md, err = t.Metadata(ctx)
		if HasStatus(err, 404) && create != nil {
			if err = t.Create(ctx, create); err == nil {
				o.Outcome = Created
				return nil
			}
			if HasStatus(err, 409) {
				continue
			}
		}
		if err != nil {
			return err
		}
		update, problem := upgrade(md)
		if problem != nil || update == nil {
			return problem
		}
		if _, err = t.Update(ctx, *update, md.ETag); err == nil {
			if o.Outcome == Unchanged {
				o.Outcome = Upgraded
			}
			return nil
		}
		if !HasStatus(err, 412) {
			return err
		}
	}
	return fmt.Errorf("it was changed by others %d times in a row: %w", raceAttempts, err)
}

// ensureTable creates a table, or adds to one of the plugin for Python. Columns are added by a statement, which
// touches nothing else and does nothing where another process was faster. A field of a
// STRUCT can only be added by writing the whole schema, so that is done where a field is
// missing and not else: what this version of the client does not know of a column is lost
// then.
func (in *initialization) ensureTable(ctx context.Context, t warehouse.Table, o *InitObject) error {
	create := &bq.TableMetadata{
		Schema:           schemaOf(t.Columns),
		Description:      t.Description,
		TimePartitioning: &bq.TimePartitioning{Type: bq.DayPartitioningType, Field: t.PartitionBy},
		Labels:           t.Labels,
	}
	if len(t.ClusterBy) > 0 {
		create.Clustering = &bq.Clustering{Fields: t.ClusterBy}
	}
	var found *bq.TableMetadata
	var missing merged
	read := func(md *bq.TableMetadata) (err error) {
		if err := in.d.foreignTable(t, md); err != nil {
			return err
		}
		found = md
		missing, err = mergeSchema(md.Schema, t)
		return err
	}
	err := in.ensure(ctx, t.Name, o, create, func(md *bq.TableMetadata) (*bq.TableMetadataToUpdate, error) {
		return nil, read(md)
	})
	if err != nil || o.Outcome == Created {
		return err
	}
	if o.Added = missing.added; len(o.Added) > 0 {
		if len(missing.columns) > 0 {
			_, err := in.d.exec(ctx, job{statement: "init_add_column", data: warehouse.Table{Name: t.Name, Columns: missing.columns}, feature: featureInit})
			if err != nil {
				return err
			}
		}
		o.Outcome = Upgraded
		err := in.ensure(ctx, t.Name, o, nil, func(md *bq.TableMetadata) (*bq.TableMetadataToUpdate, error) {
			if err := read(md); err != nil || len(missing.added) == 0 {
				return nil, err
			}
			return &bq.TableMetadataToUpdate{Schema: missing.schema}, nil
		})
		if err != nil {
			return err
		}
	}
	in.noteLayout(t, found)
	return nil
}

// noteLayout says what nobody can change about a table that exists.
func (in *initialization) noteLayout(t warehouse.Table, md *bq.TableMetadata) {
	p := md.TimePartitioning
	if p == nil || p.Field != t.PartitionBy || p.Type != "" && p.Type != bq.DayPartitioningType {
		in.note("table %s is not partitioned by the day of %s, so a query reads and pays for all of it; partitions cannot be added: copy the rows to a table that has them", t.Name, t.PartitionBy)
	}
	var clustered []string
	if md.Clustering != nil {
		clustered = md.Clustering.Fields
	}
	if len(t.ClusterBy) > 0 && !slices.Equal(clustered, t.ClusterBy) {
		in.note("table %s is not clustered by %v but by %v, and stays so: queries for one of the former may read more than they need", t.Name, t.ClusterBy, clustered)
	}
}

// ensureView creates a view, or replaces its query when the label says that it is another
// one. Views are compared by label because BigQuery may write a query in its own way.
func (in *initialization) ensureView(ctx context.Context, v warehouse.View, o *InitObject) error {
	create := &bq.TableMetadata{
		ViewQuery:   v.Query,
		Description: v.Description,
		Labels:      map[string]string{warehouse.DigestLabel: v.Digest()},
	}
	foreign := false
	err := in.ensure(ctx, v.Name, o, create, func(md *bq.TableMetadata) (*bq.TableMetadataToUpdate, error) {
		if err := foreignView(v, md); err != nil {
			return nil, err
		}
		was := md.Labels[warehouse.DigestLabel]
		if was == v.Digest() {
			return nil, nil
		}
		foreign = was == ""
		update := &bq.TableMetadataToUpdate{ViewQuery: v.Query, UseLegacySQL: false, Description: v.Description}
		update.SetLabel(warehouse.DigestLabel, v.Digest())
		return update, nil
	})
	if err == nil && foreign {
		in.note("view %s was made by somebody else and now has the query of contextgraph; two programs that make views of one name undo each other: give one of them another view_prefix", v.Name)
	}
	return err
}

// writeLabels says in the labels of the table of events that the dataset is up to date.
func (in *initialization) writeLabels(ctx context.Context) error {
	d := in.d
	o := InitObject{Kind: warehouse.KindLabels, Name: d.names.Events(), Outcome: Unchanged}
	err := in.ensure(ctx, d.names.Events(), &o, nil, func(md *bq.TableMetadata) (*bq.TableMetadataToUpdate, error) {
		if newerVersion(md.Labels) > 0 {
			return nil, nil // upgraded in the meantime
		}
		update, changed := &bq.TableMetadataToUpdate{}, false
		set := func(key, value string) {
			update.SetLabel(key, value)
			changed = changed || md.Labels[key] != value
		}
		for k, v := range in.labels {
			set(k, v)
		}
		for k, v := range d.names.EventsTable().Labels {
			if atLeast(md.Labels[k], v) {
				v = md.Labels[k]
			}
			set(k, v)
		}
		if _, ok := in.labels[warehouse.GraphLabel]; !ok && md.Labels[warehouse.GraphLabel] != "" {
			update.DeleteLabel(warehouse.GraphLabel)
			changed = true
		}
		if !changed {
			return nil, nil
		}
		return update, nil
	})
	if err != nil {
		return d.explain("labels of "+d.names.Events(), err)
	}
	return nil
}

// atLeast reports whether the version that is there is no older than the wanted one.
func atLeast(have, want string) bool {
	h, err := strconv.Atoi(have)
	w, werr := strconv.Atoi(want)
	return err == nil && werr == nil && h >= w
}
