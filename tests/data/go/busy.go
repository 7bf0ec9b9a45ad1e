// SPDX-License-Identifier: BSD-2-Clause

// Goroutines that hash, take a mutex, write and sync, allocate and grow their stacks, for
// two seconds; with an argument, one that waits in a system call until its input ends.
package main

import (
	"crypto/sha256"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

type node struct {
	left, right *node
	value       [8]int
}

var mutex sync.Mutex
var total int

//go:noinline
func hashing(b []byte) {
	for i := 0; i < 40; i++ {
		sum := sha256.Sum256(b)
		copy(b, sum[:])
	}
}

//go:noinline
func locking(b []byte) {
	mutex.Lock()
	for i := 0; i < 2000; i++ {
		total += int(b[i%len(b)])
	}
	mutex.Unlock()
}

//go:noinline
func allocating(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{left: allocating(depth - 1), right: allocating(depth - 1)}
}

//go:noinline
func growing(n int) int {
	var frame [64]int
	if n == 0 {
		return frame[3]
	}
	return growing(n-1) + frame[n%64]
}

func worker(number int, end time.Time, wait *sync.WaitGroup) {
	defer wait.Done()
	b := make([]byte, 4096)
	file, err := os.CreateTemp(".", "busy")
	if err != nil {
		panic(err)
	}
	defer os.Remove(file.Name())
	for time.Now().Before(end) {
		hashing(b)
		locking(b)
		allocating(8)
		if number%2 == 0 {
			file.WriteAt(b, 0)
			file.Sync()
		}
		done := make(chan int)
		go func() { done <- growing(40) }()
		<-done
	}
}

//go:noinline
func waitInner() {
	b := make([]byte, 1)
	syscall.Read(0, b)
	runtime.KeepAlive(b)
}

//go:noinline
func waitOuter() {
	waitInner()
	total++
}

func main() {
	if len(os.Args) > 1 {
		waitOuter()
		return
	}
	var wait sync.WaitGroup
	end := time.Now().Add(2 * time.Second)
	for i := 0; i < 8; i++ {
		wait.Add(1)
		go worker(i, end, &wait)
	}
	wait.Wait()
}
