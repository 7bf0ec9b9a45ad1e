#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# include/dwell.h is for other people's programs: any dialect, any warnings, any way to link.
cd "$(dirname "$0")/../.." || exit 1
echo 1..5
n=0
check() {
	n=$((n + 1))
	what=$1
	shift
	if out=$("$@" 2>&1); then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		printf '%s\n' "$out" | sed 's/^/# /' | head -n 60
	fi
}

dir=build/header
rm -rf "$dir"
mkdir -p "$dir"

# Each part annotates once, and knows where the state is.
cat >"$dir/part.h" <<'END'
#ifdef __cplusplus
extern "C"
#endif
void **PART(void) __attribute__((visibility("default")));
void **PART(void)
{
	static volatile int lock;

	DWELL_SPIN_BEGIN(&lock);
	DWELL_SPIN_BEGIN_FOR(&lock, 1);
	DWELL_SPIN_END(&lock);
	DWELL_SPIN_RELEASE(&lock);
	DWELL_WOKEN_FOR_NOTHING();
	DWELL_PROGRESS;
	if (lock)
		DWELL_PROGRESS_NAMED("named");
	else
		DWELL_BEGIN("request");
	DWELL_END("request");
	DWELL_REQUEST_BEGIN(1);
	DWELL_REQUEST_BLOCK(1, &lock);
	DWELL_REQUEST_BEGIN_FROM(1, &lock);
	DWELL_REQUEST_END(1);
	DWELL_REQUEST_END_ALL();
	return STATE;
}
END
cat >"$dir/part.c" <<'END'
#include "include/dwell.h"
#ifdef DWELL_OFF
#define STATE ((void **)&dwell_v1_state)
#else
#define STATE 0
#endif
#include "part.h"
END
cat >"$dir/part.cc" <<'END'
#include "include/dwell.h"
#ifdef DWELL_OFF
#define STATE reinterpret_cast<void **>(&dwell_v1_state)
#else
#define STATE nullptr
#endif
#include "part.h"
END

# Makes an area, lets every part write to it, and looks who shares the state with whom.
cat >"$dir/main.c" <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "include/dwell.h"

void **first(void), **second(void), **third(void), **linked(void);

int main(int argc, char **argv)
{
	struct dwell_header header = {DWELL_AREA_MAGIC, DWELL_AREA_VERSION, 0,
				      sizeof(struct dwell_area), {0}};
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	void **(*loaded)(void) = (void **(*)(void))dlsym(plugin, "loaded");
	struct dwell_area *area;

	if (ftruncate(fd, sizeof(*area)) || write(fd, &header, sizeof(header)) < 0)
		return 1;
	setenv(DWELL_ENVIRONMENT, argv[1], 1);
	if (first() != second() || first() != third() || first() != linked()) {
		printf("not the same: %p %p %p %p\n", (void *)first(), (void *)second(),
		       (void *)third(), (void *)linked());
		return 1;
	}
	if (!loaded || !loaded())
		return 2;
	area = mmap(NULL, sizeof(*area), PROT_READ, MAP_SHARED, fd, 0);
	for (int i = 0; i < DWELL_STRIPES; i++)
		header.size -= area->stripe[i].next;
	printf("%d events\n", (int)(sizeof(*area) - header.size));
	return sizeof(*area) - header.size == 7 * 10 ? 0 : 3;
}
END

warnings='-Wall -Wextra -pedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef
	-Wmissing-declarations -Wredundant-decls -Werror'

c_dialects() {
	for compiler in gcc clang; do
		for std in c99 gnu99 c11 gnu11 gnu17; do
			for more in -O0 '-O2 -fPIC' -DDWELL_DISABLE; do
				# shellcheck disable=SC2086
				$compiler -std=$std $warnings $more -DPART=part -I. -c -o "$dir/part.o" \
					"$dir/part.c" || return 1
			done
		done
	done
}

cxx_dialects() {
	for compiler in g++ clang++; do
		for std in c++11 gnu++11 c++14 c++17 c++20; do
			for more in -O0 '-O2 -fPIC' -DDWELL_DISABLE; do
				# shellcheck disable=SC2086
				$compiler -std=$std $warnings -Wold-style-cast $more \
					-Wzero-as-null-pointer-constant -DPART=part -I. -c \
					-o "$dir/part.o" "$dir/part.cc" || return 1
			done
		done
	done
}

# Two C files, one C++ file, a library linked with, and one loaded.
parts() {
	gcc -O2 "$@" -fPIC -shared -DPART=linked -I. -o "$dir/liblinked.so" "$dir/part.c" &&
		gcc -O2 "$@" -fPIC -shared -DPART=loaded -I. -o "$dir/loaded.so" "$dir/part.c" &&
		gcc -O2 "$@" -DPART=first -I. -c -o "$dir/first.o" "$dir/part.c" &&
		clang -O1 "$@" -DPART=second -I. -c -o "$dir/second.o" "$dir/part.c" &&
		g++ -O2 "$@" -DPART=third -I. -c -o "$dir/third.o" "$dir/part.cc" &&
		gcc -I. -D_GNU_SOURCE -DDWELL_DISABLE -o "$dir/main" "$dir/main.c" "$dir/first.o" \
			"$dir/second.o" "$dir/third.o" -L"$dir" -llinked -ldl \
			-Wl,-rpath,"$PWD/$dir" &&
		rm -f "$dir/area" &&
		"$dir/main" "$dir/area" "$PWD/$dir/loaded.so"
}

not_there() {
	gcc -O2 -DDWELL_DISABLE -DPART=part -I. -c -o "$dir/part.o" "$dir/part.c" &&
		! nm "$dir/part.o" | grep -i dwell
}

check 'C, as strict as it gets' c_dialects
check 'C++, as strict as it gets' cxx_dialects
check 'the parts of a program share what they write to' parts
check 'so they do when symbols are hidden by default' parts -fvisibility=hidden
check 'nothing is left when disabled' not_there
