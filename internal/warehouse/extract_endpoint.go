// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// ErrNoModel is returned where an extraction is asked for and no model is configured.
var ErrNoModel = errors.New("no model is configured for extraction: set extract.model in the section bigquery of the configuration, for example gemini-2.5-flash")

// What the arguments of AI.GENERATE may consist of: they stand in the statement between
// quotes, so that nothing in them may end or escape a string.
var (
	modelName   = regexp.MustCompile(`^[a-z][a-z0-9]*([.@_-]?[a-z0-9]+)*$`)
	modelURL    = regexp.MustCompile(`^https://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?/[A-Za-z0-9._~@:/-]+$`)
	remoteModel = regexp.MustCompile("^`?[A-Za-z][A-Za-z0-9:.-]*\\.[A-Za-z_][A-Za-z0-9_]*\\.[A-Za-z_][A-Za-z0-9_-]*`?$")
	// https://cloud.google.com/bigquery/docs/connections-api-intro
	connectionName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

const maxModel = 1 << 10

// ExtractEndpoint returns the URL of the model that AI.GENERATE asks. dataset is where the
// dataset is: not Location, which only says where a new one is created.
//
// An https URL is returned as it is. A short name such as gemini-2.5-flash becomes the
// Vertex AI endpoint of BillingProject in Extract.Location or, without one, beside the
// dataset, so that no payload leaves the place where the dataset is: a region is used as
// it is, the multi-region US becomes us-central1 and EU becomes europe-west4. The
// location "global" is the global endpoint; "us" and "eu", when they are configured,
// are Vertex AI's own multi-regions, which some models need
// (https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations). A short name
// is an error when both locations are empty: none is assumed.
//
// The error is [ErrNoModel] without a model, and a [*NameError] for anything else: also
// for project.dataset.model, a remote model of BigQuery ML, which AI.GENERATE does not
// take.
func ExtractEndpoint(c config.BigQuery, dataset string) (string, error) {
	c = c.WithDefaults()
	model := c.Extract.Model
	bad := func(remedy string) (string, error) {
		return "", &NameError{What: "extract.model", Name: clipName(model), Remedy: remedy}
	}
	switch {
	case model == "":
		return "", ErrNoModel
	case len(model) > maxModel:
		return bad("it is longer than any model's name")
	case strings.HasPrefix(model, "https://"):
		if !modelURL.MatchString(model) {
			return bad("a URL of an endpoint has a host and a path of letters, digits and ._~@:/- only")
		}
		return model, nil
	case strings.Contains(model, "://"):
		return bad("a URL of an endpoint begins with https://")
	case remoteModel.MatchString(model):
		return bad("AI.GENERATE takes no remote model of BigQuery ML (project.dataset.model): use the name of the Gemini model behind it, such as gemini-2.5-flash, or the https URL of its endpoint")
	case !modelName.MatchString(model):
		return bad("use the name of a Gemini model such as gemini-2.5-flash, or an https URL")
	}
	location := c.Extract.Location
	if location == "" {
		switch location = strings.ToLower(dataset); location {
		case "us":
			location = "us-central1"
		case "eu":
			location = "europe-west4"
		}
	}
	if !regionName.MatchString(location) {
		return "", &NameError{What: "extract.location", Name: clipName(location), Remedy: "use a region such as europe-west3, us, eu or global"}
	}
	location = strings.ToLower(location)
	if !projectName.MatchString(c.BillingProject) {
		return "", &NameError{What: "billing_project", Name: clipName(c.BillingProject), Remedy: "use a project id such as my-project-123"}
	}
	host := location + "-aiplatform.googleapis.com"
	switch location {
	case "global":
		host = "aiplatform.googleapis.com"
	case "us", "eu":
		host = "aiplatform." + location + ".rep.googleapis.com"
	}
	return fmt.Sprintf("https://%s/v1/projects/%s/locations/%s/publishers/google/models/%s", host, c.BillingProject, location, model), nil
}

// ExtractConnection returns the connection that AI.GENERATE uses, empty when the
// caller's own credentials are. It checks the form, location.name or
// project.location.name; a [*NameError] says what is wrong.
func ExtractConnection(c config.BigQuery) (string, error) {
	name := c.Extract.Connection
	if name == "" {
		return "", nil
	}
	parts := strings.Split(name, ".")
	ok := len(parts) == 2 || len(parts) == 3
	if ok && len(parts) == 3 {
		ok = projectName.MatchString(parts[0])
		parts = parts[1:]
	}
	if !ok || !regionName.MatchString(parts[0]) || !connectionName.MatchString(parts[1]) {
		return "", &NameError{What: "extract.connection", Name: clipName(name), Remedy: "use location.name or project.location.name, for example us.gemini"}
	}
	return name, nil
}

// clipName shortens what is named in an error.
func clipName(s string) string { return text.Clip(s, 100) }
