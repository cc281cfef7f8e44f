//! Writes broken stores to a folder: `badstores FOLDER RANDOM SEED`; `cargo xtask badstores` runs it.
#![allow(clippy::print_stdout, reason = "it says what it wrote")]

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use zvf_badstores::{Files, Outcome, Random, Verdict, breaks, damage, judge};

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, count, seed] = arguments.as_slice() else {
        return Err("badstores FOLDER RANDOM SEED".into());
    };
    let folder = Path::new(folder);
    let mut index: Vec<Value> = Vec::new();
    for one in breaks() {
        let name = format!("broken/{}", one.folder());
        one.files()?.write(&folder.join(&name))?;
        index
            .push(json!({"name": name, "base": one.case, "done": one.name, "expected": one.check}));
    }
    let mut random = Random::new(seed.parse()?);
    let cases = zvf_testkit::all_cases()?;
    for number in 0..count.parse::<usize>()? {
        let case = random.choose(&cases).ok_or("no cases")?.clone();
        let files = Files::of(&case)?;
        let done = damage(&files.objects, &mut random);
        let expected = match judge(&files.objects, &done) {
            Verdict::Broken(why) => why.to_owned(),
            Verdict::NoRule(why) => format!("nothing: {why}"),
            Verdict::Nothing(why) => format!("nothing is changed: {why}"),
        };
        let name = format!("random/{number}");
        let objects = done.apply(&files.objects);
        Files { objects }.write(&folder.join(&name))?;
        let what = format!("{}, {}: {}", done.kind.name(), done.key, done.what);
        index.push(json!({"name": name, "base": case, "done": what, "expected": expected}));
    }
    let mut table =
        "| store | made of | what was done | expected |\n|---|---|---|---|\n".to_owned();
    for one in &index {
        let text = |name: &str| {
            one[name]
                .as_str()
                .unwrap_or_default()
                .replace('|', "\\|")
                .replace('\n', " ")
        };
        writeln!(
            table,
            "| {} | {} | {} | {} |",
            text("name"),
            text("base"),
            text("done"),
            text("expected")
        )?;
    }
    std::fs::write(
        folder.join("index.json"),
        serde_json::to_vec_pretty(&index)?,
    )?;
    std::fs::write(folder.join("index.md"), table)?;
    println!("{} stores, listed in index.json and index.md", index.len());
    Ok(())
}
