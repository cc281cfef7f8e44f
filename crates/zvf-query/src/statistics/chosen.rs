//! Which attributes are counted: whole, or single channels such as `color[1]`.

use super::column::ColumnCounter;
use crate::QueryError;

/// Attributes and channels of attributes that are counted.
#[derive(Debug, Default)]
pub(super) struct ChosenChannels {
    whole: Vec<String>,
    single: Vec<(String, usize)>,
}

impl ChosenChannels {
    /// The attributes with these names. A name such as `color[1]` means a channel, unless an attribute has this name.
    pub(super) fn of<'n>(
        names: impl IntoIterator<Item = &'n str>,
        is_attribute: impl Fn(&str) -> bool,
    ) -> Self {
        let mut chosen = Self::default();
        for name in names {
            match channel_of(name).filter(|_| !is_attribute(name)) {
                Some((attribute, channel)) => chosen.single.push((attribute.to_owned(), channel)),
                None => chosen.whole.push(name.to_owned()),
            }
        }
        chosen
    }

    /// The attributes, each once.
    pub(super) fn attributes(&self) -> Vec<String> {
        let mut all = self.whole.clone();
        for (attribute, _) in &self.single {
            if !all.contains(attribute) {
                all.push(attribute.clone());
            }
        }
        all
    }

    /// Keeps the counters of the chosen channels of an attribute. `counters` has one counter for each channel.
    ///
    /// # Errors
    /// Misuse: a channel that the attribute does not have.
    pub(super) fn keep(
        &self,
        attribute: &str,
        mut counters: Vec<ColumnCounter>,
    ) -> Result<Vec<ColumnCounter>, QueryError> {
        if self.whole.iter().any(|name| name == attribute) {
            return Ok(counters);
        }
        let single = self.single.iter().filter(|(name, _)| name == attribute);
        let channels: Vec<usize> = single.map(|(_, channel)| *channel).collect();
        let count = counters.len();
        if let Some(beyond) = channels.iter().find(|channel| **channel >= count) {
            return Err(QueryError::misuse(format!(
                "columns: found {attribute}[{beyond}], expected a channel below {count}"
            )));
        }
        counters.retain(|counter| channels.contains(&counter.channel()));
        Ok(counters)
    }
}

/// The attribute and the channel of a name such as `color[1]`; `None` if it has another form.
pub(super) fn channel_of(name: &str) -> Option<(&str, usize)> {
    let (attribute, channel) = name.strip_suffix(']')?.rsplit_once('[')?;
    let digits = channel.bytes().all(|byte| byte.is_ascii_digit());
    let channel = channel.parse().ok().filter(|_| digits)?;
    (!attribute.is_empty()).then_some((attribute, channel))
}
