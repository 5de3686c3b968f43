//! Resolves paths to the files that define their names.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{Import, Module, Source, Visible, scan};

/// The files of a crate and their contents.
pub(super) struct Sources {
    files: BTreeMap<String, (Module, Source)>,
    /// The file of each module, in a file of its own or not.
    modules: BTreeMap<Module, String>,
    items: BTreeSet<(Module, String)>,
    imports: BTreeMap<Module, Vec<Import>>,
}

/// The target of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Target {
    Module(Module),
    /// An item with its name.
    Item(Module, String),
}

/// The maximum number of imports followed, as they may be cyclic.
const STEPS_MAX: usize = 16;

/// The module of a file below `src/`.
fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    let last = module.last().map_or("", String::as_str);
    if last == "mod" || (module.len() == 1 && matches!(last, "lib" | "main")) {
        module.pop();
    }
    module
}

impl Sources {
    /// Scans files, given by their paths below `src/`.
    pub fn of<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> Sources {
        let mut scanned: BTreeMap<String, (Module, Source)> = files
            .map(|(path, text)| {
                let module = module_of(path);
                let source = scan(&module, text);
                (path.to_owned(), (module, source))
            })
            .collect();
        let tests: Vec<Module> =
            scanned.values().flat_map(|(_, source)| source.test_modules.clone()).collect();
        scanned.retain(|_, (module, _)| !tests.iter().any(|test| module.starts_with(test)));
        let mut sources = Sources {
            files: BTreeMap::new(),
            modules: BTreeMap::new(),
            items: BTreeSet::new(),
            imports: BTreeMap::new(),
        };
        for (path, (module, source)) in &scanned {
            sources.modules.insert(module.clone(), path.clone());
            for (inside, name) in &source.items {
                sources.items.insert((inside.clone(), name.clone()));
                sources.modules.entry(inside.clone()).or_insert_with(|| path.clone());
            }
            for import in &source.imports {
                sources.imports.entry(import.inside.clone()).or_default().push(import.clone());
            }
        }
        sources.files = scanned;
        sources
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The files that `file` uses, and the names that it uses of them.
    pub fn uses(&self, file: &str) -> BTreeMap<&str, BTreeSet<String>> {
        let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let Some((_, source)) = self.files.get(file) else { return uses };
        let mut add = |target: Option<Target>| {
            if let Some(Target::Item(module, name)) = target
                && let Some(owner) = self.modules.get(&module)
                && owner != file
            {
                uses.entry(owner).or_default().insert(name);
            }
        };
        for import in &source.imports {
            match &import.name {
                Some(name) if import.visible == Visible::Here || source.words.contains(name) => {
                    add(self.find(&import.inside, &import.path, 0));
                }
                Some(_) => {}
                None => {
                    for word in &source.words {
                        let path = [&import.path[..], std::slice::from_ref(word)].concat();
                        if let Some(Target::Item(module, name)) =
                            self.find(&import.inside, &path, 0)
                            && self.items.contains(&(module.clone(), name.clone()))
                        {
                            add(Some(Target::Item(module, name)));
                        }
                    }
                }
            }
        }
        for (inside, path) in &source.paths {
            add(self.find(inside, path, 0));
        }
        uses
    }

    /// Resolves a path used in `inside`; `None` if it leads out of the crate.
    fn find(&self, inside: &[String], path: &[String], steps: usize) -> Option<Target> {
        let mut rest = path.iter();
        let first = rest.next()?;
        let mut here = match first.as_str() {
            "crate" => Vec::new(),
            "self" => inside.to_vec(),
            "super" => inside.split_last()?.1.to_vec(),
            name => match self.step(inside, name, Lookup::Scope, steps)? {
                Target::Module(module) => module,
                item @ Target::Item(..) => return Some(item),
            },
        };
        for name in rest {
            if name == "super" {
                here.pop();
                continue;
            }
            match self.step(&here, name, Lookup::Member, steps)? {
                Target::Module(module) => here = module,
                item @ Target::Item(..) => return Some(item),
            }
        }
        Some(Target::Module(here))
    }

    /// Resolves `name` in a module.
    fn step(&self, module: &[String], name: &str, lookup: Lookup, steps: usize) -> Option<Target> {
        let child = [module, &[name.to_owned()]].concat();
        if self.modules.contains_key(&child) {
            return Some(Target::Module(child));
        }
        let item = Target::Item(module.to_vec(), name.to_owned());
        if self.items.contains(&(module.to_vec(), name.to_owned())) {
            return Some(item);
        }
        let imports = self.imports.get(module).map_or(&[][..], Vec::as_slice);
        if steps < STEPS_MAX {
            for import in imports {
                let target = match &import.name {
                    Some(known) if known == name => {
                        self.find(&import.inside, &import.path, steps + 1)
                    }
                    Some(_) => continue,
                    None => {
                        let path = [&import.path[..], &[name.to_owned()]].concat();
                        let found = self.find(&import.inside, &path, steps + 1);
                        match &found {
                            Some(Target::Item(owner, name))
                                if self.items.contains(&(owner.clone(), name.clone())) => {}
                            Some(Target::Module(_)) => {}
                            _ => continue,
                        }
                        found
                    }
                };
                // A name from another crate belongs to the file that re-exports it.
                return target.or_else(|| (lookup == Lookup::Member).then_some(item));
            }
        }
        // Items generated by macros are not seen: they are assumed to be in the module if the path
        // says so.
        (lookup == Lookup::Member && self.modules.contains_key(module)).then_some(item)
    }
}

/// The position of a name in its path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// First: it may be that of another crate, of a type parameter, of the prelude.
    Scope,
    /// After a module.
    Member,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(files: &[(&str, &str)], file: &str) -> String {
        let sources = Sources::of(files.iter().copied());
        let line = |(other, names): (&str, BTreeSet<String>)| {
            format!("{other}: {}", names.into_iter().collect::<Vec<_>>().join(" "))
        };
        sources.uses(file).into_iter().map(line).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn names_are_followed_to_the_file_that_has_them() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use b::c::Deep;"),
            (
                "a.rs",
                "use crate::Deep;\nuse super::b;\nfn f() { b::g(); b::Shown; std::mem::take() }",
            ),
            ("b/mod.rs", "mod c;\npub use c::Shown;\npub fn g() {}"),
            ("b/c.rs", "pub struct Deep;\npub struct Shown;\nuse super::g;"),
        ];
        assert_eq!(uses(&files, "a.rs"), "b/c.rs: Deep Shown; b/mod.rs: g");
        assert_eq!(uses(&files, "b/c.rs"), "b/mod.rs: g");
    }

    #[test]
    fn passing_a_name_on_is_no_use_of_it() {
        let child = ("b/c.rs", "pub struct Shown;");
        let passes = ("b/mod.rs", "mod c;\npub use c::Shown;");
        assert_eq!(uses(&[child, passes], "b/mod.rs"), "");
        let uses_too = ("b/mod.rs", "mod c;\npub use c::Shown;\nfn f() -> Shown { Shown }");
        assert_eq!(uses(&[child, uses_too], "b/mod.rs"), "b/c.rs: Shown");
    }

    #[test]
    fn globs_use_the_names_that_occur() {
        let files = [
            ("a.rs", "use crate::b::*;\nfn f() { g() }"),
            ("b.rs", "pub use crate::c::*;\npub fn other() {}"),
            ("c.rs", "pub fn g() {}"),
        ];
        assert_eq!(uses(&files, "a.rs"), "c.rs: g");
    }

    #[test]
    fn libraries_are_no_files() {
        let files = [("a.rs", "use other::b::C;\nfn f() { C::new(); x::y() }"), ("b.rs", "")];
        assert_eq!(uses(&files, "a.rs"), "");
        let passed_on = [("a.rs", "use crate::b::C;"), ("b.rs", "pub use other::C;")];
        assert_eq!(uses(&passed_on, "a.rs"), "b.rs: C");
    }
}
