//! ANY: which interfaces a component is known to have.

use crate::ast;
use crate::check::checker::Checker;
use crate::check::info::Known;
use crate::check::types::{Any, Limits, Type};
use crate::ir::InterfaceId;
use crate::tree::{ExpressionKind, Place, PlaceKind};
use tidemill_stdx::sort;

impl<'a> Checker<'a> {
    /// What components of the type offer for certain.
    pub(super) fn offers(&self, ty: &Type) -> Vec<Limits> {
        match ty {
            Type::Component(id) => {
                let offers = &self.tree.components[*id].offers;
                offers.iter().map(|it| (it.interface, it.count.0, it.count.1)).collect()
            }
            Type::Any(any) => any.offers.clone(),
            _ => Vec::new(),
        }
    }

    /// What components of the type require for certain.
    pub(super) fn requires(&self, ty: &Type) -> Vec<Limits> {
        match ty {
            Type::Component(id) => {
                let requires = &self.tree.components[*id].requires;
                requires.iter().map(|it| (it.interface, it.count.0, it.count.1)).collect()
            }
            Type::Any(any) => any.requires.clone(),
            _ => Vec::new(),
        }
    }

    /// The interfaces that the component in the place has: by its type, and by what conditions
    /// around have found.
    pub(super) fn interfaces_at(&self, place: &Place, ty: &Type, offered: bool) -> Vec<Limits> {
        let mut all = if offered { self.offers(ty) } else { self.requires(ty) };
        for known in &self.known {
            if known.offered == offered && is_same(&known.place, place) {
                for it in &known.interfaces {
                    if all.iter().all(|(interface, ..)| *interface != it.0) {
                        all.push(*it);
                    }
                }
            }
        }
        all
    }

    /// Whether components of the type have all these interfaces.
    pub(super) fn has(&self, ty: &Type, any: &Any) -> bool {
        self.lacks(ty, any).is_none()
    }

    /// What components of the type lack, as a sentence.
    pub(super) fn lacks(&self, ty: &Type, any: &Any) -> Option<String> {
        let missing = |have: Vec<Limits>, want: &[Limits]| {
            let lacks = |it: &&Limits| !have.iter().any(|have| contains(have, it));
            want.iter().find(lacks).map(|it| self.counted_name(it))
        };
        let (name, verb) = match missing(self.offers(ty), &any.offers) {
            Some(name) => (name, "offer"),
            None => (missing(self.requires(ty), &any.requires)?, "require"),
        };
        let what = self.an(ty);
        Some(format!("{what} does not {verb} {name}"))
    }

    /// The name of an interface with its limits, as it is declared.
    fn counted_name(&self, (interface, low, high): &Limits) -> String {
        let name = self.interface_name(*interface);
        match (low, high) {
            (1, Some(1)) => name.into(),
            (low, Some(high)) if low == high => format!("{name}[{low}]"),
            (low, Some(high)) => format!("{name}[{low}..{high}]"),
            (low, None) => format!("{name}[{low}..*]"),
        }
    }

    /// Interfaces with their limits, or errors.
    pub(super) fn limits(&mut self, list: &[ast::InterfaceDeclaration]) -> Option<Vec<Limits>> {
        let all: Vec<Option<Limits>> = list.iter().map(|it| self.limit(it)).collect();
        let mut all: Vec<Limits> = all.into_iter().collect::<Option<_>>()?;
        sort::by_key(&mut all, |it| it.0);
        Some(all)
    }

    /// One interface with its limits, or an error.
    pub(super) fn limit(&mut self, it: &ast::InterfaceDeclaration) -> Option<Limits> {
        let interface = self.interface(&it.name);
        let span = it.limits.unwrap_or(it.span);
        if it.high.is_some_and(|high| high < it.low) {
            let message = "the upper limit is below the lower";
            return self.fail("cardinality", span, message, "write `[low..high]`");
        }
        if it.high == Some(0) {
            let message = "interfaces are counted from 1";
            return self.fail("cardinality", span, message, "");
        }
        let narrow = |limit: u64| u32::try_from(limit).ok();
        let (Some(low), Some(high)) =
            (narrow(it.low), it.high.map_or(Some(None), |high| narrow(high).map(Some)))
        else {
            let message = "a limit is at most 4294967295 interfaces";
            return self.fail("cardinality", span, message, "`*` is without limit");
        };
        Some((interface?, low, high))
    }

    /// Notes what holds if the condition is TRUE.
    pub(super) fn learn(&mut self, condition: &crate::tree::Expression) {
        match &condition.kind {
            ExpressionKind::And(a, b) => {
                self.learn(a);
                self.learn(b);
            }
            ExpressionKind::Has { place, offered, interfaces } => {
                let (place, interfaces) = (place.clone(), interfaces.clone());
                self.known.push(Known { place, offered: *offered, interfaces });
            }
            ExpressionKind::Is(place, component) => {
                let ty = Type::Component(*component);
                for (offered, interfaces) in [(true, self.offers(&ty)), (false, self.requires(&ty))]
                {
                    self.known.push(Known { place: place.clone(), offered, interfaces });
                }
            }
            ExpressionKind::Locked(_, inner) => self.learn(inner),
            _ => {}
        }
    }

    /// The place has got another component: what was found of it no longer holds.
    pub(super) fn forget(&mut self, place: &Place) {
        self.known.retain(|known| !is_same(root(&known.place), root(place)));
    }
}

fn contains(have: &Limits, want: &Limits) -> bool {
    let high = have.2.is_none_or(|have| want.2.is_some_and(|want| want <= have));
    have.0 == want.0 && have.1 <= want.1 && high
}

fn root(place: &Place) -> &Place {
    match &place.kind {
        PlaceKind::Element { base, .. } => root(base),
        PlaceKind::Character { text, .. } => root(text),
        _ => place,
    }
}

/// Whether both are certainly the same place, without evaluating anything but variables.
pub(super) fn is_same(a: &Place, b: &Place) -> bool {
    match (&a.kind, &b.kind) {
        (PlaceKind::Local(r, a), PlaceKind::Local(s, b)) => r == s && a == b,
        (PlaceKind::Variable(a), PlaceKind::Variable(b)) => a == b,
        (
            PlaceKind::Element { base: a, indices: i },
            PlaceKind::Element { base: b, indices: j },
        ) => {
            let same = |(i, j): (&crate::tree::Expression, &crate::tree::Expression)| match (
                &i.kind, &j.kind,
            ) {
                (ExpressionKind::Constant(i), ExpressionKind::Constant(j)) => i == j,
                (ExpressionKind::Text(i), ExpressionKind::Text(j)) => i == j,
                (ExpressionKind::Place(i), ExpressionKind::Place(j)) => is_same(i, j),
                _ => false,
            };
            is_same(a, b) && i.len() == j.len() && i.iter().zip(j).all(same)
        }
        _ => false,
    }
}

/// The limits of one interface in a list.
pub(super) fn limits_of(list: &[Limits], interface: InterfaceId) -> Option<Limits> {
    list.iter().find(|it| it.0 == interface).copied()
}
