#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: completion.sh DOCS-DIR. The completions that the build made, asked as the shells ask them.
. "$(dirname "$0")/../lib/cases.sh"
docs=$(realpath "$1")
bash_file=$docs/mapwright
zsh_file=$docs/_mapwright
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" && touch profile.mwp && mkdir store.d || exit 1

# offers WORDS... -- WANTED...: what bash offers for the last word holds all that is wanted.
offers() {
	local words=() wanted
	while [ "$1" != --- ]; do words+=("$1"); shift; done
	shift
	bash --norc -c '
		. "$1"; shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_mapwright 2>/dev/null
		((!${#COMPREPLY[@]})) || printf "%s\n" "${COMPREPLY[@]}"' bash "$bash_file" "${words[@]}" >offered
	for wanted in "$@"; do
		grep -qxF -- "$wanted" offered || { echo "\"$wanted\" is not offered, but:"; cat offered; return 1; }
	done
}
offers_only() {
	offers "$@" || return
	while [ "$1" != --- ]; do shift; done
	[ "$(wc -l <offered)" -eq $(($# - 1)) ] || { cat offered; false; }
}

check bash_loads_it_without_a_word bash --norc -euc '[ -z "$(. "$1" 2>&1)" ]' bash "$bash_file"
check bash_completes_commands offers_only mapwright rec --- record
check bash_completes_options offers_only mapwright record --all --- --all-cpus
check bash_completes_choices offers_only mapwright record --call-graph f --- fp
check bash_completes_choices_after_an_equals_sign offers_only mapwright record --call-graph = f --- fp
check bash_completes_the_last_of_a_list offers_only mapwright record -e cycles,cpu-c --- cycles,cpu-clock
check bash_completes_sort_keys offers_only mapwright report --sort comm,ds --- comm,dso
check bash_completes_formats offers_only mapwright export -f fol --- folded
check bash_completes_files offers_only mapwright record -o prof --- profile.mwp
check bash_completes_directories offers_only mapwright record --store st --- store.d
check bash_completes_processes offers mapwright record -p $$ --- $$
check bash_completes_the_program_to_run offers mapwright record -a -F 99 seq --- seq
check bash_leaves_its_arguments_alone offers_only mapwright record -a ls --al ---
check bash_completes_the_command_of_help offers_only mapwright help doc --- doctor

# zsh completes only in a terminal: it gets one, the keys, and what it shows is searched.
cat >keys.zsh <<'Z'
zmodload zsh/zpty
zpty shell "TERM=dumb PS1='> ' zsh -f -i"
send() { zpty -w shell "$1"; }
# The spaces between quotes keep the echo of the command from being taken for its answer.
wait_for() {
	local all= chunk tries=0
	while (( tries++ < 200 )); do
		while zpty -r -t shell chunk; do all+=$chunk; done
		[[ $all = *$1* ]] && return 0
		sleep 0.05
	done
	print -r -- "${all}"
	return 1
}
send "autoload -Uz compinit; compinit -u -D; . $1; echo load''ed"
wait_for loaded || exit 1
zpty -w -n shell "mapwright $2"$'\t'
sleep 0.2
zpty -w -n shell $'\t'
wait_for "$3"
result=$?
zpty -d shell
exit $result
Z
zsh_offers() { timeout 60 zsh -f keys.zsh "$zsh_file" "$1" "$2"; }
check_with zsh zsh_finds_no_fault_in_it zsh -n "$zsh_file"
check_with zsh zsh_completes_commands zsh_offers 'rec' 'mapwright record '
check_with zsh zsh_completes_options zsh_offers 'record --all' 'record --all-cpus '
check_with zsh zsh_completes_choices zsh_offers 'record --call-graph f' 'call-graph fp '
check_with zsh zsh_completes_lists zsh_offers 'record -e cycles,cpu-c' 'cycles,cpu-clock'
check_with zsh zsh_completes_sort_keys zsh_offers 'report --sort comm,ds' 'comm,dso'
check_with zsh zsh_completes_formats zsh_offers 'export -f fol' 'folded '
check_with zsh zsh_completes_files zsh_offers 'record -o prof' 'profile.mwp'
check_with zsh zsh_completes_the_command_of_help zsh_offers 'help doc' 'help doctor'
finish
