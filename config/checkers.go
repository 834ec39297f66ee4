// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Checker says how to ask for the present state of entities of one type.
type Checker struct {
	// Type is the type of the entities, such as Product. Required.
	Type string `yaml:"type"`
	// HTTP asks a JSON service. Exactly one of [Checker.HTTP], [Checker.SQL] and [Checker.Replay]
	// is required.
	HTTP *HTTP `yaml:"http"`
	// SQL asks a database.
	SQL *SQL `yaml:"sql"`
	// Replay calls the tool again that the entity was seen with.
	Replay *Replay `yaml:"replay"`
}

// Answers returns the type of an attribute in the answers of the checker, and the currency of an amount that names
// none. ok is false if they do not have the attribute, or if the configuration does not list their attributes.
func (c *Checker) Answers(attribute string) (kind entity.Kind, currency string, ok bool) {
	switch {
	case c.HTTP != nil:
		a, ok := c.HTTP.Attributes[attribute]
		return cmp.Or(a.Type, entity.KindText), a.Currency, ok
	case c.SQL != nil:
		a, ok := c.SQL.Attributes[attribute]
		return cmp.Or(a.Type, entity.KindText), a.Currency, ok
	default:
		return entity.KindNone, "", false
	}
}

// HTTP asks a JSON service with GET. Only an answer with status 200
// says anything; redirects are refused and a body is at most 1 MiB.
type HTTP struct {
	// URL is an absolute http or https URL. {value}, {type} and {attributes.NAME} in its path or
	// query are replaced by those of the entity, escaped. Required.
	URL string `yaml:"url"`
	// Headers are sent with every request. In a file, ${VAR} stands for an
	// environment variable, which must be set, and $${ for ${ itself.
	// Defaults to none.
	Headers map[string]Secret `yaml:"headers"`
	// AsOf says how old the answer is: a JSONPath query to a time in its body,
	// "date_header" for the Date header, or "fetch" for the time it was fetched.
	// Defaults to "fetch".
	AsOf string `yaml:"as_of"`
	// Version says which revision the answer describes: a JSONPath query into its
	// body, or "etag" for the ETag header. Defaults to none.
	Version string `yaml:"version"`
	// Gone are the statuses, of 404 and 410, that say that the thing does not exist. A proxy may answer 404 while a
	// service is deployed. Defaults to none: then no such status is an answer.
	Gone []int `yaml:"gone"`
	// Attributes are the values in the answer, by name. At least one is required.
	Attributes map[string]Answer `yaml:"attributes"`
}

// SQL asks a database with one query for each entity. The answer is one row; without a row the thing does not exist.
type SQL struct {
	// Database names a database that code gives with contextgraph.WithDatabase. Required, but
	// for contextgraph.SQLChecker, which gets the database itself.
	Database string `yaml:"database"`
	// Query has parameters as the driver of the database writes them, such as "?", "$1" or
	// "@p1". Required.
	Query string `yaml:"query"`
	// Args are the arguments of the parameters, in order. {value}, {type} and {attributes.NAME} in
	// them are replaced by those of the entity; they never become part of the query. Defaults to
	// none.
	Args []string `yaml:"args"`
	// AsOf says how old the answer is: the name of a column with a time, or "fetch" for
	// the time the query was sent. Defaults to "fetch".
	AsOf string `yaml:"as_of"`
	// Version is the name of a column with the revision of the row. Defaults to none.
	Version string `yaml:"version"`
	// Attributes are the values in the row, by name. At least one is required.
	Attributes map[string]Column `yaml:"attributes"`
}

// Column names the column of an attribute.
type Column struct {
	// Column is the name of the column, as the query gives it. That of a set holds a list in JSON. Required.
	Column string `yaml:"column"`
	// Type is the type of the value. Defaults to [entity.KindText].
	Type entity.Kind `yaml:"type"`
	// Currency is the currency of a money value that names none, in ISO 4217:
	// USD. Defaults to none.
	Currency string `yaml:"currency"`
}

// Replay calls the tool again that an entity was seen with, with the same
// arguments, and compares what the rules find in its result. Code registers the tools
// that may be called, with Instance.Replayable of package contextgraph.
type Replay struct {
	// Tool is the only tool that is called. Defaults to any that is registered.
	Tool string `yaml:"tool"`
	// MaxCalls is how many calls one check may repeat for this type; entities that were
	// seen in one call share it. Defaults to 20.
	MaxCalls int `yaml:"max_calls"`
}

// Answer says where the answer of a service has an attribute, and with which type.
type Answer struct {
	// Path is the path to the value, a JSONPath query. That of a set selects its elements. Required.
	Path string `yaml:"path"`
	// Type is the type of the value. Defaults to [entity.KindText].
	Type entity.Kind `yaml:"type"`
	// Currency is the currency of a money value that names none, in ISO 4217:
	// USD. Defaults to none.
	Currency string `yaml:"currency"`
}

const (
	// AsOfFetch is the AsOf of an answer that is as old as the question.
	AsOfFetch = "fetch"
	// AsOfDateHeader is the AsOf of an answer that says its age in the Date header.
	AsOfDateHeader = "date_header"
	// VersionETag is the Version of an answer that says it in the ETag header.
	VersionETag = "etag"
)
