//! The clock of the machine, for applications that give a [`Door`](crate::Door) one.

/// The time now, as a scene has it.
#[must_use]
pub fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
