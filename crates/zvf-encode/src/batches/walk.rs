//! Orders the nodes of skeletons depth-first, so that most edges connect consecutive rows (0.9 §14.3).

/// The order of the nodes in one batch of trees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeWalk {
    /// The position of each node in the order.
    pub(crate) place: Vec<usize>,
    /// Whether each node is the root of a tree.
    pub(crate) root: Vec<bool>,
}

/// Why edges do not form trees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoTree {
    /// A node with two parents.
    TwoParents(usize),
    /// A node that is not reachable from a root.
    Cycle(usize),
}

/// Orders `nodes` nodes depth-first: roots by number, children in the order of their edges. Edges are pairs of the numbers of child and parent.
///
/// # Cost
/// O(nodes + edges), without recursion.
pub(crate) fn walk(nodes: usize, edges: &[(usize, usize)]) -> Result<TreeWalk, NoTree> {
    const NONE: usize = usize::MAX;
    // The children of a node are a linked list: `first` child, then `next` siblings.
    let (mut first, mut next) = (vec![NONE; nodes], vec![NONE; nodes]);
    let mut root = vec![true; nodes];
    for &(child, parent) in edges.iter().rev() {
        match root.get_mut(child) {
            Some(flag) if *flag => *flag = false,
            _ => return Err(NoTree::TwoParents(child)),
        }
        // Callers pass numbers below `nodes`. Children of any other parent are unreachable, which is reported as a cycle below.
        if let (Some(head), Some(link)) = (first.get_mut(parent), next.get_mut(child)) {
            *link = *head;
            *head = child;
        }
    }
    let mut place = vec![NONE; nodes];
    let (mut count, mut stack) = (0_usize, Vec::new());
    for (node, _) in root.iter().enumerate().filter(|(_, root)| **root) {
        stack.push(node);
        while let Some(node) = stack.pop() {
            if let Some(slot) = place.get_mut(node) {
                *slot = count;
            }
            count += 1;
            let start = stack.len();
            let mut child = first.get(node).copied().unwrap_or(NONE);
            while child != NONE {
                stack.push(child);
                child = next.get(child).copied().unwrap_or(NONE);
            }
            if let Some(children) = stack.get_mut(start..) {
                children.reverse();
            }
        }
    }
    match place.iter().position(|&place| place == NONE) {
        Some(node) => Err(NoTree::Cycle(node)),
        None => Ok(TreeWalk { place, root }),
    }
}

#[cfg(test)]
mod tests {
    use super::{NoTree, walk};

    #[test]
    fn trees_are_walked_depth_first() {
        // 3 is a root with children 1 and 4, 1 has 0; 2 is alone.
        let found = walk(5, &[(1, 3), (4, 3), (0, 1)]).unwrap();
        assert_eq!(found.root, [false, false, true, true, false]);
        // Order: 2, then 3, 1, 0, 4.
        assert_eq!(found.place, [3, 2, 0, 1, 4]);
    }

    #[test]
    fn two_parents_and_cycles_are_refused() {
        assert_eq!(walk(3, &[(1, 0), (1, 2)]), Err(NoTree::TwoParents(1)));
        assert_eq!(walk(3, &[(1, 2), (2, 1)]), Err(NoTree::Cycle(1)));
        assert_eq!(walk(2, &[(1, 1)]), Err(NoTree::Cycle(1)));
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let edges: Vec<(usize, usize)> = (1..200_000).map(|node| (node, node - 1)).collect();
        let found = walk(200_000, &edges).unwrap();
        assert_eq!(found.place, (0..200_000).collect::<Vec<_>>());
    }
}
