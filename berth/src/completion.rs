//! `berth completion SHELL`: prints a script by which the shell calls `berth __complete` for completions
//! (docs/terminal.md).
//!
//! Each line of `berth __complete` is a proposal: a word, and after a tab its description, if it has one.
//! Only the last line is a directive for the shell, with the numbers of Cobra: with `:0` the shell proposes
//! files itself, and with `:4` it does not. So the scripts for Bash and Zsh act on `:0`, and drop any other
//! line that begins with a colon.

use clap::{Args, ValueEnum};

/// Shells with a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash 4 or newer.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

/// Arguments of `berth completion`.
#[derive(Args, Clone, Debug)]
pub struct CompletionArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `berth __complete`.
#[derive(Args, Clone, Debug)]
pub struct CompleteArgs {
    /// The words after `berth`, the last of which is incomplete.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Script for Bash. It drops the descriptions, which Bash does not show. `compopt -o default` lets Bash
/// propose files.
const BASH: &str = r#"# Completion of berth: source <(berth completion bash)
_berth() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :0) compopt -o default ;;
      :*) ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <(berth __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # Bash splits --flag=value at the sign, and completes the value alone.
  case ${COMP_WORDS[COMP_CWORD]} in
    =) COMPREPLY=("${COMPREPLY[@]#--*=}") ;;
    *) [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]] && COMPREPLY=("${COMPREPLY[@]#--*=}") ;;
  esac
}
complete -F _berth berth
"#;

/// Script for Zsh. `_files` proposes files.
const ZSH: &str = r#"#compdef berth
# Completion of berth: source <(berth completion zsh)
_berth() {
  local line
  local -a found
  for line in "${(@f)$(berth __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :0) _files ;;
      :*) ;;
      # A colon separates the word from its description.
      *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
      *) found+=("${line//:/\\:}") ;;
    esac
  done
  (( $#found )) && _describe berth found
}
compdef _berth berth
"#;

/// Script for Fish. It drops every directive, and `-f` prevents proposals of files. Fish reads words with
/// descriptions as they are.
const FISH: &str = r#"# Completion of berth: berth completion fish | source
complete -c berth -f -a '(berth __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
"#;

impl Shell {
    /// Returns the completion script for the shell.
    #[must_use]
    pub const fn script(self) -> &'static str {
        match self {
            Self::Bash => BASH,
            Self::Zsh => ZSH,
            Self::Fish => FISH,
        }
    }
}
