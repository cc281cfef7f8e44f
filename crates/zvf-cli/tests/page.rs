//! The page of the documentation with the help of every command.

use std::path::Path;

use anyhow::{Context, Result};

use crate::run::zvf_in;

/// The heading of the options that every command takes.
const COMMON: &str = "Common options:";

/// The help of a command.
fn help(command: &[&str]) -> Result<String> {
    let words: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
    Ok(String::from_utf8(zvf_in(Path::new("."), &words)?.stdout)?)
}

/// A help without the options that every command takes, which are in the help of the program.
fn without_common(help: &str) -> Result<String> {
    let (before, rest) = help.split_once(COMMON).context("no common options")?;
    let rest = rest.split_inclusive('\n').skip(1);
    let after = rest.skip_while(|line| line.starts_with(' ') || line.trim().is_empty());
    Ok(before.to_owned() + &after.collect::<String>())
}

/// The commands that a help lists.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help")
}

/// Adds the sections of a command and of those below it.
fn sections(page: &mut String, command: &[&str]) -> Result<()> {
    let text = help(command)?;
    let shown = match command {
        [] => text.clone(),
        _ => without_common(&text)?,
    };
    let name = [&["zvf"], command].concat().join(" ");
    *page += &format!("\n## `{name}`\n\n```text\n{}\n```\n", shown.trim_end());
    for inner in commands(&text) {
        sections(page, &[command, &[inner]].concat())?;
    }
    Ok(())
}

#[test]
fn the_page_has_the_help_of_every_command() -> Result<()> {
    let mut page = "\
# Command line

What `zvf --help` and `zvf COMMAND --help` print. The options that every command takes are listed once, below `zvf`. [Options of jobs](jobs.md) has the same
options as members of JSON. `ZVF_BLESS=1 cargo test -p zvf-cli --test main page::` writes this page.
"
    .to_owned();
    sections(&mut page, &[])?;
    assert!(page.matches("\n## ").count() > 45);
    crate::run::blessed("../../../../docs/commands.md", &page)
}
