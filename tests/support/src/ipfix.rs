//! Reads messages of IPFIX (RFC 7011) by their templates, without code shared with what writes them.

use std::collections::BTreeMap;

/// A field of a template: its information element, and its length.
type Field = (u16, usize);

/// The templates that a sender has sent.
#[derive(Default, Debug)]
pub struct Session {
    templates: BTreeMap<u16, Vec<Field>>,
}

/// A message.
#[derive(Debug)]
pub struct Message {
    /// The observation domain.
    pub domain: u64,
    /// The number of data records before it.
    pub sequence: u64,
    /// Sets of templates.
    pub template_sets: usize,
    /// Data records, those of options too.
    pub records: Vec<Record>,
}

/// The values of a data record, by information element.
#[derive(Debug)]
pub struct Record(BTreeMap<u16, Vec<u8>>);

impl Record {
    /// A value as bytes, if there is one.
    pub fn bytes(&self, element: u16) -> Option<&[u8]> {
        self.0.get(&element).map(Vec::as_slice)
    }

    /// A value as a number; 0, if there is none.
    pub fn number(&self, element: u16) -> u64 {
        self.bytes(element).map_or(0, number)
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Takes bytes off the front.
fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Result<&'b [u8], String> {
    let (front, rest) = bytes.split_at_checked(count).ok_or("a message ends early")?;
    *bytes = rest;
    Ok(front)
}

fn take_number(bytes: &mut &[u8], count: usize) -> Result<u64, String> {
    take(bytes, count).map(number)
}

impl Session {
    /// Reads a message.
    ///
    /// # Errors
    /// Its form is wrong, or a template is missing.
    pub fn read(&mut self, mut bytes: &[u8]) -> Result<Message, String> {
        let whole = bytes.len() as u64;
        if (take_number(&mut bytes, 2)?, take_number(&mut bytes, 2)?) != (10, whole) {
            return Err("the version or the length of a message is wrong".to_owned());
        }
        take(&mut bytes, 4)?;
        let (sequence, domain) = (take_number(&mut bytes, 4)?, take_number(&mut bytes, 4)?);
        let mut message = Message { domain, sequence, template_sets: 0, records: Vec::new() };
        while !bytes.is_empty() {
            let (id, length) = (take_number(&mut bytes, 2)?, take_number(&mut bytes, 2)?);
            let set = take(&mut bytes, (length as usize).saturating_sub(4))?;
            match id {
                2 | 3 => {
                    message.template_sets += 1;
                    self.templates(set, id == 3)?;
                }
                _ => message.records.extend(self.records(id as u16, set)?),
            }
        }
        Ok(message)
    }

    fn templates(&mut self, mut set: &[u8], of_options: bool) -> Result<(), String> {
        while !set.is_empty() {
            let (id, count) = (take_number(&mut set, 2)?, take_number(&mut set, 2)?);
            if of_options {
                take_number(&mut set, 2)?;
            }
            let mut fields = Vec::new();
            for _ in 0..count {
                let (element, bytes) = (take_number(&mut set, 2)?, take_number(&mut set, 2)?);
                fields.push((element as u16, bytes as usize));
            }
            self.templates.insert(id as u16, fields);
        }
        Ok(())
    }

    fn records(&self, id: u16, mut set: &[u8]) -> Result<Vec<Record>, String> {
        let fields = self.templates.get(&id).ok_or(format!("there is no template {id}"))?;
        let mut records = Vec::new();
        while !set.is_empty() {
            let mut values = BTreeMap::new();
            for &(element, bytes) in fields {
                values.insert(element, take(&mut set, bytes)?.to_vec());
            }
            records.push(Record(values));
        }
        Ok(records)
    }
}
