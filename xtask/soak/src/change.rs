//! Changes of the objects of one lane: the edit that makes them, and the objects afterwards.

use zvf_soak::draw::Draw;

use super::objects::{LANES, Object, Row, State};
use super::question::{TEXTS, field, id, table};

/// Where the arguments of an edit name its table.
pub(super) const TABLE: &str = "TABLE";

/// One edit.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) name: &'static str,
    /// The arguments after `zvf edit STORE`.
    pub(super) words: Vec<String>,
    pub(super) table: Option<String>,
    /// The objects of the lane afterwards.
    pub(super) next: State,
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn small(draw: &mut Draw, end: u64) -> i32 {
    i32::try_from(draw.below(end)).unwrap_or(0)
}

/// A position, rarely outside of the bounds that the store had at first.
fn place(draw: &mut Draw) -> [i32; 3] {
    let wide = draw.below(30) == 0;
    [(); 3].map(|()| match wide {
        true => small(draw, 640) - 120,
        false => small(draw, 400),
    })
}

fn row(draw: &mut Draw) -> Row {
    Row {
        at: place(draw),
        n: i64::from(small(draw, 100)),
        w: small(draw, 400),
        t: text(draw),
    }
}

fn text(draw: &mut Draw) -> &'static str {
    draw.one(&TEXTS).copied().unwrap_or("a")
}

fn rows(draw: &mut Draw) -> Vec<Row> {
    (0..2 + draw.below(5)).map(|_| row(draw)).collect()
}

/// The objects that a store is made with.
pub(super) fn first(draw: &mut Draw) -> State {
    let mut objects = State::new();
    for _ in 0..12 {
        let rows = rows(draw);
        let v = Some(i64::from(small(draw, 1000)));
        objects.insert(id(draw), Object { rows, v });
    }
    objects
}

/// Any change of the objects of a lane.
pub(super) fn draw(draw: &mut Draw, lane: usize, ordered: bool, state: &State) -> Change {
    let few = state.len() < 3;
    match draw.below(100) {
        0..25 => append(draw, lane, state),
        _ if few => append(draw, lane, state),
        25..45 => delete(draw, state),
        45..62 => moved(draw, ordered, state),
        62..85 => values(draw, ordered, state),
        _ => own_values(draw, state),
    }
}

fn some(draw: &mut Draw, state: &State, most: u64) -> Vec<i64> {
    let ids: Vec<i64> = state.keys().copied().collect();
    let count = 1 + draw.below(most);
    let mut drawn: Vec<i64> = (0..count).filter_map(|_| draw.one(&ids).copied()).collect();
    drawn.sort_unstable();
    drawn.dedup();
    drawn
}

/// New objects, also under ids that were deleted, and more rows of others.
fn append(draw: &mut Draw, lane: usize, state: &State) -> Change {
    let mut next = state.clone();
    let mut added: Vec<(i64, Row)> = Vec::new();
    for _ in 0..=draw.below(2) {
        let lane = i64::try_from(lane).unwrap_or(0);
        let id = id(draw) / LANES * LANES + lane;
        for row in rows(draw) {
            next.entry(id).or_default().rows.push(row.clone());
            added.push((id, row));
        }
    }
    Change {
        name: "edit append",
        words: words(&["append", TABLE]),
        table: Some(table(added.iter().map(|(id, row)| (*id, row)))),
        next,
    }
}

fn delete(draw: &mut Draw, state: &State) -> Change {
    let gone = some(draw, state, 3);
    let mut next = state.clone();
    next.retain(|id, _| !gone.contains(id));
    let ids = gone.iter().map(i64::to_string);
    Change {
        name: "edit delete",
        words: [String::from("delete")].into_iter().chain(ids).collect(),
        table: None,
        next,
    }
}

/// The rows that an edit names: those of lines by their places; of points, whose places follow the chunks, all rows of an object.
fn named(draw: &mut Draw, ordered: bool, state: &State) -> Vec<(i64, Vec<usize>)> {
    let objects = some(draw, state, 3).into_iter().map(|id| {
        let count = state.get(&id).map_or(0, |object| object.rows.len());
        let places = (0..count).filter(|_| !ordered || draw.below(2) == 0);
        (id, places.collect())
    });
    objects.collect()
}

fn moved(draw: &mut Draw, ordered: bool, state: &State) -> Change {
    let mut next = state.clone();
    let mut text = "object_id,vertex,x,y,z\n".to_owned();
    for (id, places) in named(draw, ordered, state) {
        let at = place(draw);
        for at_row in places {
            // All rows of an object of points get one place: which is which cannot be told.
            let at = if ordered { place(draw) } else { at };
            if let Some(row) = next
                .get_mut(&id)
                .and_then(|object| object.rows.get_mut(at_row))
            {
                row.at = at;
                let [x, y, z] = at.map(|value| f64::from(value) / 4.0);
                text.push_str(&format!("{id},{at_row},{x},{y},{z}\n"));
            }
        }
    }
    Change {
        name: "edit move",
        words: words(&["move", "--from", TABLE]),
        table: Some(text),
        next,
    }
}

fn values(draw: &mut Draw, ordered: bool, state: &State) -> Change {
    let mut next = state.clone();
    let name = ["n", "w", "t"][usize::try_from(draw.below(3)).unwrap_or(0)];
    let mut rows = format!("object_id,vertex,{name}\n");
    for (id, places) in named(draw, ordered, state) {
        let new = row(draw);
        for at in places {
            let new = if ordered { row(draw) } else { new.clone() };
            let old = next.get_mut(&id).and_then(|object| object.rows.get_mut(at));
            let Some(old) = old else { continue };
            let value = match name {
                "n" => {
                    old.n = new.n;
                    new.n.to_string()
                }
                "w" => {
                    old.w = new.w;
                    (f64::from(new.w) / 2.0).to_string()
                }
                _ => {
                    old.t = new.t;
                    field(new.t)
                }
            };
            rows.push_str(&format!("{id},{at},{value}\n"));
        }
    }
    Change {
        name: "edit set-attribute",
        words: words(&["set-attribute", name, "--from", TABLE]),
        table: Some(rows),
        next,
    }
}

fn own_values(draw: &mut Draw, state: &State) -> Change {
    let mut next = state.clone();
    let mut rows = "object_id,v\n".to_owned();
    for id in some(draw, state, 4) {
        let value = i64::from(small(draw, 1000));
        if let Some(object) = next.get_mut(&id) {
            object.v = Some(value);
            rows.push_str(&format!("{id},{value}\n"));
        }
    }
    Change {
        name: "edit set-attribute --object",
        words: words(&["set-attribute", "v", "--object", "--from", TABLE]),
        table: Some(rows),
        next,
    }
}
