//! Colours: colour rules, colour maps, and names.

use std::fmt;
use std::str::FromStr;

use crate::PlotError;

/// A colour of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// White.
    pub const WHITE: Self = Self(255, 255, 255);
    /// Black.
    pub const BLACK: Self = Self(0, 0, 0);

    pub(crate) fn bits(self) -> u32 {
        u32::from(self.0) << 16 | u32::from(self.1) << 8 | u32::from(self.2)
    }

    pub(crate) fn of_bits(bits: u32) -> Self {
        let [b, g, r, _] = bits.to_le_bytes();
        Self(r, g, b)
    }

    /// The colour at `share` of the way to another one.
    pub(crate) fn mix(self, other: Self, share: f32) -> Self {
        let mix = |a: u8, b: u8| {
            let value = f32::from(a) + share * (f32::from(b) - f32::from(a));
            value.round().clamp(0.0, 255.0) as u8
        };
        Self(
            mix(self.0, other.0),
            mix(self.1, other.1),
            mix(self.2, other.2),
        )
    }

    /// The colour with its brightness multiplied by a share.
    pub(crate) fn dimmed(self, share: f32) -> Self {
        Self::BLACK.mix(self, share)
    }

    /// Perceived brightness, from 0 to 1.
    pub fn luminance(self) -> f32 {
        (0.2126 * f32::from(self.0) + 0.7152 * f32::from(self.1) + 0.0722 * f32::from(self.2))
            / 255.0
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Colours with names.
const NAMED: &[(&str, Rgb)] = &[
    ("black", Rgb::BLACK),
    ("white", Rgb::WHITE),
    ("gray", Rgb(128, 128, 128)),
    ("grey", Rgb(128, 128, 128)),
    ("red", Rgb(228, 61, 48)),
    ("orange", Rgb(245, 145, 45)),
    ("yellow", Rgb(240, 208, 60)),
    ("green", Rgb(76, 175, 80)),
    ("cyan", Rgb(56, 190, 201)),
    ("blue", Rgb(66, 133, 244)),
    ("purple", Rgb(156, 89, 200)),
    ("magenta", Rgb(216, 67, 156)),
    ("brown", Rgb(150, 100, 70)),
];

impl FromStr for Rgb {
    type Err = PlotError;

    /// `#rrggbb`, `#rgb`, or a name.
    fn from_str(text: &str) -> Result<Self, PlotError> {
        let named = NAMED.iter().find(|(name, _)| *name == text);
        if let Some((_, color)) = named {
            return Ok(*color);
        }
        let digits = text.strip_prefix('#').unwrap_or("");
        let number = u32::from_str_radix(digits, 16).ok();
        match (digits.len(), number) {
            (6, Some(bits)) => Ok(Self::of_bits(bits)),
            (3, Some(bits)) => {
                let channel = |shift: u32| ((bits >> shift & 15) * 17).to_le_bytes()[0];
                Ok(Self(channel(8), channel(4), channel(0)))
            }
            _ => {
                let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
                Err(PlotError::usage(format!(
                    "colour: found {text:?}, expected #rrggbb or one of {}",
                    names.join(", ")
                )))
            }
        }
    }
}

/// The colour rule.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ColorBy {
    /// Direction for lines, polylines and streamlines; density for many points; objects if there are several; else one colour.
    #[default]
    Auto,
    /// One colour.
    Solid(Rgb),
    /// Values of a vertex attribute, or of an object attribute if vertices have none of that name, in the channel of this number. `None`:
    /// the first channel, with a warning if there are several. A text that is not an attribute is an [`Expression`](zvf_query::Expression).
    Attribute(String, Option<usize>),
    /// A colour for each object.
    Object,
    /// A colour for each group of objects.
    Group,
    /// Red, green and blue are the shares of x, y and z in the direction of a line, as in tractography, or of a surface's normal.
    Direction,
    /// The number of vertices or lines in each pixel, on a logarithmic scale.
    Density,
}

impl FromStr for ColorBy {
    type Err = PlotError;

    /// `auto`, `object`, `group`, `direction`, `density`, a colour (`#rrggbb` or a name), or the name of an attribute, with a channel
    /// (`NAME[1]`), or an expression; a text after `attribute:` is always an attribute.
    fn from_str(text: &str) -> Result<Self, PlotError> {
        match text {
            "auto" => return Ok(Self::Auto),
            "object" => return Ok(Self::Object),
            "group" => return Ok(Self::Group),
            "direction" => return Ok(Self::Direction),
            "density" => return Ok(Self::Density),
            _ => {}
        }
        if text.starts_with('#') {
            return text.parse().map(Self::Solid);
        }
        if let Ok(color) = text.parse() {
            return Ok(Self::Solid(color));
        }
        let name = text.strip_prefix("attribute:").unwrap_or(text);
        let channel = name
            .strip_suffix(']')
            .and_then(|rest| rest.rsplit_once('['))
            .and_then(|(name, number)| Some((name, Some(number.parse().ok()?))));
        let (name, channel) = channel.unwrap_or((name, None));
        if name.is_empty() {
            return Err(PlotError::usage("color: expected the name of an attribute"));
        }
        Ok(Self::Attribute(name.to_owned(), channel))
    }
}

/// A colour map: colours for numbers from 0 to 1.
#[derive(Debug, Clone, Copy)]
pub struct Colormap {
    name: &'static str,
    gradient: colorous::Gradient,
}

/// The colour maps, by name.
const MAPS: &[(&str, colorous::Gradient)] = &[
    ("viridis", colorous::VIRIDIS),
    ("magma", colorous::MAGMA),
    ("inferno", colorous::INFERNO),
    ("plasma", colorous::PLASMA),
    ("turbo", colorous::TURBO),
    ("cividis", colorous::CIVIDIS),
    ("greys", colorous::GREYS),
    ("blues", colorous::BLUES),
    ("reds", colorous::REDS),
    ("rdbu", colorous::RED_BLUE),
    ("spectral", colorous::SPECTRAL),
    ("rainbow", colorous::SINEBOW),
];

impl Colormap {
    /// From black through violet and orange to a light yellow.
    pub const MAGMA: Self = Self {
        name: "magma",
        gradient: colorous::MAGMA,
    };

    /// Names of all colour maps.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MAPS.iter().map(|(name, _)| *name)
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The colour of a number from 0 to 1; numbers outside have the colour of the nearer end, and NaN that of 0.
    pub fn at(&self, number: f32) -> Rgb {
        let number = if number.is_nan() { 0.0 } else { number };
        let color = self
            .gradient
            .eval_continuous(f64::from(number.clamp(0.0, 1.0)));
        Rgb(color.r, color.g, color.b)
    }
}

impl PartialEq for Colormap {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Default for Colormap {
    fn default() -> Self {
        Self {
            name: "viridis",
            gradient: colorous::VIRIDIS,
        }
    }
}

impl FromStr for Colormap {
    type Err = PlotError;

    fn from_str(text: &str) -> Result<Self, PlotError> {
        let found = MAPS.iter().find(|(name, _)| *name == text);
        found
            .map(|(name, gradient)| Self {
                name,
                gradient: *gradient,
            })
            .ok_or_else(|| {
                let names: Vec<&str> = Self::names().collect();
                PlotError::usage(format!(
                    "colormap: found {text:?}, expected one of {}",
                    names.join(", ")
                ))
            })
    }
}

/// Colours of layers and groups, easy to distinguish on light and on dark backgrounds.
const SEVERAL: [Rgb; 10] = [
    Rgb(0x5b, 0x9b, 0xd5),
    Rgb(0xf2, 0x8e, 0x2b),
    Rgb(0x59, 0xa1, 0x4f),
    Rgb(0xe1, 0x57, 0x59),
    Rgb(0xb0, 0x7a, 0xa1),
    Rgb(0xed, 0xc9, 0x48),
    Rgb(0x76, 0xb7, 0xb2),
    Rgb(0xff, 0x9d, 0xa7),
    Rgb(0x9c, 0x75, 0x5f),
    Rgb(0xa0, 0xa8, 0xb0),
];

/// The colour of one of a few layers or groups; colours repeat after ten.
pub(crate) fn of_few(number: usize) -> Rgb {
    SEVERAL
        .get(number % SEVERAL.len())
        .copied()
        .unwrap_or(Rgb::WHITE)
}

/// The colour of one of many objects, by its id, so that it is the same in every picture.
pub(crate) fn of_id(id: i64) -> Rgb {
    // Mixes the bits (SplitMix64), so that consecutive ids get unrelated hues.
    let mut bits = id.cast_unsigned().wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    let [hue, light, strength, ..] = bits.to_le_bytes();
    let hue = f32::from(hue) / 256.0 * 6.0;
    let light = 0.55 + f32::from(light) / 255.0 * 0.2;
    let strength = 0.18 + f32::from(strength) / 255.0 * 0.14;
    let channel = |middle: f32| {
        let off = (hue - middle).abs();
        let off = off.min(6.0 - off);
        let level = (2.0 - off).clamp(0.0, 1.0) - 0.5;
        ((light + 2.0 * strength * level) * 255.0).clamp(0.0, 255.0) as u8
    };
    let color = Rgb(channel(0.0), channel(2.0), channel(4.0));
    // Blue is perceived as dark.
    let lack = (0.4 - color.luminance()).max(0.0);
    color.mix(Rgb::WHITE, lack)
}

/// The colour of a direction: the shares of x, y and z are red, green and blue.
#[inline]
pub(crate) fn of_direction(direction: [f32; 3]) -> Rgb {
    let length = direction.iter().map(|one| one * one).sum::<f32>().sqrt();
    // Rounds half up, without a library call for each channel.
    let share = |one: f32| (one.abs() / length * 255.0 + 0.5) as u8;
    Rgb(
        share(direction[0]),
        share(direction[1]),
        share(direction[2]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_what_they_stand_for() {
        assert_eq!("#ff8000".parse::<Rgb>().unwrap(), Rgb(255, 128, 0));
        assert_eq!("#f80".parse::<Rgb>().unwrap(), Rgb(255, 136, 0));
        assert_eq!(
            "white".parse::<ColorBy>().unwrap(),
            ColorBy::Solid(Rgb::WHITE)
        );
        let attribute = |name: &str, channel| ColorBy::Attribute(name.into(), channel);
        assert_eq!("fa".parse::<ColorBy>().unwrap(), attribute("fa", None));
        assert_eq!(
            "rgb[2]".parse::<ColorBy>().unwrap(),
            attribute("rgb", Some(2))
        );
        assert_eq!(
            "attribute:red".parse::<ColorBy>().unwrap(),
            attribute("red", None)
        );
        for wrong in ["#ff", "#gggggg", "", "attribute:"] {
            assert!(wrong.parse::<ColorBy>().is_err(), "{wrong}");
        }
        assert!("jet".parse::<Colormap>().is_err());
        assert_eq!(Rgb::of_bits(Rgb(1, 2, 3).bits()), Rgb(1, 2, 3));
    }

    #[test]
    fn known_colors_of_known_maps() {
        // The first and last entries of matplotlib's tables.
        let viridis = Colormap::default();
        assert_eq!(
            (viridis.at(0.0), viridis.at(1.0)),
            (Rgb(68, 1, 84), Rgb(253, 231, 37))
        );
        let magma: Colormap = "magma".parse().unwrap();
        assert_eq!(
            (magma.at(-1.0), magma.at(2.0)),
            (Rgb(0, 0, 4), Rgb(252, 253, 191))
        );
    }

    #[test]
    fn directions_are_the_colors_of_tractography() {
        assert_eq!(of_direction([-2.0, 0.0, 0.0]), Rgb(255, 0, 0));
        assert_eq!(of_direction([0.0, 3.0, 0.0]), Rgb(0, 255, 0));
        assert_eq!(of_direction([0.0, 0.0, -0.1]), Rgb(0, 0, 255));
        assert_eq!(of_direction([1.0, 1.0, 1.0]), Rgb(147, 147, 147));
    }

    #[test]
    fn ids_have_many_bright_colors() {
        let colors: std::collections::HashSet<u32> = (0..200).map(|id| of_id(id).bits()).collect();
        assert!(colors.len() > 190);
        assert!((0..1000).all(|id| (0.3..0.99).contains(&of_id(id).luminance())));
    }
}
