// Load the driver as one of the three generations of Ollama does: ollama a|b|c DIR PLUGIN PROGRAM
//
// a: the server opens the first libcuda.so* in DIR (Ollama's own folder) or in LD_LIBRARY_PATH, by its path.
// b: the server starts itself as a runner, with DIR in front of LD_LIBRARY_PATH; the runner opens PLUGIN, which needs
// libcuda.so.1.
// c: the server starts PROGRAM with that LD_LIBRARY_PATH, and itself to open libcuda.so.1 by its name.
// Each process that opens a library prints how many files called libcuda.so it has mapped: ours and others.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unsafe"
)

const variable = "LD_LIBRARY_PATH"

func open(name string, flags C.int) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	if C.dlopen(text, flags) == nil {
		fmt.Println(C.GoString(C.dlerror()))
		os.Exit(1)
	}
	ours, decoy := 0, 0
	maps, _ := os.ReadFile("/proc/self/maps")
	for _, line := range strings.Split(string(maps), "\n") {
		words := strings.Fields(line)
		if len(words) < 6 || words[2] != "00000000" || !strings.Contains(words[5], "/libcuda.so") {
			continue
		}
		if strings.Contains(words[5], "/lib/gangway/") {
			ours++
		} else {
			decoy++
		}
	}
	fmt.Printf("ours %d decoy %d\n", ours, decoy)
}

// The child gets a copy of the environment with LD_LIBRARY_PATH replaced in place.
func start(dir string, more string, words ...string) {
	command := exec.Command(words[0], words[1:]...)
	command.Env = os.Environ()
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	path, found := variable+"="+dir+":"+os.Getenv(variable), false
	for i, entry := range command.Env {
		if strings.HasPrefix(entry, variable+"=") {
			command.Env[i], found = path, true
		}
	}
	if !found {
		command.Env = append(command.Env, path)
	}
	command.Env = append(command.Env, more)
	if err := command.Run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	dir, self := os.Args[2], os.Args[0]
	switch os.Args[1] {
	case "a":
		for _, folder := range append([]string{dir}, filepath.SplitList(os.Getenv(variable))...) {
			if files, _ := filepath.Glob(filepath.Join(folder, "libcuda.so*")); len(files) > 0 {
				open(files[0], C.RTLD_LAZY)
				return
			}
		}
	case "b":
		start(dir, "GGML_CUDA_INIT=1", self, "runner", os.Args[3])
	case "runner":
		open(os.Args[2], C.RTLD_NOW|C.RTLD_GLOBAL)
	case "c":
		start(dir, "GGML_BACKEND_PATH="+os.Args[3], os.Args[4])
		start(dir, "GGML_BACKEND_PATH="+os.Args[3], self, "discover", "")
	case "discover":
		open("libcuda.so.1", C.RTLD_NOW)
	}
}
