//! Server-sent events: a body that arrives in parts of any size becomes events.
//!
//! Lines end with CR LF, LF or CR, and a part may be cut anywhere, also inside a character or between CR and LF. What is
//! not yet a complete event is held, up to a limit. Source: the standard of server-sent events (WHATWG HTML, section
//! 9.2.6).

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its data; several lines of data are joined with line feeds.
    pub data: String,
}

/// An event is longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLong;

/// Cuts a body into events.
#[derive(Debug)]
pub struct Splitter {
    most: usize,
    line: Vec<u8>,
    after_cr: bool,
    begun: bool,
    event: SseEvent,
    has_data: bool,
}

/// The mark that a text may begin with, and that does not belong to it.
const BOM: &[u8] = b"\xef\xbb\xbf";

impl Splitter {
    /// A splitter that refuses events, or lines, of more than `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, line: Vec::new(), after_cr: false, begun: false, event: SseEvent::default(), has_data: false }
    }

    /// Takes the next part of the body and adds the events that it completes to `events`.
    ///
    /// # Errors
    /// [`EventTooLong`]; nothing can be read after it.
    pub fn push(&mut self, mut part: &[u8], events: &mut Vec<SseEvent>) -> Result<(), EventTooLong> {
        while !part.is_empty() {
            if std::mem::take(&mut self.after_cr) && part.first() == Some(&b'\n') {
                part = part.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\r', b'\n', part);
            let (line, rest) = part.split_at(end.unwrap_or(part.len()));
            if self.line.len() + self.event.data.len() + line.len() > self.most {
                return Err(EventTooLong);
            }
            self.line.extend_from_slice(line);
            if end.is_none() {
                return Ok(());
            }
            self.after_cr = rest.first() == Some(&b'\r');
            part = rest.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            self.line_ended(&line, events);
            self.line = line;
            self.line.clear();
        }
        Ok(())
    }

    /// Ends the body: an event that was begun is given too, although no empty line ends it.
    pub fn end(&mut self, events: &mut Vec<SseEvent>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.line_ended(&line, events);
        }
        self.event_ended(events);
    }

    fn line_ended(&mut self, mut line: &[u8], events: &mut Vec<SseEvent>) {
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            return self.event_ended(events);
        }
        let colon = memchr::memchr(b':', line);
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&String::from_utf8_lossy(value));
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            // comments, ids and times of reconnection mean nothing for a reply
            _ => {}
        }
    }

    fn event_ended(&mut self, events: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            events.push(event);
        }
    }
}
