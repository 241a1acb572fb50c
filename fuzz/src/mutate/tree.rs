//! Changes of JSON and TOML as trees: a value becomes another one, rows are doubled, keys are renamed.

use serde_json::{Map, Value as Json};

use super::{Stock, bytes};
use crate::dice::Dice;

/// Changes a JSON document. False if it is none, or what it splices with makes it too long.
pub(super) fn json(input: &mut Vec<u8>, stock: &Stock<'_>, times: usize, dice: &mut Dice) -> bool {
    let Ok(mut tree) = serde_json::from_slice::<Json>(input) else { return false };
    let other = serde_json::from_slice::<Json>(stock.other).unwrap_or_default();
    thin(&mut tree, dice);
    (0..times).for_each(|_| change(&mut tree, &other, stock, dice));
    take(input, serde_json::to_vec(&tree).ok(), stock)
}

/// Changes a TOML document. False if it is none.
pub(super) fn toml(input: &mut Vec<u8>, stock: &Stock<'_>, times: usize, dice: &mut Dice) -> bool {
    let read = |bytes: &[u8]| std::str::from_utf8(bytes).ok().and_then(|text| toml::from_str::<Json>(text).ok());
    let Some(mut tree) = read(input) else { return false };
    let other = read(stock.other).unwrap_or_default();
    thin(&mut tree, dice);
    (0..times).for_each(|_| change(&mut tree, &other, stock, dice));
    without_null(&mut tree);
    take(input, toml::to_string(&tree).ok().map(String::into_bytes), stock)
}

fn take(input: &mut Vec<u8>, made: Option<Vec<u8>>, stock: &Stock<'_>) -> bool {
    match made.filter(|made| made.len() <= stock.longest) {
        Some(made) => {
            *input = made;
            true
        }
        None => false,
    }
}

/// Leaves a few elements of each list, mostly.
fn thin(tree: &mut Json, dice: &mut Dice) {
    if !dice.once_in(4) {
        fewer(tree, dice);
    }
}

fn fewer(tree: &mut Json, dice: &mut Dice) {
    match tree {
        Json::Array(list) => {
            let (all, left) = (list.len(), 1 + dice.below(4));
            if all > left {
                list.retain(|_| dice.below(all) < left);
            }
            list.iter_mut().for_each(|value| fewer(value, dice));
        }
        Json::Object(map) => map.values_mut().for_each(|value| fewer(value, dice)),
        _ => {}
    }
}

/// TOML has no null.
fn without_null(tree: &mut Json) {
    match tree {
        Json::Null => *tree = Json::String(String::new()),
        Json::Array(list) => list.iter_mut().for_each(without_null),
        Json::Object(map) => map.values_mut().for_each(without_null),
        _ => {}
    }
}

fn count(tree: &Json) -> usize {
    1 + match tree {
        Json::Array(list) => list.iter().map(count).sum(),
        Json::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// The value of this number in the order of the text.
fn nth<'a>(tree: &'a mut Json, n: &mut usize) -> Option<&'a mut Json> {
    if *n == 0 {
        return Some(tree);
    }
    *n -= 1;
    match tree {
        Json::Array(list) => list.iter_mut().find_map(|value| nth(value, n)),
        Json::Object(map) => map.values_mut().find_map(|value| nth(value, n)),
        _ => None,
    }
}

fn any(tree: &Json, dice: &mut Dice) -> Json {
    let mut copy = tree.clone();
    let mut n = dice.below(count(&copy));
    nth(&mut copy, &mut n).cloned().unwrap_or_default()
}

/// Values that nobody expects.
fn odd(dice: &mut Dice) -> Json {
    match dice.below(14) {
        0 => Json::Null,
        1 => Json::Bool(true),
        2 => Json::Bool(false),
        3 => Json::from(i64::MIN),
        4 => Json::from(i64::MAX),
        5 => Json::from(u64::MAX),
        6 => Json::from(*dice.pick(&[0_i64, 1, -1, 2, 7, 63, 64, 65, 1_000, 1 << 31, 1 << 53])),
        7 => Json::from(*dice.pick(&[0.5, -0.0, 1e308, -1e308, 1e-320, 4_294_967_296.5])),
        8 => Json::String(String::new()),
        9 => Json::String("\u{0}".to_owned()),
        10 => Json::Array(Vec::new()),
        11 => Json::Object(Map::new()),
        12 => {
            let depth = *dice.pick(&[2, 10, 60, 100]);
            (0..depth).fold(Json::Null, |inner, _| Json::Array(vec![inner]))
        }
        _ => {
            let words: &[&str] =
                &["a", "lamp ", "{{user}}", "{{$next}}{{$next}}", "/(a+)+$/", "\u{10ffff}", "-9223372036854775808", "true", "é\n"];
            Json::String(dice.pick(words).repeat(*dice.pick(&[1, 1, 3, 100, 1_000])))
        }
    }
}

fn change(tree: &mut Json, other: &Json, stock: &Stock<'_>, dice: &mut Dice) {
    let new = match dice.below(3) {
        0 => any(tree, dice),
        1 => any(other, dice),
        _ => odd(dice),
    };
    let mut n = dice.below(count(tree));
    let Some(node) = nth(tree, &mut n) else { return };
    match (dice.below(6), node) {
        (0 | 1, node) => *node = new,
        (_, Json::Array(list)) => array(list, new, dice),
        (_, Json::Object(map)) => object(map, new, stock, dice),
        (_, Json::String(text)) => {
            let mut inside = std::mem::take(text).into_bytes();
            let within = Stock { longest: stock.longest.min(inside.len() + 4_096), ..*stock };
            bytes::change(&mut inside, &within, dice);
            *text = String::from_utf8_lossy(&inside).into_owned();
        }
        (2, node @ Json::Number(_)) => *node = Json::String(dice.pick(bytes::NUMBERS).to_string()),
        (_, node) => *node = new,
    }
}

fn array(list: &mut Vec<Json>, new: Json, dice: &mut Dice) {
    let at = dice.below(list.len() + 1);
    match dice.below(5) {
        0 if !list.is_empty() => _ = list.drain(dice.range(list.len())),
        1 if !list.is_empty() => {
            let (a, b) = (dice.below(list.len()), dice.below(list.len()));
            list.swap(a, b);
        }
        2 | 3 if !list.is_empty() => {
            // rows like this one, many times over
            let row = list[dice.below(list.len())].clone();
            let times = *dice.pick(&[1, 1, 2, 10, 100]);
            list.splice(at..at, std::iter::repeat_n(row, times));
        }
        _ => list.insert(at, new),
    }
}

fn object(map: &mut Map<String, Json>, new: Json, stock: &Stock<'_>, dice: &mut Dice) {
    let key = |map: &Map<String, Json>, dice: &mut Dice| map.keys().nth(dice.below(map.len())).cloned().unwrap_or_default();
    match dice.below(5) {
        0 => {
            let key = key(map, dice);
            map.shift_remove(&key);
        }
        1 => {
            let (from, to) = (key(map, dice), key(map, dice));
            if let Some(value) = map.get(&from).cloned() {
                map.insert(to, value);
            }
        }
        2 => {
            let from = key(map, dice);
            if let Some(value) = map.shift_remove(&from) {
                map.insert(name(stock, dice), value);
            }
        }
        3 => {
            let to = key(map, dice);
            map.insert(to, new);
        }
        _ => _ = map.insert(name(stock, dice), new),
    }
}

fn name(stock: &Stock<'_>, dice: &mut Dice) -> String {
    if stock.words.is_empty() || dice.once_in(6) { format!("key{}", dice.below(4)) } else { (*dice.pick(stock.words)).to_owned() }
}
