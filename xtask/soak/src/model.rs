//! What a store must hold, computed without the program: objects with their rows, and every state that they had.
//!
//! The objects of a store are divided into lanes by their ids. The changes of a lane are made one after another, those of different lanes
//! at the same time; since they touch different objects, the state of the store is one state of each lane. A change takes effect at one
//! moment between its start and its end, and a read shows the state at one moment between its own. From every read the model learns
//! more about these moments, so that a later read that contradicts it is found.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::objects::{Answer, LANES, State};
use super::question::Question;

/// A state of a lane, and the moments between which it began.
#[derive(Debug)]
struct Step {
    state: Arc<State>,
    not_before: u64,
    not_after: u64,
    /// Whether a read showed it.
    seen: bool,
}

/// The states of one lane, the oldest first.
#[derive(Debug)]
struct Lane {
    steps: Vec<Step>,
    /// Whether the program that made the last state ended without saying whether it counts.
    pending: bool,
}

/// Everything known about one store.
#[derive(Debug)]
pub(super) struct Model {
    /// Whether the rows of an object have an order that answers keep: those of lines.
    ordered: bool,
    lanes: Vec<Lane>,
    /// The starts of reads that have not ended, and how many began then.
    reads: BTreeMap<u64, usize>,
}

/// The lane of an object.
fn lane_of(id: i64) -> usize {
    usize::try_from(id.rem_euclid(LANES)).unwrap_or(0)
}

impl Model {
    /// A store that was made with these objects.
    pub(super) fn new(ordered: bool, objects: &State) -> Self {
        let lanes = (0..LANES).map(|lane| {
            let own = objects
                .iter()
                .filter(|(id, _)| id.rem_euclid(LANES) == lane);
            let state = own.map(|(id, object)| (*id, object.clone())).collect();
            let first = Step {
                state: Arc::new(state),
                not_before: 0,
                not_after: 0,
                seen: true,
            };
            Lane {
                steps: vec![first],
                pending: false,
            }
        });
        Self {
            ordered,
            lanes: lanes.collect(),
            reads: BTreeMap::new(),
        }
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// The newest state of a lane.
    pub(super) fn state(&self, lane: usize) -> Arc<State> {
        let last = self.lanes.get(lane).and_then(|lane| lane.steps.last());
        last.map(|step| Arc::clone(&step.state)).unwrap_or_default()
    }

    /// Whether it is unknown if the newest state of a lane counts.
    pub(super) fn is_pending(&self, lane: usize) -> bool {
        self.lanes.get(lane).is_some_and(|lane| lane.pending)
    }

    /// A program that makes this state is about to be started.
    pub(super) fn begin(&mut self, lane: usize, state: State, now: u64) {
        let oldest = self.reads.keys().next().map_or(now, |read| now.min(*read));
        if let Some(lane) = self.lanes.get_mut(lane) {
            // States that no read can show any more.
            let over = lane.steps.iter().skip(1);
            let over = over.take_while(|next| next.not_after < oldest).count();
            lane.steps.drain(..over);
            lane.steps.push(Step {
                state: Arc::new(state),
                not_before: now,
                not_after: u64::MAX,
                seen: false,
            });
        }
    }

    /// The program ended and said that the state counts (`Some(true)`), that it does not (`Some(false)`), or neither.
    pub(super) fn end(
        &mut self,
        lane: usize,
        counts: Option<bool>,
        now: u64,
    ) -> Result<(), String> {
        let Some(lane) = self.lanes.get_mut(lane) else {
            return Ok(());
        };
        lane.pending = counts.is_none();
        let Some(last) = lane.steps.last_mut() else {
            return Ok(());
        };
        match counts {
            Some(true) => last.not_after = last.not_after.min(now),
            Some(false) => {
                let seen = last.seen;
                lane.steps.pop();
                if seen {
                    return Err(
                        "a change was refused or taken back after a read had shown it".into(),
                    );
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Answers to questions that together ask for everything, made when no other program ran and interrupted changes had been finished
    /// or taken back: settles what is unknown.
    pub(super) fn settle(
        &mut self,
        answers: &[(Question, Answer)],
        now: u64,
    ) -> Result<(), String> {
        for lane in 0..self.lanes.len() {
            if !self.is_pending(lane) {
                continue;
            }
            let shows = |step: &Step| {
                answers.iter().all(|(question, answer)| {
                    question.expected(self.ordered, &step.state) == part(answer, lane)
                })
            };
            let steps = self.lanes.get(lane).map(|lane| lane.steps.as_slice());
            let [.., before, last] = steps.unwrap_or_default() else {
                continue;
            };
            let counts = match (shows(before), shows(last)) {
                (_, true) => true,
                (true, false) => false,
                (false, false) => {
                    let wrong = answers.iter().map(|(question, answer)| {
                        let after = question.expected(self.ordered, &last.state);
                        difference(&part(answer, lane), &after)
                    });
                    let wrong: Vec<String> = wrong.collect();
                    return Err(format!(
                        "an interrupted change is neither wholly there nor wholly absent: {}",
                        wrong.join("; ")
                    ));
                }
            };
            self.end(lane, Some(counts), now)?;
        }
        Ok(())
    }

    /// A read is about to begin.
    pub(super) fn open_read(&mut self, now: u64) {
        *self.reads.entry(now).or_default() += 1;
    }

    /// The read that began then has ended.
    pub(super) fn close_read(&mut self, from: u64) {
        if let Some(count) = self.reads.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                self.reads.remove(&from);
            }
        }
    }

    /// Compares what a read returned with the states that the store can have had between its start and its end.
    pub(super) fn check(
        &mut self,
        question: &Question,
        answer: &Answer,
        from: u64,
        to: u64,
    ) -> Result<(), String> {
        // Of each lane the states that the answer can show: number, first and last moment.
        let mut all: Vec<Vec<(usize, u64, u64)>> = Vec::new();
        for (number, lane) in self.lanes.iter().enumerate() {
            let found = part(answer, number);
            let mut fit = Vec::new();
            let mut near = String::new();
            for (at, step) in lane.steps.iter().enumerate() {
                let next = lane.steps.get(at + 1);
                let (first, last) = (
                    step.not_before.max(from),
                    next.map_or(u64::MAX, |next| next.not_after).min(to),
                );
                if first > last {
                    continue;
                }
                let expected = question.expected(self.ordered, &step.state);
                if expected == found {
                    fit.push((at, first, last));
                } else {
                    near = difference(&found, &expected);
                }
            }
            if fit.is_empty() {
                return Err(format!("{question} shows no state of that time: {near}"));
            }
            all.push(fit);
        }
        // A moment at which all lanes can have been in such a state: if there is one, there is one where some state begins.
        let fits = |moment: u64| {
            let within = |(_, first, last): &(usize, u64, u64)| (*first..=*last).contains(&moment);
            all.iter().all(|fit| fit.iter().any(within))
        };
        let starts = all.iter().flatten().map(|(_, first, _)| *first);
        let moments: Vec<u64> = starts.filter(|moment| fits(*moment)).collect();
        if moments.is_empty() {
            return Err(format!(
                "{question} shows changes of different moments: a later change without an earlier one"
            ));
        }
        for (lane, fit) in self.lanes.iter_mut().zip(&all) {
            let possible = fit.iter().filter(|(_, first, last)| {
                moments
                    .iter()
                    .any(|moment| (*first..=*last).contains(moment))
            });
            let numbers: Vec<usize> = possible.map(|(at, ..)| *at).collect();
            let (Some(least), Some(most)) = (numbers.first(), numbers.last()) else {
                continue;
            };
            for (at, step) in lane.steps.iter_mut().enumerate() {
                if at <= *least {
                    step.not_after = step.not_after.min(to);
                    step.seen = true;
                } else if at > *most {
                    step.not_before = step.not_before.max(from);
                }
            }
        }
        Ok(())
    }
}

/// What an answer says of the objects of one lane.
fn part(answer: &Answer, lane: usize) -> Answer {
    let own = answer.iter().filter(|(id, _)| lane_of(**id) == lane);
    own.map(|(id, lines)| (*id, lines.clone())).collect()
}

/// The first object that differs.
fn difference(found: &Answer, expected: &Answer) -> String {
    let ids = found.keys().chain(expected.keys());
    let mut wrong = ids.filter(|id| found.get(id) != expected.get(id));
    wrong.next().map_or_else(String::new, |id| {
        format!(
            "object {id}: found {:?}, expected {:?}",
            found.get(id),
            expected.get(id)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::objects::{Object, Row};
    use super::*;

    fn objects(ids: &[(i64, i64)]) -> State {
        let one = |n: i64| Object {
            rows: vec![Row {
                at: [0; 3],
                n,
                w: 0,
                t: "a",
            }],
            v: None,
        };
        ids.iter().map(|(id, n)| (*id, one(*n))).collect()
    }

    fn shown(ids: &[(i64, i64)]) -> Answer {
        Question::All.expected(true, &objects(ids))
    }

    /// A store with one object in each of two lanes.
    fn model() -> Model {
        Model::new(true, &objects(&[(0, 1), (1, 1)]))
    }

    #[test]
    fn a_change_that_counts_is_shown_by_every_later_read() {
        let mut model = model();
        model.begin(0, objects(&[(0, 2)]), 10);
        model.end(0, Some(true), 20).unwrap();
        let old = shown(&[(0, 1), (1, 1)]);
        let new = shown(&[(0, 2), (1, 1)]);
        // A read that began before the end may show either.
        model.check(&Question::All, &old, 15, 30).unwrap();
        model.check(&Question::All, &new, 15, 30).unwrap();
        model.check(&Question::All, &old, 21, 30).unwrap_err();
    }

    #[test]
    fn a_read_that_mixes_two_states_of_an_object_is_found() {
        let mut model = model();
        model.begin(0, objects(&[(0, 2)]), 10);
        let torn = Answer::from([(0, vec![]), (1, shown(&[(1, 1)])[&1].clone())]);
        model.check(&Question::All, &torn, 15, 30).unwrap_err();
    }

    #[test]
    fn a_later_change_without_an_earlier_one_is_found() {
        let mut model = model();
        model.begin(0, objects(&[(0, 2)]), 10);
        model.end(0, Some(true), 20).unwrap();
        model.begin(1, objects(&[(1, 2)]), 30);
        model.end(1, Some(true), 40).unwrap();
        let mixed = shown(&[(0, 1), (1, 2)]);
        model.check(&Question::All, &mixed, 5, 50).unwrap_err();
        model
            .check(&Question::All, &shown(&[(0, 2), (1, 1)]), 5, 50)
            .unwrap();
    }

    #[test]
    fn reads_do_not_go_backwards() {
        let mut model = model();
        model.begin(0, objects(&[(0, 2)]), 10);
        let (old, new) = (shown(&[(0, 1), (1, 1)]), shown(&[(0, 2), (1, 1)]));
        model.check(&Question::All, &new, 12, 14).unwrap();
        model.check(&Question::All, &old, 13, 15).unwrap();
        model.check(&Question::All, &old, 16, 18).unwrap_err();
    }

    #[test]
    fn an_interrupted_change_is_wholly_there_or_not_and_stays_so() {
        let (old, new) = (shown(&[(0, 1), (1, 1)]), shown(&[(0, 2), (1, 1)]));
        let killed = || {
            let mut model = model();
            model.begin(0, objects(&[(0, 2)]), 10);
            model.end(0, None, 20).unwrap();
            model
        };
        let all = |answer: &Answer| [(Question::All, answer.clone())];
        let mut model = killed();
        model.settle(&all(&old), 30).unwrap();
        model.check(&Question::All, &old, 40, 50).unwrap();
        model.check(&Question::All, &new, 40, 50).unwrap_err();
        let mut model = killed();
        model.settle(&all(&new), 30).unwrap();
        model.check(&Question::All, &old, 40, 50).unwrap_err();
        let mut model = killed();
        model
            .settle(&all(&shown(&[(0, 3), (1, 1)])), 30)
            .unwrap_err();
        // Shown once, it cannot vanish.
        let mut model = killed();
        model.check(&Question::All, &new, 22, 24).unwrap();
        model.settle(&all(&old), 30).unwrap_err();
    }

    #[test]
    fn old_states_are_dropped_when_no_read_can_show_them() {
        let mut model = model();
        model.open_read(5);
        for n in 2..6_u64 {
            model.begin(0, objects(&[(0, i64::try_from(n).unwrap())]), n * 10);
            model.end(0, Some(true), n * 10 + 5).unwrap();
        }
        assert_eq!(model.lanes[0].steps.len(), 5);
        model.close_read(5);
        model.begin(0, objects(&[(0, 9)]), 100);
        assert_eq!(model.lanes[0].steps.len(), 2);
    }
}
