//! Orders one by one: every one in which a few packets can reach a node.

use super::change::{Change, ChangeKind, Moment};

/// The sender of a packet, and when it came.
pub type Arrival = (usize, Moment);

/// Every order in which packets can reach a node, by their places; that in which they came is the first.
/// Those of one sender stay in their order. There are up to n! of them.
pub fn legal_orders(arrivals: &[Arrival]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in arrivals {
        let longer = all.iter().flat_map(|order: &Vec<usize>| {
            let is_next = |&place: &usize| {
                let mut before = (0..place).filter(|it| arrivals[*it].0 == arrivals[place].0);
                !order.contains(&place) && before.all(|it| order.contains(&it))
            };
            let next = (0..arrivals.len()).filter(is_next);
            next.map(|it| [order.as_slice(), &[it]].concat())
        });
        all = longer.collect();
    }
    all
}

/// What brings packets to a node in one of their [`legal_orders`]: each link is held at its packets, until
/// all of them would have been there.
pub fn in_order(order: &[usize], arrivals: &[Arrival], node: usize) -> Vec<Change> {
    if order.is_sorted() {
        return Vec::new();
    }
    let last = arrivals.iter().map(|it| it.1).max().unwrap_or_default();
    let changes = order.iter().zip(1..).map(|(&place, behind)| Change {
        kind: ChangeKind::Hold,
        from: arrivals[place].0,
        to: node,
        since: arrivals[place].1,
        until: last.behind(behind),
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use super::super::change::fate;
    use super::*;

    fn at(turn: u32) -> Moment {
        Moment {
            turn,
            ns: turn.into(),
        }
    }

    #[test]
    fn packets_of_one_sender_stay_in_their_order() {
        let three = [(1, at(1)), (2, at(2)), (2, at(3))];
        let orders = legal_orders(&three);
        assert_eq!(orders, [vec![0, 1, 2], vec![1, 0, 2], vec![1, 2, 0]]);
    }

    #[test]
    fn changes_bring_packets_in_the_order_that_was_asked_for() {
        let five = [(1, at(1)), (2, at(2)), (1, at(3)), (2, at(4)), (3, at(4))];
        let orders = legal_orders(&five);
        assert_eq!(orders.len(), 30);
        for order in orders {
            let changes = in_order(&order, &five, 0);
            let mut places: Vec<usize> = (0..five.len()).collect();
            places.sort_by_key(|&it| fate(&changes, (five[it].0, 0), five[it].1).comes);
            assert_eq!(places, order);
        }
    }
}
