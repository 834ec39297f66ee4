// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
)

const (
	// maxTries bounds how often one step of a sync is tried.
	maxTries = 6
	// firstPause and longestPause bound the pause before a step is tried again. It
	// doubles each time, and half of it is random, so that two that were in each
	// other's way do not meet again.
	firstPause   = 2 * time.Second
	longestPause = 30 * time.Second
	// firstPoll and longestPoll bound the pause between two looks at a job.
	firstPoll   = 100 * time.Millisecond
	longestPoll = 5 * time.Second
	// cancelTimeout bounds the request that ends a job nobody waits for any more.
	cancelTimeout = 3 * time.Second
)

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retrier repeats steps that failed with an error that passes.
type retrier struct {
	sleep   func(context.Context, time.Duration) error
	retries int
}

func newRetrier(sleep func(context.Context, time.Duration) error) *retrier {
	return &retrier{sleep: sleep}
}

// do calls step until it succeeds, fails for good, was tried maxTries times, or ctx ends.
func (r *retrier) do(ctx context.Context, step func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := step()
		if err == nil || try == maxTries || ctx.Err() != nil || !passes(err) {
			return err
		}
		half := pause / 2
		if r.sleep(ctx, half+rand.N(half)) != nil {
			return err
		}
		r.retries++
		pause = min(2*pause, longestPause)
	}
}

// passes reports whether the same step may succeed later. The reasons are those of
// https://cloud.google.com/bigquery/docs/error-messages. Conflicts between transactions
// have no reason of their own (they come as invalidQuery), so they are known by their
// words, those of https://cloud.google.com/bigquery/docs/troubleshoot-queries.
func passes(err error) bool {
	var job *bq.Error
	if errors.As(err, &job) && (slices.Contains(passing, job.Reason) || conflict(job.Message)) {
		return true
	}
	var api *googleapi.Error
	if errors.As(err, &api) {
		if api.Code == http.StatusTooManyRequests || api.Code >= http.StatusInternalServerError || conflict(api.Message) {
			return true
		}
		return slices.ContainsFunc(api.Errors, func(e googleapi.ErrorItem) bool {
			return slices.Contains(passing, e.Reason) || conflict(e.Message)
		})
	}
	return false
}

var passing = []string{
	"backendError", "internalError", "rateLimitExceeded", "jobRateLimitExceeded", "jobBackendError", "jobInternalError",
	"tableUnavailable",
}

// conflict reports whether the words are about a statement that was in the way of
// another one.
func conflict(words string) bool {
	words = strings.ToLower(words)
	return slices.ContainsFunc([]string{
		"could not serialize access", "due to concurrent update", "too many dml statements outstanding",
	}, func(s string) bool { return strings.Contains(words, s) })
}

// awaitJob waits until j is done and returns its status, or its error when it failed. It
// asks for the status: [bq.Job.Wait] asks for the results of a query, and repeats that
// for as long as ctx lives when the query itself failed with a reason that passes. When
// ctx ends first, the job is cancelled.
func awaitJob(ctx context.Context, j *bq.Job) (*bq.JobStatus, error) {
	status := j.LastStatus() // some jobs are done when they are submitted
	for pause := firstPoll; status == nil || !status.Done(); pause = min(2*pause, longestPoll) {
		err := sleep(ctx, pause)
		if err == nil {
			status, err = j.Status(ctx)
		}
		if ctx.Err() != nil {
			cancelJob(ctx, j)
		}
		if err != nil {
			return nil, Brief(err)
		}
	}
	return status, Brief(status.Err())
}

// lastCall returns a context for taking back what a call began, also when its own has
// ended: then there is less time for it.
func lastCall(ctx context.Context, alive, ended time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		alive = ended
	}
	return context.WithTimeout(context.WithoutCancel(ctx), alive)
}

func cancelJob(ctx context.Context, j *bq.Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	// A job that is not reached ends by itself; what it was for is repeated by a later
	// call.
	_ = j.Cancel(ctx)
}
