//! A scanner of the footer's JSON that needs no heap: checks the syntax and finds the refs in the
//! top-level object.

/// A byte range of the file that the footer refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spill {
    /// Its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// Deepest nesting that is accepted.
const DEPTH: u32 = 100;

/// The members of the top-level object that refer to regions of the file.
#[derive(Debug, Default)]
pub(crate) struct FoundRegions {
    pub(crate) inline_metadata: bool,
    pub(crate) metadata: Option<Spill>,
    pub(crate) zone_maps: Option<Spill>,
    pub(crate) secondary_index: Option<Spill>,
}

/// The position of a syntax error.
#[derive(Debug)]
pub(crate) struct Bad {
    pub(crate) at: usize,
    pub(crate) expected: &'static str,
}

/// Scans a footer: one object, in which each known key occurs at most once.
pub(crate) fn scan(text: &[u8]) -> Result<FoundRegions, Bad> {
    if let Err(error) = core::str::from_utf8(text) {
        return Err(Bad {
            at: error.valid_up_to(),
            expected: "UTF-8",
        });
    }
    let mut scanner = Scanner { text, at: 0 };
    let mut found = FoundRegions::default();
    let mut seen = [false; 5];
    scanner.object(|scanner, key| {
        let known = [
            "history",
            "metadata",
            "metadata_ref",
            "zone_maps_ref",
            "secondary_index_ref",
        ];
        let number = known.iter().position(|name| same(key, name));
        if let Some(slot) = number.and_then(|number| seen.get_mut(number)) {
            if *slot {
                return Err(scanner.bad("each known key at most once"));
            }
            *slot = true;
        }
        let start = scanner.at;
        match number {
            Some(1) => {
                scanner.value(1)?;
                found.inline_metadata = scanner.text.get(start..scanner.at) != Some(b"null");
            }
            Some(2) => found.metadata = scanner.spill()?,
            Some(3) => found.zone_maps = scanner.spill()?,
            Some(4) => found.secondary_index = scanner.spill()?,
            _ => scanner.value(1)?,
        }
        Ok(())
    })?;
    scanner.space();
    if scanner.at == text.len() {
        Ok(found)
    } else {
        Err(scanner.bad("the end after the object"))
    }
}

/// Whether the content of a string literal, with `\u` escapes decoded, equals `name`, which is ASCII.
fn same(literal: &[u8], name: &str) -> bool {
    let mut rest = literal;
    for want in name.bytes() {
        let (letter, left) = match rest {
            [b'\\', b'u', digits @ ..] if digits.len() >= 4 => {
                let (digits, left) = digits.split_at(4);
                let code = core::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| u32::from_str_radix(digits, 16).ok());
                match code.and_then(|code| u8::try_from(code).ok()) {
                    Some(letter) => (letter, left),
                    None => return false,
                }
            }
            [letter, left @ ..] => (*letter, left),
            [] => return false,
        };
        if letter != want {
            return false;
        }
        rest = left;
    }
    rest.is_empty()
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn bad(&self, expected: &'static str) -> Bad {
        Bad {
            at: self.at,
            expected,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), Bad> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.bad(expected))
        }
    }

    /// Scans an object. `each` gets the text of a key, without quotes, and scans its value.
    fn object(
        &mut self,
        mut each: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Bad>,
    ) -> Result<(), Bad> {
        self.space();
        self.take(b'{', "an object")?;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.take(b':', "a colon")?;
            self.space();
            each(self, key)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.bad("a comma or the end of the object")),
            }
        }
    }

    /// Scans any value. The recursion is as deep as the nesting, which is bounded.
    fn value(&mut self, depth: u32) -> Result<(), Bad> {
        if depth > DEPTH {
            return Err(self.bad("less nesting"));
        }
        match self.peek() {
            Some(b'{') => self.object(|scanner, _| scanner.value(depth + 1)),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                for word in ["true", "false", "null"] {
                    let rest = self.text.get(self.at..).unwrap_or(&[]);
                    if rest.starts_with(word.as_bytes()) {
                        self.at += word.len();
                        return Ok(());
                    }
                }
                Err(self.bad("a value"))
            }
        }
    }

    fn array(&mut self, depth: u32) -> Result<(), Bad> {
        self.take(b'[', "an array")?;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            self.value(depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.bad("a comma or the end of the array")),
            }
        }
    }

    /// Scans a string literal; returns its content.
    fn string(&mut self) -> Result<&'a [u8], Bad> {
        self.take(b'"', "a string")?;
        let start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let inside = self.text.get(start..self.at).unwrap_or(&[]);
                    self.at += 1;
                    return Ok(inside);
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                                    return Err(self.bad("four hexadecimal digits"));
                                }
                                self.at += 1;
                            }
                        }
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 1;
                        }
                        _ => return Err(self.bad("a JSON escape")),
                    }
                }
                Some(byte) if byte >= 0x20 => self.at += 1,
                _ => return Err(self.bad("the end of the string")),
            }
        }
    }

    fn digits(&mut self) -> Result<(), Bad> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.bad("a digit"))
        } else {
            Ok(())
        }
    }

    fn number(&mut self) -> Result<(), Bad> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Scans an unsigned integer.
    fn integer(&mut self) -> Result<u64, Bad> {
        let start = self.at;
        let bad = Bad {
            at: start,
            expected: "an unsigned integer of 64 bits",
        };
        if self.number().is_err() {
            return Err(bad);
        }
        self.text
            .get(start..self.at)
            .and_then(|digits| core::str::from_utf8(digits).ok())
            .and_then(|digits| digits.parse().ok())
            .ok_or(bad)
    }

    /// Scans a ref: null, or an object with exactly the members `offset` and `len`.
    fn spill(&mut self) -> Result<Option<Spill>, Bad> {
        if self.peek() == Some(b'n') {
            return self.value(1).map(|()| None);
        }
        let (mut offset, mut len) = (None, None);
        self.object(|scanner, key| {
            let slot = if same(key, "offset") {
                &mut offset
            } else if same(key, "len") {
                &mut len
            } else {
                return Err(scanner.bad("only offset and len in a ref"));
            };
            if slot.is_some() {
                return Err(scanner.bad("each key at most once"));
            }
            *slot = Some(scanner.integer()?);
            Ok(())
        })?;
        match (offset, len) {
            (Some(offset), Some(len)) => Ok(Some(Spill { offset, len })),
            _ => Err(self.bad("offset and len in a ref")),
        }
    }
}
