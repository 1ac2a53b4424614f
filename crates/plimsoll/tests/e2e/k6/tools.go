//go:build tools

// Names the program that the tests run, so that its sources are locked in go.sum.
package tools

import _ "go.k6.io/k6"
