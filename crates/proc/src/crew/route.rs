//! Waking what lives on another loop.

use super::ring::Post;
use super::{Crew, Desk};
use crate::component::{self, ComponentId};
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::CLIENT_FINISHED;
use crate::machine::Worker;
use crate::monitor;
use crate::process::{self, ProcessState, Role};

impl Worker {
    /// Puts a process on the ready queue of its own loop.
    #[inline]
    pub(crate) fn push_home(&mut self, process: ProcessRef) {
        match &self.machine.desk {
            None => self.push_ready(process),
            Some(desk) => {
                let component = process.component();
                if component.is_null() || component.worker() == desk.index {
                    self.push_ready(process);
                } else {
                    self.push_away(process, component.worker());
                }
            }
        }
    }

    #[cold]
    fn push_away(&mut self, process: ProcessRef, to: u8) {
        let Some(desk) = &self.machine.desk else { return };
        if desk.crew.is_alone() {
            let crew = desk.crew.clone();
            self.member(to).push_ready(process);
            crew.wake(usize::from(to));
        } else {
            self.post(to, Post::Wake(process.0.expose_provenance()));
        }
    }

    /// Posts to another loop.
    pub(super) fn post(&mut self, to: u8, post: Post) {
        let Some(desk) = &mut self.machine.desk else { return };
        if desk.overflow.is_empty() && desk.send(to, post) {
            return;
        }
        desk.overflow.push((to, post));
        self.machine.left_over = true;
    }

    /// Posts to another loop that conditions of a component there may hold.
    pub(crate) fn post_poke(&mut self, component: ComponentRef) {
        self.post(component.worker(), Post::Poke(component.id().raw()));
    }

    /// Posts to another loop that a component there is terminated.
    pub(crate) fn post_end(&mut self, component: ComponentRef) {
        self.post(component.worker(), Post::End(component.id().raw()));
    }

    /// Posts what had no room; returns whether all had room now.
    pub(super) fn post_overflow(&mut self) -> bool {
        let Some(desk) = &mut self.machine.desk else { return true };
        let waiting = std::mem::take(&mut desk.overflow);
        let mut posts = waiting.into_iter();
        for (to, post) in posts.by_ref() {
            if !desk.send(to, post) {
                desk.overflow.push((to, post));
                break;
            }
        }
        desk.overflow.extend(posts);
        desk.overflow.is_empty()
    }

    /// Takes what other loops have posted to this one.
    #[inline]
    pub(super) fn take_posts(&mut self) {
        if !self.has_no_posts() {
            self.take_all_posts();
        }
    }

    #[cold]
    #[inline(never)]
    fn take_all_posts(&mut self) {
        let Some(desk) = &self.machine.desk else { return };
        let (crew, index) = (desk.crew.clone(), usize::from(desk.index));
        for ring in &crew.members[index].inbound {
            while let Some(post) = ring.pop() {
                receive(self, post);
            }
        }
    }

    /// Whether nothing is posted to this worker.
    pub(super) fn has_no_posts(&self) -> bool {
        let Some(desk) = &self.machine.desk else { return true };
        let member = &desk.crew.members[usize::from(desk.index)];
        member.inbound.iter().all(|ring| ring.is_empty())
    }
}

impl Desk {
    fn send(&self, to: u8, post: Post) -> bool {
        let member = &self.crew.members[usize::from(to)];
        if !member.inbound[usize::from(self.index)].push(post) {
            return false;
        }
        if member.asleep.end_by_post() {
            member.ring_alarm();
        }
        true
    }
}

fn receive(worker: &mut Worker, post: Post) {
    match post {
        Post::Wake(address) => {
            worker.push_ready(ProcessRef(std::ptr::with_exposed_provenance_mut(address)));
        }
        Post::Poke(raw) => {
            if let Some(component) = worker.machine.table.get(ComponentId::from_raw(raw)) {
                monitor::poke(worker, component);
            }
        }
        Post::End(raw) => {
            if let Some(component) = worker.machine.table.get(ComponentId::from_raw(raw)) {
                component::terminate(worker, component, ProcessRef::NULL);
            }
        }
    }
}

/// Delivers all posts of all loops, so that none is in transit. The caller has exclusive access.
pub(super) fn deliver_all(worker: &mut Worker, crew: &Crew) {
    for to in 0..crew.members.len() {
        for from in 0..crew.members.len() {
            while let Some(post) = crew.members[to].inbound[from].pop() {
                receive(worker.member(to as u8), post);
            }
        }
    }
    for from in 0..crew.members.len() {
        let Some(desk) = &mut worker.member(from as u8).machine.desk else { continue };
        for (to, post) in std::mem::take(&mut desk.overflow) {
            receive(worker.member(to), post);
        }
    }
}

/// A process that was woken only because its client has finished meanwhile is at its end.
#[inline(always)]
pub(super) fn is_finished(process: ProcessRef) -> bool {
    process.state() == ProcessState::Finish as u8
        && process.role() == Role::Server as u8
        && process.channel().has(CLIENT_FINISHED)
}

/// Runs a process, or ends it.
#[inline(always)]
pub(super) fn step(worker: &mut Worker, process: ProcessRef) {
    if is_finished(process) {
        process::end(worker, process);
    } else {
        worker.step(process);
    }
}
