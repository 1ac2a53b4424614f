// Reads a message of Prometheus remote write 2.0, packed by snappy, from standard input, and prints its series: decoded and
// checked by Prometheus' own code, as its receiver does.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

type series struct {
	Labels  map[string]string `json:"labels"`
	Type    string            `json:"type"`
	Help    string            `json:"help"`
	Unit    string            `json:"unit"`
	Times   []int64           `json:"times"`
	Values  []float64         `json:"values"`
	Counts  []uint64          `json:"counts"`
	Buckets int               `json:"buckets"`
	Ended   bool              `json:"ended"`
}

func main() {
	packed, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	message, err := snappy.Decode(nil, packed)
	if err != nil {
		log.Fatal(err)
	}
	var request writev2.Request
	if err := request.Unmarshal(message); err != nil {
		log.Fatal(err)
	}
	if len(request.Symbols) == 0 || request.Symbols[0] != "" {
		log.Fatal("the first symbol is not empty")
	}
	builder := labels.NewScratchBuilder(8)
	all := []series{}
	for _, given := range request.Timeseries {
		found, err := given.ToLabels(&builder, request.Symbols)
		if err != nil {
			log.Fatal(err)
		}
		metadata, err := given.ToMetadata(request.Symbols)
		if err != nil {
			log.Fatal(err)
		}
		one := series{
			Labels: found.Map(),
			Type:   string(metadata.Type),
			Help:   metadata.Help,
			Unit:   metadata.Unit,
		}
		for _, sample := range given.Samples {
			if value.IsStaleNaN(sample.Value) {
				one.Ended = true
				continue
			}
			one.Times = append(one.Times, sample.Timestamp)
			one.Values = append(one.Values, sample.Value)
		}
		for _, given := range given.Histograms {
			if value.IsStaleNaN(given.Sum) {
				one.Ended = true
				continue
			}
			histogram := given.ToIntHistogram()
			if err := histogram.Validate(); err != nil {
				log.Fatal(err)
			}
			one.Times = append(one.Times, given.Timestamp)
			one.Counts = append(one.Counts, histogram.Count)
			one.Buckets = len(histogram.PositiveBuckets)
		}
		all = append(all, one)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		log.Fatal(err)
	}
}
