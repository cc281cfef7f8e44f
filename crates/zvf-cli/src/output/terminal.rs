//! Pictures in a terminal: as images if it supports them, else as coloured half blocks, else as letters.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zvf_plot::Picture;

use crate::args::ShowArg;
use crate::error::Result;

/// Bytes of base64 in one piece of Kitty's protocol.
const PIECE: usize = 4096;

/// Names of terminals that draw sixels. Other terminals draw sixels, too, but share their name with terminals that do not.
const SIXEL: &[&str] = &[
    "contour",
    "foot",
    "foot-extra",
    "mlterm",
    "mlterm-256color",
    "vt340",
    "yaft-256color",
];

/// Columns, if the environment does not state them.
const COLUMNS: u32 = 80;

/// Darkness of letters, from empty to full.
const INK: &[u8] = b" .:-=+*#%@";

/// A picture as text for the terminal.
///
/// # Errors
///
/// The errors of the PNG encoder.
pub(crate) fn shown(picture: &Picture, how: ShowArg) -> Result<String> {
    Ok(match chosen(how) {
        ShowArg::Kitty => kitty(&picture.to_png()?),
        ShowArg::Iterm2 => iterm2(&picture.to_png()?),
        ShowArg::Sixel => picture.to_sixels(),
        ShowArg::Blocks => blocks(&small(picture, 2)),
        ShowArg::Auto | ShowArg::Text => letters(&small(picture, 1)),
    })
}

/// Whether pictures are shown in letters or blocks.
pub(crate) fn is_coarse(how: Option<ShowArg>) -> bool {
    let how = how.map(chosen);
    matches!(how, Some(ShowArg::Blocks | ShowArg::Text))
}

fn chosen(how: ShowArg) -> ShowArg {
    match how {
        ShowArg::Auto => detected(|name| std::env::var(name).ok()),
        given => given,
    }
}

/// The best style that the environment variables of the terminal indicate; text if stdout is not a terminal.
fn detected(variable: impl Fn(&str) -> Option<String>) -> ShowArg {
    use std::io::IsTerminal;
    if !std::io::stdout().is_terminal() {
        return ShowArg::Text;
    }
    by_name(variable)
}

fn by_name(variable: impl Fn(&str) -> Option<String>) -> ShowArg {
    let is = |name: &str, values: &[&str]| {
        variable(name).is_some_and(|found| values.iter().any(|value| found == *value))
    };
    // No protocol works in all terminal multiplexers.
    let multiplexed = variable("TMUX").is_some() || variable("STY").is_some();
    if !multiplexed {
        if variable("KITTY_WINDOW_ID").is_some()
            || is("TERM", &["xterm-kitty", "xterm-ghostty"])
            || is("TERM_PROGRAM", &["ghostty"])
        {
            return ShowArg::Kitty;
        }
        if is("TERM_PROGRAM", &["iTerm.app", "WezTerm"]) || is("LC_TERMINAL", &["iTerm2"]) {
            return ShowArg::Iterm2;
        }
        // Version 22.04, the first one with sixels, is stated as 220400.
        let konsole = variable("KONSOLE_VERSION").and_then(|text| text.parse::<u32>().ok());
        if is("TERM", SIXEL)
            || is("TERM_PROGRAM", &["mintty", "contour"])
            || konsole.is_some_and(|version| version >= 220_400)
        {
            return ShowArg::Sixel;
        }
    }
    match is("COLORTERM", &["truecolor", "24bit"]) {
        true => ShowArg::Blocks,
        false => ShowArg::Text,
    }
}

/// Kitty's graphics protocol: base64 in pieces, each with a flag that states whether more follow.
fn kitty(png: &[u8]) -> String {
    let all = STANDARD.encode(png);
    let mut out = String::new();
    let mut rest = all.as_str();
    let mut control = "a=T,f=100,";
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(PIECE));
        let more = u8::from(!after.is_empty());
        // Writing to a String does not fail.
        let _ = write!(out, "\x1b_G{control}m={more};{piece}\x1b\\");
        control = "";
        rest = after;
    }
    out.push('\n');
    out
}

/// An inline image of iTerm2.
fn iterm2(png: &[u8]) -> String {
    format!(
        "\x1b]1337;File=inline=1;size={}:{}\x07\n",
        png.len(),
        STANDARD.encode(png)
    )
}

/// The picture scaled to one pixel for each column of the terminal, and `rows` pixels for the height of a letter. A letter is twice as high as wide.
fn small(picture: &Picture, rows: u32) -> Picture {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|text| text.parse().ok());
    let columns = columns.unwrap_or(COLUMNS).clamp(8, 400);
    let height =
        u64::from(columns) * u64::from(picture.height()) / u64::from(picture.width().max(1));
    let height = u32::try_from(height).unwrap_or(u32::MAX).clamp(2, 1000) * rows / 2;
    picture.shrunk(columns, height.max(1))
}

/// Half blocks: the upper half has the foreground colour, the lower half the background colour.
fn blocks(picture: &Picture) -> String {
    let row = picture.width() as usize * 4;
    let mut out = String::new();
    for pair in picture.rgba().chunks(2 * row) {
        let (upper, lower) = pair.split_at(row.min(pair.len()));
        for (column, pixel) in upper.chunks_exact(4).enumerate() {
            let below = lower.get(column * 4..column * 4 + 3).unwrap_or(&[0, 0, 0]);
            let _ = write!(
                out,
                "\x1b[38;2;{};{};{};48;2;{};{};{}m▀",
                pixel[0], pixel[1], pixel[2], below[0], below[1], below[2]
            );
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

/// Letters for pixels: the more a pixel differs from the upper left one, the background, the more ink has its letter.
fn letters(picture: &Picture) -> String {
    let ground = picture.rgba().get(..4).unwrap_or(&[0; 4]).to_vec();
    let differs = |pixel: &[u8]| {
        let sides = pixel.iter().zip(&ground);
        sides.map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
    };
    let most = picture.rgba().chunks_exact(4).map(differs).max();
    let most = most.unwrap_or(0).max(1);
    let mut out = String::new();
    for row in picture.rgba().chunks_exact(picture.width() as usize * 4) {
        let letters = row.chunks_exact(4).map(|pixel| {
            // The square root makes thin lines visible, which are faint in a small picture.
            let share = (f64::from(differs(pixel)) / f64::from(most)).sqrt();
            let step = (share * (INK.len() - 1) as f64).round() as usize;
            char::from(INK.get(step).copied().unwrap_or(b' '))
        });
        let line: String = letters.collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_known_by_their_variables() {
        let of = |pairs: &'static [(&str, &str)]| {
            by_name(move |name| {
                let found = pairs.iter().find(|(one, _)| *one == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[]), ShowArg::Text);
        assert_eq!(of(&[("TERM", "xterm-kitty")]), ShowArg::Kitty);
        assert_eq!(
            of(&[
                ("TERM", "xterm-kitty"),
                ("TMUX", "x"),
                ("COLORTERM", "truecolor")
            ]),
            ShowArg::Blocks
        );
        assert_eq!(of(&[("TERM_PROGRAM", "iTerm.app")]), ShowArg::Iterm2);
        assert_eq!(of(&[("TERM", "foot")]), ShowArg::Sixel);
        assert_eq!(of(&[("TERM", "foot"), ("STY", "1")]), ShowArg::Text);
        assert_eq!(of(&[("KONSOLE_VERSION", "230805")]), ShowArg::Sixel);
        assert_eq!(of(&[("KONSOLE_VERSION", "211203")]), ShowArg::Text);
    }

    #[test]
    fn kitty_takes_pieces_and_they_are_the_file() {
        let png: Vec<u8> = (0..10_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let text = kitty(&png);
        let pieces: Vec<&str> = text
            .trim_end()
            .split("\x1b\\")
            .filter(|piece| !piece.is_empty())
            .collect();
        assert_eq!(pieces.len(), 4);
        assert!(pieces[0].starts_with("\x1b_Ga=T,f=100,m=1;"));
        assert!(pieces[3].starts_with("\x1b_Gm=0;"));
        let data: String = pieces
            .iter()
            .filter_map(|piece| piece.split_once(';'))
            .map(|(_, data)| data)
            .collect();
        assert!(pieces.iter().all(|piece| piece.len() < 4200));
        assert_eq!(STANDARD.decode(data).unwrap(), png);
        assert!(iterm2(b"abc").contains("size=3:YWJj\x07"));
    }

    #[test]
    fn letters_show_what_differs_from_the_ground() {
        let pixel = |value: u8| [value, value, value, 255];
        let pixels = [0, 0, 255, 64].map(pixel).concat();
        let picture = Picture::of_rgba(2, 2, pixels).unwrap();
        assert_eq!(letters(&picture), "\n@=\n".replace('=', "+"));
        assert_eq!(blocks(&picture).matches('▀').count(), 2);
    }
}
