//! Arguments of the commands that run a job of `zvf-jobs`, and of `zvf run` and `zvf schema`.

use std::path::PathBuf;

use clap::Args;
use zvf_jobs::Job;

/// The arguments of a command that runs one job.
#[derive(Debug, Args)]
pub(crate) struct JobArgs<J: Args> {
    /// The options.
    #[command(flatten)]
    pub(crate) job: J,
    /// Prints the job as JSON for `zvf run` and does not run it. Common options are not included: give them to `zvf run`
    #[arg(long)]
    pub(crate) print_job: bool,
}

impl<J: Args + Clone + Into<Job>> JobArgs<J> {
    /// The job, and whether it is only printed.
    pub(crate) fn job(&self) -> (Job, bool) {
        (self.job.clone().into(), self.print_job)
    }
}

/// `zvf run`
#[derive(Debug, Args)]
#[command(after_help = help!("run"))]
pub(crate) struct RunArgs {
    /// A file with a job, or a list of them, in JSON; `-`: stdin
    #[arg(value_name = "JOB.json")]
    pub(crate) file: PathBuf,
}

/// `zvf schema`
#[derive(Debug, Args)]
#[command(after_help = help!("schema"))]
pub(crate) struct SchemaArgs {
    /// The job; without it, any job or list of them
    #[arg(value_name = "JOB", value_parser = Job::NAMES)]
    pub(crate) job: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::Arg;
    use serde_json::Value;

    use super::Job;
    use crate::args::{Cli, command_of};

    /// The default of an argument, as text.
    fn default(argument: &Arg) -> String {
        match argument.get_default_values() {
            [] if !argument.get_action().takes_values() => "false".to_owned(),
            values => values.iter().map(|one| one.to_string_lossy()).collect(),
        }
    }

    #[test]
    fn every_option_of_a_job_is_a_flag_with_its_default_and_documentation() {
        let program = Cli::described();
        for name in Job::NAMES {
            let command = command_of(&program, name).unwrap();
            let outer = program.find_subcommand("edit").unwrap();
            let outer = match name.starts_with("edit-") {
                true => outer.get_arguments().collect(),
                false => Vec::new(),
            };
            let schema = zvf_jobs::schema(Some(name)).unwrap();
            let members = schema["properties"].as_object().unwrap();
            for (member, of) in members.iter().filter(|(member, _)| *member != "job") {
                let id = match (name, member.as_str()) {
                    // `--version` is a flag of every command already.
                    ("import" | "create", "version") => "target",
                    (_, "version") => "to",
                    // One list of paths, so that options may be between the files and the store.
                    ("import", "files" | "store") | ("merge", "sources" | "target") => "paths",
                    (_, member) => member,
                };
                let mut all = command.get_arguments().chain(outer.iter().copied());
                let found = all.find(|one| one.get_id() == id);
                let argument = found.unwrap_or_else(|| panic!("{name}: no flag for {member}"));
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                let help = argument.get_help().map(|help| words(&help.to_string()));
                let documented = of["description"].as_str().map(words);
                let help = match (name, id) {
                    // Only the command writes to stdout, not the job.
                    ("plot", "output") => help.map(|help| help.replace(", or - for stdout", "")),
                    _ => help,
                };
                assert!(id == "paths" || help == documented, "{name}: {member}");
                let expected = match of.get("default") {
                    None => {
                        let required = argument.is_positional() || argument.is_required_set();
                        // `--show` replaces the output file.
                        let shown = (name, id) == ("plot", "output");
                        assert!(required || shown, "{name}: {member}");
                        continue;
                    }
                    Some(Value::Null) => String::new(),
                    Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
                    Some(Value::Object(none)) if none.is_empty() => String::new(),
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                };
                assert_eq!(default(argument), expected, "{name}: {member}");
            }
            // Flags that every command has.
            let added = |one: &Arg| {
                one.is_global_set() || ["help", "version"].contains(&one.get_id().as_str())
            };
            let own = |one: &&Arg| !added(one);
            let flags = command.get_arguments().filter(own);
            let flags = flags.map(|one| one.get_id().as_str());
            let more: Vec<&str> = flags
                .filter(|id| !members.contains_key(*id))
                .filter(|id| !["to", "target", "paths", "print_job"].contains(id))
                .collect();
            let about_the_report = ["fail_on", "explain", "format", "output", "list_checks"];
            let expected: &[&str] = match name {
                "validate" => &about_the_report,
                "repair" => &["format"],
                // Another name of FILE.
                "export" => &["output"],
                "query" => &["explain"],
                "plot" => &["show"],
                _ => &[],
            };
            assert_eq!(more, expected, "{name}");
        }
    }
}
