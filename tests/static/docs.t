#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What is made from the tables of options can be used, and every option has a place in it.
cd "$(dirname "$0")/../.." || exit 1
echo 1..3
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
for shell in bash zsh fish; do
	build/dwell completion $shell >build/completion.$shell
done
result 'every option is in its man page and in the completions' "$(
	for command in record report script waits path html export 'causal run' 'causal report' 'latency run' 'latency report' 'latency requests' 'latency locks'; do
		# shellcheck disable=SC2086
		build/dwell $command --help | grep -o -- '^ .*--[a-z-]*' | sed 's/.*--//' | sort -u |
			while read -r option; do
				[ -n "$option" ] || continue
				page=$(printf '%s' "$option" | sed 's/-/\\\\-/g')
				grep -q -- "\\\\-\\\\-$page" "build/man/dwell-${command%% *}.1" || echo "man: $command --$option"
				grep -q -- "--$option" build/completion.bash || echo "bash: --$option"
				grep -qE -- "--$option=?-?(}')?\\[" build/completion.zsh || echo "zsh: --$option"
				grep -qE -- " -l $option " build/completion.fish || echo "fish: --$option"
			done
	done)"
