//! `zvf doctor`: what would make a store smaller or faster.

use crate::args::DoctorArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf doctor`.
///
/// # Errors
///
/// As the store says.
pub(crate) fn run(args: &DoctorArgs, context: &mut Context<'_>) -> Result<()> {
    let with = zvf_jobs::Context::new().with_write(context.write_options(false));
    let report = context.wait(zvf_jobs::examine(&args.store, &with))??;
    if context.common.json {
        return print_json(&report);
    }
    context.warn(&report.notes);
    let mut out = String::new();
    for one in &report.advice {
        out.push_str(&format!(
            "{}: {} -> {} {}\n  {}\n  {}\n",
            one.about,
            count(one.before),
            count(one.after),
            one.unit,
            one.measured,
            one.command
        ));
    }
    let all = match report.advice.len() {
        0 if report.notes.is_empty() => "nothing would make it smaller or faster".to_owned(),
        0 => "no finding, but not everything was judged".to_owned(),
        n => counted(n as u64, "finding"),
    };
    out.push_str(&format!("{}: {all}\n", report.store));
    print_text(&out)
}
