//! The report of `zvf doctor` for people.

use zvf_jobs::DoctorReport;

use crate::output::table::{count, counted};

/// The text of the report.
pub(super) fn text(report: &DoctorReport) -> String {
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
        0 if report.notes.is_empty() => {
            "found nothing that would make the store smaller or faster".to_owned()
        }
        0 => "no finding, but not everything was examined".to_owned(),
        n => counted(n as u64, "finding"),
    };
    out.push_str(&format!("{}: {all}\n", report.store));
    out
}
