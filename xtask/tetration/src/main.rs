//! The reference of TET beside ours, in one process: `agree DIR CASES SEED`, `bench DIR ROUNDS`.

mod agree;
mod bench;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match text[..] {
        ["agree", folder, cases, seed] => {
            agree::run(folder.as_ref(), cases.parse()?, seed.parse()?)
        }
        ["bench", folder, rounds] => bench::run(folder.as_ref(), rounds.parse()?),
        _ => Err("agree DIR CASES SEED, or bench DIR ROUNDS".into()),
    }
}
