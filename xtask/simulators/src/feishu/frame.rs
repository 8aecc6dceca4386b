//! The `pbbp2` frame of the long connection, written by hand so that the simulator shares no
//! code with the client that it judges.

/// One binary message of the long connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Field 1.
    pub seq_id: u64,
    /// Field 2.
    pub log_id: u64,
    /// Field 3: the `service_id` of the connection's URL.
    pub service: i32,
    /// Field 4: 0 is control, 1 is data.
    pub method: i32,
    /// Field 5, in order; a key may come twice.
    pub headers: Vec<(String, String)>,
    /// Field 6.
    pub payload_encoding: Option<String>,
    /// Field 7.
    pub payload_type: Option<String>,
    /// Field 8.
    pub payload: Option<Vec<u8>>,
    /// Field 9.
    pub log_id_new: Option<String>,
}

/// Wire types of protobuf.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

impl Frame {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The bytes, fields in the order of their numbers.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, 1, self.seq_id);
        put_number(&mut out, 2, self.log_id);
        // Negative int32 values travel as ten-byte varints.
        put_number(&mut out, 3, i64::from(self.service) as u64);
        put_number(&mut out, 4, i64::from(self.method) as u64);
        for (key, value) in &self.headers {
            let mut header = Vec::new();
            put_bytes(&mut header, 1, key.as_bytes());
            put_bytes(&mut header, 2, value.as_bytes());
            put_bytes(&mut out, 5, &header);
        }
        let texts = [(6, &self.payload_encoding), (7, &self.payload_type)];
        for (field, text) in texts {
            if let Some(text) = text {
                put_bytes(&mut out, field, text.as_bytes());
            }
        }
        if let Some(payload) = &self.payload {
            put_bytes(&mut out, 8, payload);
        }
        if let Some(text) = &self.log_id_new {
            put_bytes(&mut out, 9, text.as_bytes());
        }
        out
    }

    /// Reads a frame as a proto2 parser does.
    ///
    /// # Errors
    /// A text that says what is broken or missing.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut frame = Self::default();
        let mut seen = [false; 5];
        let mut reader = Reader(bytes);
        while !reader.0.is_empty() {
            let field = reader.field()?;
            if let Some(required) = seen.get_mut(field.number as usize) {
                *required = true;
            }
            frame.take(field)?;
        }
        match seen[1..].iter().position(|seen| !seen) {
            Some(missing) => Err(format!("required field {} is missing", missing + 1)),
            None => Ok(frame),
        }
    }

    fn take(&mut self, field: Field<'_>) -> Result<(), String> {
        match field.number {
            1 => self.seq_id = field.number_value()?,
            2 => self.log_id = field.number_value()?,
            // int32 keeps the low half of its varint.
            3 => self.service = field.number_value()? as i32,
            4 => self.method = field.number_value()? as i32,
            5 => self.headers.push(header(field.bytes()?)?),
            6 => self.payload_encoding = Some(field.text()?),
            7 => self.payload_type = Some(field.text()?),
            8 => self.payload = Some(field.bytes()?.to_vec()),
            9 => self.log_id_new = Some(field.text()?),
            _ => {}
        }
        Ok(())
    }
}

fn header(bytes: &[u8]) -> Result<(String, String), String> {
    let (mut key, mut value) = (None, None);
    let mut reader = Reader(bytes);
    while !reader.0.is_empty() {
        let field = reader.field()?;
        match field.number {
            1 => key = Some(field.text()?),
            2 => value = Some(field.text()?),
            _ => {}
        }
    }
    key.zip(value).ok_or_else(|| "a header without key or value".to_owned())
}

struct Field<'a> {
    number: u64,
    value: Value<'a>,
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number_value(&self) -> Result<u64, String> {
        match self.value {
            Value::Number(number) => Ok(number),
            Value::Bytes(_) => Err(format!("field {} is no number", self.number)),
        }
    }

    fn bytes(&self) -> Result<&'a [u8], String> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Number(_) => Err(format!("field {} has no length", self.number)),
        }
    }

    fn text(&self) -> Result<String, String> {
        let text = String::from_utf8(self.bytes()?.to_vec());
        text.map_err(|_| format!("field {} is not UTF-8", self.number))
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn field(&mut self) -> Result<Field<'a>, String> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            VARINT => Value::Number(self.varint()?),
            FIXED_64 => Value::Bytes(self.split(8)?),
            LENGTH => {
                let length = self.varint()?;
                Value::Bytes(self.split(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            FIXED_32 => Value::Bytes(self.split(4)?),
            other => return Err(format!("wire type {other}")),
        };
        Ok(Field { number: tag >> 3, value })
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or("it ends inside a number")?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number without an end".to_owned())
    }

    fn split(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (head, rest) = self.0.split_at_checked(length).ok_or("it ends inside a field")?;
        self.0 = rest;
        Ok(head)
    }
}

fn put_number(out: &mut Vec<u8>, field: u64, number: u64) {
    put_varint(out, field << 3 | VARINT);
    put_varint(out, number);
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | LENGTH);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
