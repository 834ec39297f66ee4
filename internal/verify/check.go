// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// The steps of a run.
const (
	stepDataset   = "dataset"
	stepInit      = "init"
	stepStream    = "stream"
	stepSync      = "sync"
	stepAge       = "age"
	stepView      = "view"
	stepQuestion  = "question"
	stepPublished = "published"
	stepRemove    = "remove"
)

// The forms of a question.
const (
	formSQL = "sql"
	formGQL = "gql"
)

// check is one thing that a run does and looks at.
type check struct {
	step, name, form string
	// about says in a few words what is looked at.
	about string
	// statements are those of package warehouse that it sends, as often as it sends them.
	statements []string
	// needs are the names of earlier checks that it makes no sense without.
	needs []string
	do    func(ctx context.Context, r *run) error
}

// The names of checks that others need.
const (
	needDataset = "create the dataset"
	needTables  = "tables and views"
	needGraph   = "property graph"
	needRows    = "rows of the journal"
	needSync    = "graphs of the sessions"
)

// checks are all checks in the order in which they are made, but for the last one, which removes
// the dataset.
func checks(cfg config.BigQuery) ([]check, error) {
	names, err := warehouse.NamesOf(cfg)
	if err != nil {
		return nil, err
	}
	views, err := names.Views()
	if err != nil {
		return nil, err
	}
	allRelations := slices.Repeat([]string{"verify_view"}, len(relations))
	out := []check{
		{step: stepDataset, name: needDataset, about: "with a label, and an end for its tables", do: createDataset},
		{step: stepInit, name: needTables, about: "as contextgraph init makes them", needs: []string{needDataset}, do: initTables},
		{step: stepInit, name: needGraph, about: "as contextgraph init makes it", needs: []string{needTables}, do: initGraph},
		{step: stepStream, name: needRows, about: "sent as an agent sends them", needs: []string{needTables}, do: streamRows},
		{step: stepStream, name: "graphs of the agent", about: "brought in the background, as an agent brings them", needs: []string{needRows}, statements: allRelations, do: bringGraphs},
		{step: stepSync, name: needSync, about: "brought from the journal", needs: []string{needRows}, statements: allRelations, do: syncOnce},
		{step: stepSync, name: "the same again", about: "changes nothing that is shown", needs: []string{needSync}, statements: allRelations, do: syncOnce},
		{step: stepSync, name: "two at once", about: "each thing is shown once", needs: []string{needSync}, statements: allRelations, do: syncTwice},
		{step: stepAge, name: "older rows", about: "so that what reads older days is seen", needs: []string{needRows}, statements: []string{"verify_age_events"}, do: ageEvents},
		{step: stepAge, name: "older graphs", about: "so that what reads older days is seen", needs: []string{needSync}, statements: []string{"verify_age_graphs"}, do: ageGraphs},
	}
	for _, v := range views {
		if v.Table == names.Events() {
			out = append(out, viewCheck(v))
		}
	}
	for _, v := range relations {
		out = append(out, v.check())
	}
	out = append(out, questions()...)
	out = append(out, published()...)
	// Last, because readers see these graphs from then on.
	return append(out, check{
		step: stepSync, name: "graphs of the dataset", about: "made of its rows, as sync --from dataset does", needs: []string{needRows},
		statements: append([]string{"sync_known", "sync_read_sessions", "sync_model_entities"}, allRelations...), do: syncDataset,
	}), nil
}

// only returns the checks of these names and those that they need, in their order; all of them
// for no names.
func only(list []check, names []string) ([]check, error) {
	if len(names) == 0 {
		return list, nil
	}
	wanted := make(map[string]bool)
	for _, name := range names {
		if !slices.ContainsFunc(list, func(c check) bool { return c.name == name }) {
			return nil, &UnknownError{Name: name}
		}
		wanted[name] = true
	}
	for _, c := range slices.Backward(list) { // what is needed comes before
		if wanted[c.name] {
			for _, need := range c.needs {
				wanted[need] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(c check) bool { return !wanted[c.name] }), nil
}

// UnknownError says that no check has a name.
type UnknownError struct{ Name string }

// Error says how the names are found.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no check %q: contextgraph verify --plan has their names", e.Name)
}
