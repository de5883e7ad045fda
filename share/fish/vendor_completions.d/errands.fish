function __errands_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (errands complete fish -- $words[2..-1] 2>/dev/null)
    switch "$lines[1]"
        case :files
            __fish_complete_path (commandline -ct)
        case :directories
            __fish_complete_directories (commandline -ct)
        case :command
            __fish_complete_command
        case '*'
            printf '%s\n' $lines
    end
end
complete -c errands -f -a '(__errands_complete)'
