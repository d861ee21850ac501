#!/bin/sh
# Submits the example workload: one fine-tune, one service, one training on four cards, six small evaluations.
#
#   submit.sh [DIR]   DIR: where the jobs work, write their output and their checkpoints
#                     (default: ~/.local/state/berth-examples)
#
# `berth` must be in PATH; the programs are looked for beside it, in a build tree or an installation.
set -eu

directory=${1:-${XDG_STATE_HOME:-${HOME:-/tmp}/.local/state}/berth-examples}
berth=$(command -v berth) || { echo "submit.sh: berth is not in PATH; add the folder build/ of the source tree" >&2; exit 1; }
berth=$(readlink -f "$berth")
here=${berth%/*}
for programs in "$here/examples" "$here/../../examples" "$here/../libexec/berth/examples"; do
	[ ! -x "$programs/train" ] || break
done
if [ ! -x "$programs/train" ]; then
	echo "submit.sh: the example programs are not beside $berth; run 'make build' first" >&2
	exit 1
fi
programs=$(cd "$programs" && pwd)
mkdir -p "$directory"
cd "$directory"

submit() {
	berth submit --parsable "$@" >/dev/null
}
# The evaluations wait for the card of the fine-tune, so that two cards stay free to try something on.
submit -J finetune -t 15m -G 1 --gpu-index 0 --sim-load 0:5:3G,10:88:22G -- "$programs/finetune" --seconds 60
submit -J serve -t 15m -G 1 -p P1 --sim-load 0:15:14G,10:35:14G -- "$programs/serve" --seconds 120
submit -J train -t 15m -G 4 --sim-load 0:10:6G,15:97:61G -- "$programs/train" --seconds 60
for task in 1 2 3 4 5 6; do
	submit -J "evaluate-$task" -t 5m -G 1 --gpu-index 0 --sim-load 0:3:1G,3:60:9G -- \
		"$programs/evaluate" --seconds 20 --task "$task"
done
