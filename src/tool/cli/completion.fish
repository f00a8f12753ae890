# Completion of heapledger's command line, for fish: what bash's knows, in the manner of fish. Installed as
# share/fish/vendor_completions.d/heapledger.fish; or: source completion.fish

set -g __heapledger_known (status dirname)/completion.bash
test -e $__heapledger_known
or set -g __heapledger_known (status dirname)/../../bash-completion/completions/heapledger

function __heapledger_complete
    set -l last (commandline -ct)
    set -l words (commandline -opc) "$last"
    set -l name "$(string match -r '^--[a-z-]+=' -- $words[-1])"
    set -l current (string replace -r '^--[a-z-]+=' '' -- $words[-1])
    for line in (bash $__heapledger_known $words 2>/dev/null)
        switch $line
            case \tfiles
                printf '%s\n' $name(__fish_complete_path $current)
            case \tdirectories
                printf '%s\n' $name(__fish_complete_directories $current)
            case \tprofiles
                __fish_complete_suffix $current .hlp
            case \tcommands
                complete --do-complete (string escape -- $current)
            case \t'command *'
                set -l program (math (string split ' ' $line)[2] + 1)
                complete --do-complete (string join ' ' -- (string escape -- $words[$program..-1]))
            case '*'
                echo $line
        end
    end
end

complete --command heapledger --no-files --arguments '(__heapledger_complete)'
