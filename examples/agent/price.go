// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"google.golang.org/adk/v2/agent"
)

type priceArgs struct {
	Drink string `json:"drink"`
}

type priceResult struct {
	Drink string `json:"drink"`
	Price string `json:"price"`
}

// getPrice is the agent's tool.
func getPrice(_ agent.Context, in priceArgs) (priceResult, error) {
	switch drink := strings.ToLower(in.Drink); drink {
	case "espresso":
		return priceResult{drink, "$2.80"}, nil
	case "flat white":
		return priceResult{drink, "$4.20"}, nil
	}
	return priceResult{}, fmt.Errorf("no drink %q; there are espresso and flat white", in.Drink)
}
