# Completion of berth for bash. Verbs, options, jobs and cards are asked from the program itself, so nothing here goes stale.

_berth() {
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]} verb= i
	local -a words=()

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) # what follows is a command of its own
			COMPREPLY=($(compgen -c -- "$word"))
			return
			;;
		config | admin) verb=${COMP_WORDS[i]} ;;
		-*) ;;
		*)
			verb="${verb:+$verb }${COMP_WORDS[i]}"
			break
			;;
		esac
	done

	case $previous in
	-p | --priority) words=(P0 P1 P2) ;;
	--export) words=(ALL NONE) ;;
	-D | --chdir)
		COMPREPLY=($(compgen -d -- "$word"))
		return
		;;
	-o | --output | -e | --error | --socket)
		COMPREPLY=($(compgen -f -- "$word"))
		return
		;;
	esac
	if ((${#words[@]} > 0)); then
		COMPREPLY=($(compgen -W "${words[*]}" -- "$word"))
		return
	fi

	if [[ -z $verb ]]; then
		words=($("$program" __complete verbs 2>/dev/null | cut -d ' ' -f 1 | sort -u))
	elif [[ $verb == config || $verb == admin ]]; then
		words=($("$program" __complete verbs 2>/dev/null | sed -n "s/^$verb //p"))
	elif [[ $word == -* ]]; then
		words=($("$program" __complete options $verb 2>/dev/null))
	else
		case $verb in
		show | why | logs | wait | cancel | hold | release | alter | requeue)
			words=($("$program" __complete jobs 2>/dev/null))
			;;
		drain | undrain | "admin sim")
			words=($("$program" __complete gpus 2>/dev/null))
			;;
		help)
			words=($("$program" __complete verbs 2>/dev/null | cut -d ' ' -f 1 | sort -u))
			;;
		submit | "config check")
			COMPREPLY=($(compgen -f -- "$word"))
			return
			;;
		run)
			COMPREPLY=($(compgen -c -- "$word"))
			return
			;;
		esac
	fi
	COMPREPLY=($(compgen -W "${words[*]}" -- "$word"))
}

complete -o filenames -F _berth berth
