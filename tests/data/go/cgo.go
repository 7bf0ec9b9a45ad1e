// SPDX-License-Identifier: BSD-2-Clause

// Go that calls C, for two seconds of sorting.
package main

/*
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void sort_in_c(void)
{
	int values[20000];

	for (int i = 0; i < 20000; i++)
		values[i] = i * 7919 % 20000;
	qsort(values, 20000, sizeof(values[0]), compare);
}
*/
import "C"
import "time"

//go:noinline
func callC() {
	C.sort_in_c()
}

func main() {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		callC()
	}
}
