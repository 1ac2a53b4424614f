//go:build tools

// Package tools names the programs that the checks of the packages build; go.mod locks their versions.
package tools

import (
	_ "github.com/rhysd/actionlint/cmd/actionlint"
	_ "helm.sh/helm/v3/cmd/helm"
)
