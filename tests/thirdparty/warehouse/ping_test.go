// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"testing"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

func TestEmulatorAnswers(t *testing.T) {
	s := emulator.Start(t)
	client, err := bq.NewClient(t.Context(), emulator.Project, s.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	rows, err := client.Query("SELECT 1").Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var row []bq.Value
	if err := rows.Next(&row); err != nil || row[0] != int64(1) {
		t.Errorf("SELECT 1 = %v, %v", row, err)
	}
}
