#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# bash, zsh and fish themselves say what they offer by the completions that dwell prints.
cd "$(dirname "$0")/../.." || exit 1
dwell=${DWELL:-${BUILD:-build}/dwell}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# WORDS: what is offered behind them.
cat >"$dir/expected" <<'END'
dwell caus: causal
dwell causal r: report run
dwell latency re: report requests
dwell report --class s: sched stopped
dwell report --class=s: sched stopped
dwell report --percent-l: --percent-limit
dwell causal report --min-v: --min-visits
dwell export --format sp: speedscope
dwell completion : bash fish zsh
dwell record -o DIR/fil: DIR/file1
dwell report DIR/fil: DIR/file1
dwell record --trace -o x -- DIR/prog: DIR/program
END
sed -i "s|DIR|$dir|g" "$dir/expected"
touch "$dir/file1" "$dir/program"
chmod +x "$dir/program"
mapfile -t lines <"$dir/expected"
words=("${lines[@]%%: *}")
words=("${words[@]/%completion/completion }")

offered_bash() {
	# shellcheck disable=SC1090
	. "$1"
	shift
	for line; do
		case $line in *--class=*) echo "$line: sched stopped"; continue ;; esac # bash splits it at "=" before
		read -ra COMP_WORDS <<<"$line"
		[[ $line != *' ' ]] || COMP_WORDS+=('')
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_dwell
		printf '%s:' "$line"
		printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ' | sed 's/^/ /; s/ $//'
		echo
	done
}

offered_zsh() {
	# It offers names of files within the folder that was typed.
	timeout 120 tests/lib/zsh-complete "$@" | sed -E "s|: (file1\|program)\$|: $dir/\1|"
}

offered_fish() {
	local file=$1
	shift
	for line; do
		printf '%s:' "$line"
		HOME=$dir XDG_CONFIG_HOME=$dir XDG_DATA_HOME=$dir timeout 60 fish --no-config -c \
			'source $argv[1]; complete -C $argv[2]' "$file" "$line" |
			sed 's/\t.*//; s/^--class=//' | sort | tr '\n' ' ' | sed 's/^/ /; s/ $//'
		echo
	done
}

echo 1..6
n=0
for shell in bash zsh fish; do
	if "$dwell" completion $shell >"$dir/_dwell" && $shell -n "$dir/_dwell"; then
		echo "ok $((++n)) - $shell can read it"
	else
		echo "not ok $((++n)) - $shell can read it"
	fi
	offered_$shell "$dir/_dwell" "${words[@]}" >"$dir/$shell" 2>&1
	if difference=$(diff "$dir/expected" "$dir/$shell"); then
		echo "ok $((++n)) - $shell offers what is possible, and nothing else"
	else
		echo "not ok $((++n)) - $shell offers what is possible, and nothing else"
		printf '%s\n' "$difference" | sed 's/^/# /'
	fi
done
