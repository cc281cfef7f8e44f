//! Addresses of volumes: `FILE[#NAME]`.

/// The address of a volume: the file, folder or URL, and the selected volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeAddress {
    /// Path or URL.
    pub file: String,
    /// The selected volume; `None` selects the only one, or the first level of an image.
    pub pick: Option<VolumePick>,
}

/// One volume of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumePick {
    /// By name: `#fa`.
    Name(String),
    /// By number, from 0: `#@2`.
    Number(usize),
}

impl VolumeAddress {
    /// Parses an address: the text after the last `#` selects a volume by name, `#@N` by number. If a file with the whole text as its name exists,
    /// the `#` belongs to the name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let whole = || Self {
            file: text.to_owned(),
            pick: None,
        };
        let Some((file, name)) = text.rsplit_once('#') else {
            return whole();
        };
        if std::path::Path::new(text).exists() {
            return whole();
        }
        let number = name.strip_prefix('@').and_then(|one| one.parse().ok());
        Self {
            file: file.to_owned(),
            pick: Some(
                number.map_or_else(|| VolumePick::Name(name.to_owned()), VolumePick::Number),
            ),
        }
    }
}

impl std::fmt::Display for VolumeAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        match &self.pick {
            None => Ok(()),
            Some(VolumePick::Name(name)) => write!(f, "#{name}"),
            Some(VolumePick::Number(number)) => write!(f, "#@{number}"),
        }
    }
}
