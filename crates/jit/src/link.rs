//! From compiled functions and blobs to one sealed mapping.
//!
//! ```text
//!   | f0 | pad | f1 | pad | f2 ...   pad to a page | d0 | d1 | ...   pad to a page |
//!   ^ base                                         ^ base + code
//! ```

use cranelift_codegen::binemit::Reloc;
use tidemill_stdx::id::{Id, IdMap, IdVec};

use crate::blob::Blob;
use crate::code::{Code, Function};
use crate::compile::Compiled;
use crate::error::Error;
use crate::library;
use crate::listing;
use crate::options::Options;
use crate::pages::{Blank, whole_pages};
use crate::perf;
use crate::symbol::{DataId, FuncId, Symbols, Target};

/// Where a function may start: what instruction fetch likes.
const FUNCTION_ALIGNMENT: usize = 16;

/// Between functions: an instruction that traps if it is reached. Elsewhere zeros do.
const PADDING: u8 = if cfg!(target_arch = "x86_64") { 0xcc } else { 0 };

/// The contents of a module, as in an object file: names, data and code with relocations.
pub(crate) struct Object {
    pub symbols: Symbols,
    pub blobs: IdVec<DataId, Blob>,
    pub compiled: IdMap<FuncId, Compiled>,
}

/// Offsets of everything from the start of the mapping.
struct Layout {
    functions: IdMap<FuncId, usize>,
    data: IdVec<DataId, usize>,
    /// Whole pages.
    code: usize,
    total: usize,
}

pub(crate) fn link(object: Object, options: Options) -> Result<Code, Error> {
    let layout = lay_out(&object)?;
    let mut blank = Blank::new(layout.total).map_err(Error::Memory)?;
    let base = blank.address();
    let memory = blank.bytes_mut();
    memory[..layout.code].fill(PADDING);
    for (id, compiled) in object.compiled.iter() {
        let start = layout.functions.get(id).copied().unwrap_or_default();
        memory[start..start + compiled.bytes.len()].copy_from_slice(&compiled.bytes);
        relocate(&object, &layout, memory, base, compiled, start)?;
    }
    for (id, blob) in object.blobs.iter_enumerated() {
        let start = layout.data[id];
        memory[start..start + blob.bytes.len()].copy_from_slice(&blob.bytes);
        for &(offset, target) in &blob.addresses {
            let address = resolve(&object, &layout, base, 0, target)
                .ok_or_else(|| Error::TooFar { place: object.symbols.data[id].to_string() })?;
            let at = start + offset;
            memory[at..at + 8].copy_from_slice(&(address as u64).to_le_bytes());
        }
    }
    let pages = blank.seal(layout.code).map_err(Error::Memory)?;
    let perf_map = options.perf_map || perf::are_all_named();
    let code = Code {
        pages,
        data: layout.data.iter().map(|offset| base + offset).collect(),
        own: layout.functions.iter().map(|(id, _)| id).collect(),
        places: places(&object, &layout, base),
        name: options.name,
    };
    if perf_map {
        perf::write(&code).map_err(Error::PerfMap)?;
    }
    Ok(code)
}

fn lay_out(object: &Object) -> Result<Layout, Error> {
    let (mut functions, mut end) = (IdMap::new(), 0_usize);
    for (id, declared) in object.symbols.functions.iter_enumerated() {
        match object.compiled.get(id) {
            Some(compiled) => {
                let start = end.next_multiple_of(FUNCTION_ALIGNMENT.max(compiled.alignment));
                functions.insert(id, start);
                end = start + compiled.bytes.len();
            }
            None if declared.imported.is_some() => {}
            None => return Err(Error::Undefined { function: declared.name.to_string() }),
        }
    }
    let code = whole_pages(end);
    let (mut data, mut end) = (IdVec::new(), code);
    for blob in object.blobs.iter() {
        let start = end.next_multiple_of(blob.alignment);
        data.push(start);
        end = start + blob.bytes.len();
    }
    Ok(Layout { functions, data, code, total: end })
}

/// The address of a target, seen from the function that starts at `start`.
fn resolve(
    object: &Object,
    layout: &Layout,
    base: usize,
    start: usize,
    target: Target,
) -> Option<usize> {
    match target {
        Target::Function(id) => match object.symbols.functions[id].imported {
            Some(address) => Some(address),
            None => layout.functions.get(id).map(|offset| base + offset),
        },
        Target::Data(id) => Some(base + layout.data[id]),
        Target::Library(call) => library::address(call),
        Target::Itself(offset) => Some(base + start + offset as usize),
    }
}

fn relocate(
    object: &Object,
    layout: &Layout,
    memory: &mut [u8],
    base: usize,
    compiled: &Compiled,
    start: usize,
) -> Result<(), Error> {
    let function = || object.symbols.functions[compiled.id].name.to_string();
    for relocation in &compiled.relocations {
        let target = relocation.target;
        let address = resolve(object, layout, base, start, target).ok_or_else(|| {
            Error::Unsupported { function: function(), text: object.symbols.name(target) }
        })?;
        let at = start + relocation.offset as usize;
        let value = (address as i64).wrapping_add(relocation.addend);
        match patch(&mut memory[at..], relocation.kind, (base + at) as i64, value) {
            Ok(()) => {}
            Err(Refused::Range) => return Err(Error::TooFar { place: function() }),
            Err(Refused::Kind) => {
                let text = format!("relocation {:?}", relocation.kind);
                return Err(Error::Unsupported { function: function(), text });
            }
        }
    }
    Ok(())
}

/// Why a place could not be filled in.
#[derive(Debug, PartialEq)]
enum Refused {
    Range,
    Kind,
}

/// Fills in `value` at the start of `code`, which will run at `address`. The kinds are those of the
/// ELF supplements for x86-64 and AArch64.
fn patch(code: &mut [u8], kind: Reloc, address: i64, value: i64) -> Result<(), Refused> {
    let distance = value.wrapping_sub(address);
    match kind {
        Reloc::Abs8 => code[..8].copy_from_slice(&value.to_le_bytes()),
        Reloc::X86PCRel4 | Reloc::X86CallPCRel4 => {
            // The processor counts from the end of the field: the compiler's addend includes -4.
            let distance = i32::try_from(distance).map_err(|_| Refused::Range)?;
            code[..4].copy_from_slice(&distance.to_le_bytes());
        }
        // BL: a number of instructions, of four bytes each.
        Reloc::Arm64Call => or(code, field(distance >> 2, 26)?),
        // ADRP: a number of pages of 4 KiB; its two low bits are from bit 29 on, the others from 5.
        Reloc::Aarch64AdrPrelPgHi21 => {
            let pages = field((value >> 12) - (address >> 12), 21)?;
            or(code, (pages & 3) << 29 | (pages >> 2) << 5);
        }
        // ADD: the place in that page, from bit 10 on.
        Reloc::Aarch64AddAbsLo12Nc => or(code, ((value & 0xfff) as u32) << 10),
        _ => return Err(Refused::Kind),
    }
    Ok(())
}

/// A signed number in the low `bits`.
fn field(value: i64, bits: u32) -> Result<u32, Refused> {
    let limit = 1 << (bits - 1);
    if !(-limit..limit).contains(&value) {
        return Err(Refused::Range);
    }
    Ok(value as u32 & ((1 << bits) - 1))
}

fn or(code: &mut [u8], bits: u32) {
    for (byte, bits) in code[..4].iter_mut().zip(bits.to_le_bytes()) {
        *byte |= bits;
    }
}

fn places(object: &Object, layout: &Layout, base: usize) -> IdVec<FuncId, Function> {
    let mut places = IdVec::new();
    for (id, declared) in object.symbols.functions.iter_enumerated() {
        let name = declared.name.clone();
        let address = declared.imported.unwrap_or_default();
        let mut place = Function::imported(name, declared.signature.clone(), address);
        if let (Some(compiled), Some(&offset)) = (object.compiled.get(id), layout.functions.get(id))
        {
            place.address = base + offset;
            place.bytes = compiled.bytes.len();
            place.compile_ns = compiled.compile_ns;
            place.spans = compiled.spans.clone().into();
            let text = |(text, targets): &(String, Vec<Target>)| {
                listing::name_symbols(text, targets, &object.symbols)
            };
            place.text = compiled.listing.as_ref().map(text);
        }
        debug_assert_eq!(id.index(), places.len());
        places.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{Refused, patch};
    use cranelift_codegen::binemit::Reloc;

    fn word(kind: Reloc, opcode: u32, address: i64, value: i64) -> Result<u32, Refused> {
        let mut code = opcode.to_le_bytes();
        patch(&mut code, kind, address, value)?;
        Ok(u32::from_le_bytes(code))
    }

    #[test]
    fn distances_of_x86() {
        let near = |value| word(Reloc::X86CallPCRel4, 0, 0x1000, value);
        assert_eq!(near(0x1100), Ok(0x100));
        assert_eq!(near(0xff0), Ok(-16_i32 as u32));
        assert_eq!(near(0x1000 + (1 << 31)), Err(Refused::Range));
        assert_eq!(word(Reloc::X86GOTPCRel4, 0, 0, 0), Err(Refused::Kind));
    }

    /// Expected words are what an assembler writes for `bl`, `adrp x0` and `add x0, x0`.
    #[test]
    fn fields_of_arm() {
        let call = |value| word(Reloc::Arm64Call, 0x9400_0000, 0x1000, value);
        assert_eq!(call(0x1008), Ok(0x9400_0002));
        assert_eq!(call(0xffc), Ok(0x97ff_ffff));
        assert_eq!(call(0x1000 + (1 << 27)), Err(Refused::Range));
        let page = |value| word(Reloc::Aarch64AdrPrelPgHi21, 0x9000_0000, 0x1ffc, value);
        assert_eq!(page(0x2abc), Ok(0xb000_0000));
        assert_eq!(page(0x5000), Ok(0x9000_0020));
        assert_eq!(page(0x0abc), Ok(0xf0ff_ffe0));
        let low = word(Reloc::Aarch64AddAbsLo12Nc, 0x9100_0000, 0, 0x5abc);
        assert_eq!(low, Ok(0x912a_f000));
    }
}
