//! Callbacks for log lines.

use std::sync::Arc;

/// Receives log lines: one for each request, or one for each warning.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;
