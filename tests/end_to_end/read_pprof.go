// What pprof's own package makes of a profile, as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

type stack struct {
	Values []int64
	Scope  []string
	Thread []string
	Frames []string
	Lines  []int64
}

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	read, err := profile.Parse(file)
	if err == nil {
		err = read.CheckValid()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	types := []string{}
	for _, kind := range read.SampleType {
		types = append(types, kind.Type+"/"+kind.Unit)
	}
	stacks := []stack{}
	for _, sample := range read.Sample {
		one := stack{Values: sample.Value, Scope: sample.Label["scope"], Thread: sample.Label["thread"]}
		for _, place := range sample.Location {
			for _, line := range place.Line {
				one.Frames = append(one.Frames, line.Function.Name)
				one.Lines = append(one.Lines, line.Line)
			}
		}
		stacks = append(stacks, one)
	}
	builds := []string{}
	for _, mapping := range read.Mapping {
		builds = append(builds, mapping.File+" "+mapping.BuildID)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"types": types, "default": read.DefaultSampleType, "stacks": stacks, "builds": builds,
		"comments": read.Comments})
}
