#compdef heapledger
# Completion of heapledger's command line, for zsh: what bash's knows, in the manner of zsh. Installed as
# share/zsh/site-functions/_heapledger; or, after compinit: source completion.zsh

_heapledger() {
  local here=${${(%):-%x}:A:h}
  local known=$here/completion.bash
  [[ -e $known ]] || known=$here/../../bash-completion/completions/heapledger
  local -a lines found
  lines=("${(@f)$(bash $known "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  local line
  for line in $lines; do
    case $line in
      $'\t'files) compset -P '--*='; _files ;;
      $'\t'directories) compset -P '--*='; _files -/ ;;
      $'\t'profiles) compset -P '--*='; _files -g '*.hlp' ;;
      $'\t'commands) _alternative 'commands:command:_command_names -e' 'files:program:_files -g "*(-*)"' ;;
      $'\t'command*)
        local -i program=${line##* }
        shift $program words
        ((CURRENT -= program))
        _normal
        ;;
      *) found+=($line) ;;
    esac
  done
  compadd -- $found
}

if [[ $funcstack[1] == _heapledger ]]; then
  _heapledger "$@"
else
  compdef _heapledger heapledger
fi
