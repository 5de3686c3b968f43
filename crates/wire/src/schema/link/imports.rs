//! Imports: the files whose definitions each file sees.

use tidemill_stdx::hash::Map;

use crate::schema::FileId;
use crate::schema::draft::{Draft, ImportKind};
use crate::schema::problem::{Part, Problem};

/// A set of files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileSet(Vec<u64>);

impl FileSet {
    fn new(count: usize) -> FileSet {
        FileSet(vec![0; count.div_ceil(64)])
    }

    /// Adds a file; true if it is new.
    pub fn insert(&mut self, file: FileId) -> bool {
        let (word, bit) = (file.index() / 64, 1 << (file.index() % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    /// True if it contains the file.
    pub fn contains(&self, file: FileId) -> bool {
        self.0.get(file.index() / 64).is_some_and(|word| word >> (file.index() % 64) & 1 == 1)
    }

    fn meets(&self, other: &FileSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    fn add(&mut self, other: &FileSet) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
}

/// The visibility between files.
#[derive(Debug)]
pub struct Imports {
    /// By file: itself, its imports, and their public imports.
    visible: Vec<FileSet>,
    /// By file: the same with its imports for options.
    visible_options: Vec<FileSet>,
    /// By file: itself and its public imports.
    public: Vec<FileSet>,
    /// By file: the files whose definitions it named.
    used: Vec<FileSet>,
    /// Imported files before those that import them.
    order: Vec<FileId>,
}

impl Imports {
    /// True if `from` sees the definitions of `file`; names of options see more.
    pub fn sees(&self, from: FileId, file: FileId, in_options: InOptions) -> bool {
        match in_options {
            InOptions::No => self.visible[from.index()].contains(file),
            InOptions::Yes => self.visible_options[from.index()].contains(file),
        }
    }

    /// Records that `from` named a definition of `file`.
    pub fn note_use(&mut self, from: FileId, file: FileId) {
        self.used[from.index()].insert(file);
    }

    /// Imported files before those that import them.
    pub fn order(&self) -> &[FileId] {
        &self.order
    }

    /// Warns of imports whose definitions are not named.
    pub fn report_unused(&self, draft: &Draft, problems: &mut Vec<Problem>) {
        for file in draft.file_ids() {
            for import in &draft.file(file).dependencies {
                let Some(target) = import.file else { continue };
                let needed = import.kind == ImportKind::Public
                    || self.used[file.index()].meets(&self.public[target.index()]);
                if !needed {
                    let at = (file, import.place, Part::Name);
                    let message = format!("`{}` is imported and not used", import.name);
                    let help = "remove the import";
                    problems.push(Problem::warning("unused-import", at, message).help(help));
                }
            }
        }
    }
}

/// Whether the name is that of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InOptions {
    /// It is not.
    No,
    /// It is.
    Yes,
}

/// Finds the files behind imports and orders them.
pub fn link_imports(draft: &mut Draft, problems: &mut Vec<Problem>) -> Imports {
    let mut by_name: Map<&str, FileId> = Map::default();
    let mut targets: Vec<Vec<Option<FileId>>> = Vec::new();
    for id in draft.file_ids() {
        let file = draft.file(id);
        if by_name.insert(&file.name, id).is_some() {
            let message = format!("there are two files `{}`", file.name);
            let at = (id, file.place, Part::Name);
            problems.push(Problem::error("duplicate-file", at, message));
        }
    }
    for id in draft.file_ids() {
        let imports = &draft.file(id).dependencies;
        targets.push(imports.iter().map(|one| by_name.get(&*one.name).copied()).collect());
        for (at, import) in imports.iter().enumerate() {
            let place = (id, import.place, Part::Name);
            if imports[..at].iter().any(|other| other.name == import.name) {
                let message = format!("`{}` is imported twice", import.name);
                problems.push(Problem::error("duplicate-import", place, message));
            } else if !by_name.contains_key(&*import.name) {
                let message = format!("there is no file `{}`", import.name);
                let problem = Problem::error("missing-import", place, message);
                problems.push(problem.about(&import.name));
            }
        }
    }
    for (id, targets) in draft.file_ids().zip(targets) {
        let file = draft.file_mut(id);
        for (import, target) in file.dependencies.iter_mut().zip(targets) {
            import.file = target;
        }
    }
    let order = order(draft, problems);
    visibility(draft, order)
}

/// Orders files depth first; a circular import is a problem, and is not followed further.
fn order(draft: &Draft, problems: &mut Vec<Problem>) -> Vec<FileId> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        Open,
        Done,
    }
    let mut states = vec![Visit::New; draft.files.len()];
    let mut order = Vec::with_capacity(draft.files.len());
    let mut path: Vec<(FileId, usize)> = Vec::new();
    for root in draft.file_ids() {
        if states[root.index()] != Visit::New {
            continue;
        }
        states[root.index()] = Visit::Open;
        path.push((root, 0));
        while let Some((id, followed)) = path.last_mut() {
            let id = *id;
            let Some(import) = draft.file(id).dependencies.get(*followed) else {
                states[id.index()] = Visit::Done;
                order.push(id);
                path.pop();
                continue;
            };
            *followed += 1;
            let Some(target) = import.file else { continue };
            match states[target.index()] {
                Visit::Done => {}
                Visit::New => {
                    states[target.index()] = Visit::Open;
                    path.push((target, 0));
                }
                Visit::Open => {
                    let from = path.iter().position(|&(one, _)| one == target).unwrap_or(0);
                    let mut names: Vec<&str> =
                        path[from..].iter().map(|&(one, _)| &*draft.file(one).name).collect();
                    names.push(&import.name);
                    let message = format!("files import each other: {}", names.join(" -> "));
                    let help = "move what both need into a file of its own";
                    let at = (id, import.place, Part::Name);
                    problems.push(Problem::error("import-cycle", at, message).help(help));
                }
            }
        }
    }
    order
}

fn visibility(draft: &Draft, order: Vec<FileId>) -> Imports {
    let count = draft.files.len();
    let mut public = vec![FileSet::new(count); count];
    let mut visible = public.clone();
    let used = public.clone();
    for &id in &order {
        let mut set = FileSet::new(count);
        set.insert(id);
        for import in &draft.file(id).dependencies {
            if let (ImportKind::Public, Some(file)) = (import.kind, import.file) {
                set.add(&public[file.index()]);
            }
        }
        public[id.index()] = set;
    }
    let mut visible_options = visible.clone();
    for &id in &order {
        let (mut plain, mut options) = (FileSet::new(count), FileSet::new(count));
        plain.insert(id);
        for import in &draft.file(id).dependencies {
            let Some(file) = import.file else { continue };
            match import.kind {
                ImportKind::Option => options.add(&public[file.index()]),
                _ => plain.add(&public[file.index()]),
            }
        }
        options.add(&plain);
        visible[id.index()] = plain;
        visible_options[id.index()] = options;
    }
    Imports { visible, visible_options, public, used, order }
}
