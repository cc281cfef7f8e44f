//! Lines for the caller.

use std::sync::Arc;

/// Receives lines: one for each request, or one for each warning.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;
