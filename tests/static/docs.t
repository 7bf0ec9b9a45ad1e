#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What is made from the tables of options can be used, and every option has a place in it.
cd "$(dirname "$0")/../.." || exit 1
echo 1..4
n=0
result() {
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
	fi
}

make -s man >/dev/null
result 'man pages are without fault' "$(mandoc -T lint -W warning build/man/*.1 2>&1)"
result 'every command has a man page' "$(
	for command in record report script waits causal path latency html export cc; do
		grep -q '^\\fB\\-\\-\|^.TP' "build/man/dwell-$command.1" 2>&1 || echo "$command"
	done)"
result 'every option is in its man page and in the completion' "$(
	for command in record report script waits path html export 'causal run' 'causal report' 'latency run' 'latency report' 'latency requests' 'latency locks'; do
		# shellcheck disable=SC2086
		build/dwell $command --help | grep -o -- '^ .*--[a-z-]*' | sed 's/.*--//' | sort -u |
			while read -r option; do
				page=$(printf '%s' "$option" | sed 's/-/\\\\-/g')
				grep -q -- "\\\\-\\\\-$page" "build/man/dwell-${command%% *}.1" || echo "man: $command --$option"
				build/dwell completion | grep -q -- "--$option" || echo "completion: --$option"
			done
	done)"
completed=$(build/dwell completion >build/completion.bash && bash -c '
	. build/completion.bash
	COMP_WORDS=(dwell report --class s) COMP_CWORD=3
	_dwell
	echo "${COMPREPLY[*]}"' 2>&1)
result 'the completion completes' "$([ "$completed" = sched ] || echo "got: $completed")"
