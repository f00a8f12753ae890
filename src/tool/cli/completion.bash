# Completion of heapledger's command line, for bash. It asks the tool for commands, options and values, so there is no
# list to keep. Installed as share/bash-completion/completions/heapledger; or: source completion.bash
# Run, not sourced, it answers other shells: the words that may stand for the last of its arguments, a line each, and what
# the shell completes itself after a tab: files, directories, profiles, commands, or from the word N on `command N`.

# Lines "-o, --output FILE": the options of a command.
_heapledger_options() {
  "$1" "$2" --help 2>/dev/null | sed -nE 's/^  ((-., |    )--[a-z-]+( [A-Z|]+)?)( .*)?$/\1/p'
}

# What stands for the value of option $2 in $1; nothing where it takes none.
_heapledger_placeholder() {
  sed -nE "s/^ *(.*, )?$2 ([A-Z|]+)\$/\\2/p; s/^ *$2, --[a-z-]+ ([A-Z|]+)\$/\\1/p" <<<"$1"
}

# Values of option $3 of command $2, from the words with which a wrong one is refused.
_heapledger_values() {
  local command=$2
  [[ $command != export ]] || set -- "$1" "$2" "$3" --format csv
  "$1" "$command" "${@:4}" "$3" '?' 2>&1 >/dev/null | sed -nE 's/^.* is none of //; T; s/,//g; p'
}

_heapledger_pids() {
  "$1" ps 2>/dev/null | sed -nE 's/^ *([0-9]+) .*/\1/p'
}

_heapledger_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_heapledger_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@")
}

_heapledger_profiles() {
  _heapledger_files -f -X '!*.hlp' -- "$1"
  _heapledger_files -d -- "$1"
}

_heapledger() {
  local tool=${COMP_WORDS[0]/#\~/$HOME} command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1))
  COMPREPLY=()
  if [[ $current == = ]]; then  # bash takes --by=peak for three words
    current=
  elif [[ ${COMP_WORDS[at]} == = ]]; then
    ((--at))
  fi
  local previous=${COMP_WORDS[at]}

  if ((COMP_CWORD == 1)) || [[ $command == help ]]; then
    _heapledger_words "--help --version $("$tool" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')" "$current"
    return
  fi
  local options placeholder i
  options=$(_heapledger_options "$tool" "$command")
  if [[ $command == run ]]; then  # what comes from PROGRAM on is its own
    for ((i = 2; i < COMP_CWORD; ++i)); do
      if [[ ${COMP_WORDS[i]} == -- ]]; then
        ((++i))
      elif [[ ${COMP_WORDS[i]} == [=-]* ]]; then
        if [[ ${COMP_WORDS[i + 1]} == = ]]; then
          ((i += 2))
        elif [[ -n $(_heapledger_placeholder "$options" "${COMP_WORDS[i]}") ]]; then
          ((++i))
        fi
        continue
      fi
      break
    done
    if ((i < COMP_CWORD)); then
      if declare -F _command_offset >/dev/null; then
        _command_offset "$i"
      else
        _heapledger_files -f -- "$current"
      fi
      return
    fi
  fi

  [[ $previous != -* ]] || placeholder=$(_heapledger_placeholder "$options" "$previous")
  case $placeholder in
    '') ;;
    FILE) _heapledger_files -f -- "$current"; return ;;
    DIR) _heapledger_files -d -- "$current"; return ;;
    OLD) _heapledger_profiles "$current"; return ;;
    'YES|NO') _heapledger_words 'yes no' "$current"; return ;;
    *) _heapledger_words "$(_heapledger_values "$tool" "$command" "$previous")" "$current"; return ;;
  esac
  if [[ $current == -* ]]; then
    _heapledger_words "$(grep -oE -- '--[a-z-]+' <<<"$options")" "$current"
    return
  fi
  case $command in
    attach) _heapledger_words "$(cd /proc && echo [0-9]*)" "$current" ;;
    run | doctor) _heapledger_files -c -- "$current" ;;
    detach | mark | snapshot | start | stop) _heapledger_words "$(_heapledger_pids "$tool")" "$current" ;;
    *)
      _heapledger_words "$(_heapledger_pids "$tool")" "$current"
      _heapledger_profiles "$current"
      ;;
  esac
}

if [[ ${BASH_SOURCE[0]} != "$0" ]]; then
  complete -F _heapledger heapledger
  return
fi

_heapledger_files() {
  case "$1 $2" in
    '-f -X') printf '\tprofiles\n' ;;
    -f*) printf '\tfiles\n' ;;
    -d*) printf '\tdirectories\n' ;;
    -c*) printf '\tcommands\n' ;;
  esac
}
_heapledger_profiles() {
  _heapledger_files -f -X
}
_command_offset() {
  printf '\tcommand %d\n' "$1"
}

COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
last=${COMP_WORDS[COMP_CWORD]}
name=
if [[ $last == --*=* ]]; then
  name=${last%%=*}=
  COMP_WORDS[COMP_CWORD]=${name%=}
  COMP_WORDS+=('=' "${last#*=}")
  ((COMP_CWORD += 2))
fi
_heapledger
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]/#/$name}"
