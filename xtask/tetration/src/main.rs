//! The reference of TET beside ours, in one process: `agree DIR [--cases N] [--seed N]`, `bench DIR ROUNDS`.

mod agree;
mod bench;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match text[..] {
        ["agree", folder, ref options @ ..] => {
            let (mut cases, mut seed) = (200, 1);
            for option in options.chunks(2) {
                match option {
                    ["--cases", number] => cases = number.parse()?,
                    ["--seed", number] => seed = number.parse()?,
                    _ => return Err(format!("no option {option:?}").into()),
                }
            }
            agree::run(folder.as_ref(), cases, seed)
        }
        ["bench", folder, rounds] => bench::run(folder.as_ref(), rounds.parse()?),
        _ => Err("agree DIR [--cases N] [--seed N], or bench DIR ROUNDS".into()),
    }
}
