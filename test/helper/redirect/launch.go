// launch.c in Go, whose runtime makes system calls without libc: launch HOW DIR PROGRAM [ARGUMENTS].
//
// kept: the child inherits the environment, with DIR in front of LD_LIBRARY_PATH, as Ollama's runners do.
// made: the environment of the child contains only LD_LIBRARY_PATH.
package main

import (
	"os"
	"os/exec"
	"strings"
)

const path = "LD_LIBRARY_PATH="

func main() {
	command := exec.Command(os.Args[3], os.Args[4:]...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if os.Args[1] == "kept" {
		for _, entry := range os.Environ() {
			if !strings.HasPrefix(entry, path) {
				command.Env = append(command.Env, entry)
			}
		}
		command.Env = append(command.Env, path+os.Args[2]+":"+os.Getenv("LD_LIBRARY_PATH"))
	} else {
		command.Env = []string{path + os.Args[2]}
	}
	if err := command.Run(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
