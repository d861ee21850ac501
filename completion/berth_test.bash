#!/bin/bash
# Does completion offer what the program has?  berth_test.bash COMPLETION PROGRAM
set -u
source "$1"
program=$2
export BERTH_SOCKET=/nonexistent # no daemon is needed, and none is asked
failed=0

# expect "words typed, the last one incomplete" "what is offered"
expect() {
	COMP_WORDS=("$program" "${@:1:$#-1}")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_berth
	[[ "${COMPREPLY[*]}" == "${!#}" ]] && return
	echo "berth ${*:1:$#-1}: offered '${COMPREPLY[*]}', not '${!#}'"
	failed=1
}

expect su submit
expect wh why
expect config '' 'check show'
expect admin '' sim
expect help wai wait
expect submit --gp '--gpus --gpu-index --gpu-mem'
expect submit -p P 'P0 P1 P2'
expect config show --so --socket
expect wait --ti --timeout
expect cancel '' ''
exit $failed
