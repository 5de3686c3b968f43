//! Schemas: their sources, and their types and fields.

use std::ffi::c_char;
use std::path::PathBuf;

use tidemill_wire::proto::{Compiled, Texts, compile, load};
use tidemill_wire::schema::{Field, FieldType};
use tidemill_wire::{Label, Schema};

use crate::error::{Code, Error, Failure};
use crate::guard::{Buffer, Bytes, Out, Outcome, bytes, given, look, name, run};
use crate::handle::{free, new};
use crate::ids::{NONE, field_of, type_of};
use crate::value::kind_of;

fn compiled(compiled: Compiled) -> Outcome<*mut Schema> {
    let Compiled { sources, diagnostics, schema, .. } = compiled;
    schema.map(new).ok_or_else(|| {
        let errors = diagnostics.iter().filter(|one| one.is_error());
        let lines: Vec<String> =
            errors.map(|one| sources.render(one).trim_end().to_owned()).collect();
        Failure::new(Code::Schema, lines.join("\n"))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_from_text(
    file: *const c_char,
    text: *const u8,
    length: usize,
    error: *mut *mut Error,
) -> *mut Schema {
    let work = || {
        // SAFETY: the caller guarantees that `file` is null or ends in a zero byte; `length` bytes
        // are readable at `text` and do not change during the call.
        let (file, text) = unsafe { (name(file, "file")?, bytes(text, length, "text")?) };
        let text = std::str::from_utf8(text)
            .map_err(|_| Failure::new(Code::Schema, format!("{file}: the text is not UTF-8")))?;
        compiled(compile(&[file], &Texts::from_iter([(file, text)])))
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, std::ptr::null_mut(), work) }
}

/// The paths in an array of names.
///
/// # Safety
/// If not null, `names` has `count` names that end in zero bytes.
unsafe fn paths(names: *const *const c_char, count: usize, what: &str) -> Outcome<Vec<PathBuf>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if names.is_null() || !names.is_aligned() || count > isize::MAX as usize / 8 {
        return Err(Failure::misuse(format!("{what}: {count} names are not there")));
    }
    // SAFETY: the caller guarantees that `names` has `count` names.
    let names = unsafe { std::slice::from_raw_parts(names, count) };
    // SAFETY: the caller guarantees that `one` is null or ends in a zero byte.
    names.iter().map(|&one| Ok(PathBuf::from(unsafe { name(one, what)? }))).collect()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_from_files(
    files: *const *const c_char,
    file_count: usize,
    folders: *const *const c_char,
    folder_count: usize,
    error: *mut *mut Error,
) -> *mut Schema {
    let work = || {
        // SAFETY: the caller guarantees that `files` is null or has `file_count` names that end in
        // zero bytes.
        let files = unsafe { paths(files, file_count, "files")? };
        // SAFETY: the caller guarantees that `folders` is null or has `folder_count` names that end
        // in zero bytes.
        let folders = unsafe { paths(folders, folder_count, "folders")? };
        compiled(load(&files, &folders))
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, std::ptr::null_mut(), work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_from_descriptor_set(
    data: *const u8,
    length: usize,
    error: *mut *mut Error,
) -> *mut Schema {
    let work = || {
        // SAFETY: the caller guarantees that `length` bytes are readable at `data` and do not
        // change during the call.
        let data = unsafe { bytes(data, length, "data")? };
        let schema = Schema::from_descriptor_set(data);
        schema.map(new).map_err(|error| Failure::new(Code::Schema, error.to_string()))
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, std::ptr::null_mut(), work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_clone(schema: *const Schema) -> *mut Schema {
    // SAFETY: the caller guarantees that `schema` is null or a live handle.
    look(std::ptr::null_mut(), || Some(new(unsafe { schema.as_ref() }?.clone())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_free(schema: *mut Schema) {
    // SAFETY: the caller guarantees that `schema` is null or a handle of this library that is not
    // used again.
    unsafe { free(schema) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_descriptor_set(
    schema: *const Schema,
    out: *mut Buffer,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle; `out` is null or
        // writable.
        let (schema, out) = unsafe { (given(schema, "schema")?, Out::new(out, "out")?) };
        out.put(Buffer::of(schema.descriptor_set()));
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_type_count(schema: *const Schema) -> u32 {
    // SAFETY: the caller guarantees that `schema` is null or a live handle.
    look(0, || u32::try_from(unsafe { schema.as_ref() }?.messages().len()).ok())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_find_type(
    schema: *const Schema,
    full_name: *const c_char,
) -> u32 {
    look(NONE, || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle; `full_name` is null
        // or ends in a zero byte.
        let (schema, full_name) = unsafe { (schema.as_ref()?, name(full_name, "").ok()?) };
        Some(schema.message_by_name(full_name)?.index() as u32)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_type_name(schema: *const Schema, of: u32) -> Bytes {
    look(Bytes::NONE, || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle.
        let schema = unsafe { schema.as_ref() }?;
        Some(Bytes::of(schema.full_name(type_of(schema, of).ok()?).as_bytes()))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_field_count(schema: *const Schema, of: u32) -> u32 {
    look(0, || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle.
        let schema = unsafe { schema.as_ref() }?;
        u32::try_from(schema.message(type_of(schema, of).ok()?).fields().len()).ok()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_field(schema: *const Schema, of: u32, place: u32) -> u32 {
    look(NONE, || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle.
        let schema = unsafe { schema.as_ref() }?;
        let fields = schema.message(type_of(schema, of).ok()?).fields();
        Some(fields.get(place as usize)?.index() as u32)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_find_field(
    schema: *const Schema,
    of: u32,
    field_name: *const c_char,
) -> u32 {
    look(NONE, || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle; `field_name` is
        // null or ends in a zero byte.
        let (schema, field_name) = unsafe { (schema.as_ref()?, name(field_name, "").ok()?) };
        let of = type_of(schema, of).ok()?;
        Some(tidemill_wire::message::FieldName::find(field_name, schema, of)?.index() as u32)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_find_field_by_number(
    schema: *const Schema,
    of: u32,
    number: u32,
) -> u32 {
    look(NONE, || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle.
        let schema = unsafe { schema.as_ref() }?;
        Some(schema.field_by_number(type_of(schema, of).ok()?, number)?.index() as u32)
    })
}

/// The properties of a field: `tidemill_field_info`.
#[derive(Debug)]
#[repr(C)]
pub struct FieldInfo {
    name: Bytes,
    json_name: Bytes,
    number: u32,
    kind: u32,
    shape: u32,
    message_type: u32,
    owner: u32,
    presence: u32,
}

fn info(schema: &Schema, field: &Field) -> FieldInfo {
    let message_type = match field.field_type() {
        FieldType::Message(of) | FieldType::Group(of) => Some(of),
        _ => None,
    };
    let map = message_type.is_some_and(|of| schema.message(of).is_map_entry());
    let shape = match field.label() {
        Label::Repeated if map => 2,
        Label::Repeated => 1,
        _ => 0,
    };
    let name = field.extension_name().map_or(field.name(), |name| &**name);
    FieldInfo {
        name: Bytes::of(name.as_bytes()),
        json_name: Bytes::of(field.json_name().as_bytes()),
        number: field.number(),
        kind: kind_of(field.field_type()) as u32,
        shape,
        message_type: message_type.map_or(NONE, |of| of.index() as u32),
        owner: field.message().index() as u32,
        presence: field.has_presence().into(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_field_info(
    schema: *const Schema,
    field: u32,
    out: *mut FieldInfo,
    error: *mut *mut Error,
) -> bool {
    let work = || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle; `out` is null or
        // writable.
        let (schema, out) = unsafe { (given(schema, "schema")?, Out::new(out, "out")?) };
        out.put(info(schema, schema.field(field_of(schema, field)?)));
        Ok(true)
    };
    // SAFETY: the caller guarantees that `error` is null or writable.
    unsafe { run(error, false, work) }
}

fn enum_of(schema: &Schema, field: u32) -> Option<&tidemill_wire::schema::Enum> {
    match schema.field(field_of(schema, field).ok()?).field_type() {
        FieldType::Enum(of) => Some(schema.enum_def(of)),
        _ => None,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_enum_name(
    schema: *const Schema,
    field: u32,
    number: i32,
) -> Bytes {
    look(Bytes::NONE, || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle.
        let found = enum_of(unsafe { schema.as_ref() }?, field)?;
        Some(Bytes::of(found.value_by_number(number)?.name().as_bytes()))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tidemill_schema_enum_number(
    schema: *const Schema,
    field: u32,
    value_name: *const c_char,
    out: *mut i32,
) -> bool {
    look(false, || {
        // SAFETY: the caller guarantees that `schema` is null or a live handle; `value_name` is
        // null or ends in a zero byte.
        let (schema, value_name) = unsafe { (schema.as_ref()?, name(value_name, "").ok()?) };
        let value = enum_of(schema, field)?.value_by_name(value_name)?;
        // SAFETY: the caller guarantees that `out` is null or writable.
        unsafe { Out::new(out, "out") }.ok()?.put(value.number());
        Some(true)
    })
}
