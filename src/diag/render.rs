//! Diagnostics as text for people or JSON for programs.
