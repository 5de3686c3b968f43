//! Tables of apps that rules name, checked when the program is loaded. Columns, types and write
//! access are checked with the rules, which get the declaration of each table.

use tidemill_diag::{Diagnostic, meant};
use tidemill_overlog::ForeignTable;
use tidemill_overlog::exports::first_use;
use tidemill_packet::flow::AppTable;
use tidemill_packet::kernel::table::spec::TableWriter;
use tidemill_stdx::sorted::SortedMap;

use super::border::TableBorder;
use super::columns::{form, key, types};
use crate::program::Program;

impl Program {
    /// The tables of apps, as declarations for the rules.
    pub(crate) fn tables_of_apps(&self) -> Vec<ForeignTable> {
        let table = |(app, table): (&str, &AppTable)| ForeignTable {
            relation: format!("{app}::{}", table.spec.name),
            columns: types(&table.spec),
            key: key(&table.spec),
            filled_by: (table.spec.writer == TableWriter::Kernel)
                .then(|| format!("the kernel of app `{app}`")),
            form: form(app, &table.spec),
            span: table.span,
        };
        self.app_tables().map(table).collect()
    }

    /// The tables with the names of their apps.
    fn app_tables(&self) -> impl Iterator<Item = (&str, &AppTable)> {
        self.packets.iter().flat_map(|graph| {
            self.tables.iter().map(|table| (graph.apps[table.app].name.as_str(), table))
        })
    }

    /// Records the tables that rules name; refuses names of tables that the app does not have.
    pub(crate) fn check_table_borders(&mut self) {
        let Some(rules) = &self.rules.program else { return };
        let mut tables: SortedMap<&str, Vec<&AppTable>> = SortedMap::new();
        self.app_tables().for_each(|(app, table)| tables.entry(app).or_default().push(table));
        let (mut borders, mut found) = (Vec::new(), Vec::new());
        for relation in &rules.plan.relations {
            let Some((app, table)) = relation.name.split_once("::") else { continue };
            let Some(own) = tables.get(app) else { continue };
            if let Some(known) = own.iter().find(|own| own.spec.name == table) {
                let Some(relation) = rules.plan.find(&relation.name) else { continue };
                let (app, spec) = (app.to_owned(), known.spec.clone());
                borders.push(TableBorder { app, spec, relation, refused: None });
            } else if let Some(place) = first_use(&self.rules.tree, &relation.name) {
                let message = format!("app `{app}` has no table `{table}`");
                let names: Vec<&str> = own.iter().map(|own| own.spec.name.as_str()).collect();
                let help =
                    meant(table, names.clone(), || format!("its tables are {}", names.join(", ")));
                let error = Diagnostic::error("border", place, message);
                found.push(error.label(own[0].span, "its tables are declared here").help(help));
            }
        }
        if borders.iter().any(TableBorder::is_written_by_rules) {
            match self.refused_settings() {
                Ok(refused) => borders.iter_mut().for_each(|border| border.refused = refused),
                Err(error) => found.push(error),
            }
        }
        self.borders.tables = borders;
        self.diagnostics.extend(found);
    }
}
