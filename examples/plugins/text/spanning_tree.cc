// MaxSpanningTree(num_nodes [batch] int32, scores [batch, m, m] T) -> max_scores [batch] T,
//     argmax_sources [batch, m] int32
//
// The tree over all nodes with the highest sum of scores, where scores[target, source] is that of
// an arc and scores[node, node] that of a root. A score that is no finite number says that there is
// no such arc. argmax_sources[node] is where the node's arc comes from, the node itself for the
// root, and -1 behind the graph's nodes. With |forest| there may be several roots.
//
// The search is Tarjan's (Finding Optimum Branchings, 1977): each node takes its best arc, and
// nodes that form a cycle become one, whose arcs are worth what they gain over the arc that they
// would replace. Roots are arcs from a node 0. Sums are compared first by the number of roots, so
// that a tree wins over every forest, and then by score.
#include <algorithm>
#include <cmath>

#include "kernel.hpp"

namespace text {
namespace {

// Sets of nodes, each known by one of them.
class Sets {
 public:
  explicit Sets(size_t count) : parents_(count) {
    for (size_t i = 0; i < count; ++i) parents_[i] = i;
  }
  size_t find(size_t node) {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }
  // The set of |node| joins that of |other|.
  void join(size_t node, size_t other) { parents_[find(node)] = find(other); }

 private:
  std::vector<size_t> parents_;
};

// Sums of int32 are exact in int64.
template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, int32_t>, int64_t, double>;

template <typename T>
class Solver {
 public:
  // Nodes are 1 to |count|; those that stand for a cycle come behind.
  Solver(size_t count, bool makes_forest)
      : count_(count),
        makes_forest_(makes_forest),
        arcs_(count + 1, std::vector<Arc>(count + 1)),
        best_(count + 1),
        within_(count + 1, 0),
        cycles_(2 * count + 1),
        trees_(2 * count + 1) {}

  void add(size_t source, size_t target, T score) {
    arcs_[target][source] = {makes_forest_ || source != 0 ? 0 : -1, static_cast<Sum<T>>(score),
                             source, target};
  }

  // Where the arc of node i + 1 comes from.
  std::vector<size_t> solve() {
    for (size_t node = 1; node < arcs_.size(); ++node) choose(node);
    expand();
    std::vector<size_t> sources;
    size_t roots = 0;
    for (size_t node = 1; node <= count_; ++node) {
      sources.push_back(best_[node].source);
      roots += best_[node].source == 0;
    }
    if (!makes_forest_ && roots != 1) fail();
    return sources;
  }

 private:
  struct Arc {
    int64_t roots = 0;  // -1 for a root of a tree, and what that loses in a cycle
    Sum<T> score = 0;
    size_t source = 0, target = 0;  // as they were given; target 0: there is none
    bool is_better_than(const Arc& other) const {
      return roots != other.roots ? roots > other.roots : score > other.score;
    }
  };

  [[noreturn]] static void fail() {
    throw Failure{TF_FAILED_PRECONDITION,
                  "scores has no tree over all nodes, must have one (Infeasible digraph)"};
  }

  // The node takes its best arc; where that closes a cycle, a new node stands for it.
  void choose(size_t node) {
    const Arc* best = nullptr;
    for (const Arc& arc : arcs_[node]) {
      if (arc.target == 0) continue;
      if (!best || !best->is_better_than(arc)) best = &arc;
    }
    if (!best) fail();
    best_[node] = *best;
    if (best->source == 0) return;
    if (trees_.find(best->source) != trees_.find(node)) {
      trees_.join(node, best->source);
    } else {
      contract(node);
    }
  }

  void contract(size_t first) {
    const size_t cycle = arcs_.size();
    std::vector<size_t> nodes;
    for (size_t node = first;;) {
      nodes.push_back(node);
      node = cycles_.find(best_[node].source);
      if (node == first) break;
    }
    arcs_.emplace_back(count_ + 1);
    best_.emplace_back();
    within_.push_back(0);
    trees_.join(cycle, first);
    for (size_t node : nodes) {
      within_[node] = cycle;
      cycles_.join(node, cycle);
    }
    for (size_t node : nodes) {
      const Arc replaced = best_[node];
      for (const Arc& arc : arcs_[node]) {
        if (arc.target == 0 || cycles_.find(arc.source) == cycle) continue;
        const Arc gain = {arc.roots - replaced.roots, arc.score - replaced.score, arc.source,
                          arc.target};
        Arc& other = arcs_[cycle][arc.source];
        if (other.target == 0 || gain.is_better_than(other)) other = gain;
      }
      std::vector<Arc>().swap(arcs_[node]);  // the cycle has them now
    }
  }

  // Opens the cycles, the last made first: the arc into a cycle replaces the arc of the node that
  // it leads to, in this cycle and in those within it that have the node.
  void expand() {
    std::vector<bool> is_open(best_.size(), false);
    for (size_t cycle = best_.size() - 1; cycle > count_; --cycle) {
      if (is_open[cycle]) continue;
      const Arc arc = best_[cycle];
      for (size_t node = within_[arc.target]; node != cycle; node = within_[node]) {
        is_open[node] = true;
      }
      best_[arc.target] = arc;
    }
  }

  size_t count_;
  bool makes_forest_;
  std::vector<std::vector<Arc>> arcs_;  // of each node, by source
  std::vector<Arc> best_;
  std::vector<size_t> within_;  // the cycle that a node became a part of, or 0
  Sets cycles_;                 // a set is the nodes that became one
  Sets trees_;                  // a set is joined by arcs that were taken
};

template <typename T>
class MaxSpanningTree {
 public:
  explicit MaxSpanningTree(const Attributes& attributes)
      : makes_forest_(attributes.flag("forest")) {}

  void run(Run& run) const {
    const Input &counts = run.input(0), &scores = run.input(1);
    counts.must_have_rank(1);
    scores.must_have_rank(3);
    const int64_t batch = scores.dim(0), side = scores.dim(1);
    if (counts.count() != batch) {
      refuse("num_nodes has " + std::to_string(counts.count()) + " elements, must have " +
             std::to_string(batch) + ", the number of graphs");
    }
    if (scores.dim(2) != side) {
      refuse("scores has " + std::to_string(side) + " rows and " + std::to_string(scores.dim(2)) +
             " columns, must have as many of both");
    }
    T* sums = run.allocate<T>(0, {batch});
    int32_t* sources = run.allocate<int32_t>(1, {batch, side});
    for (int64_t i = 0; i < batch; ++i) {
      const int32_t count = counts.data<int32_t>()[i];
      if (count < 1 || count > side) {
        refuse("num_nodes[" + std::to_string(i) + "] is " + std::to_string(count) +
               ", must be between 1 and " + std::to_string(side));
      }
      sums[i] = solve(scores.data<T>() + i * side * side, side, count, sources + i * side);
    }
  }

 private:
  T solve(const T* scores, int64_t side, int32_t count, int32_t* out) const {
    Solver<T> solver(static_cast<size_t>(count), makes_forest_);
    for (int32_t target = 0; target < count; ++target) {
      for (int32_t source = 0; source < count; ++source) {
        const T score = scores[target * side + source];
        if (!std::isfinite(static_cast<double>(score))) continue;
        const size_t from = source == target ? 0 : static_cast<size_t>(source) + 1;
        solver.add(from, static_cast<size_t>(target) + 1, score);
      }
    }
    const std::vector<size_t> sources = solver.solve();
    std::fill(out, out + side, -1);
    std::conditional_t<std::is_same_v<T, int32_t>, int64_t, T> sum = 0;
    for (int32_t node = 0; node < count; ++node) {
      const size_t source = sources[static_cast<size_t>(node)];
      out[node] = source == 0 ? node : static_cast<int32_t>(source - 1);
      sum += scores[node * side + out[node]];
    }
    if (std::is_same_v<T, int32_t> && sum != static_cast<T>(sum)) {
      refuse("scores adds up to " + std::to_string(sum) + ", must be an int32");
    }
    return static_cast<T>(sum);
  }

  bool makes_forest_;
};

}  // namespace

void register_spanning_tree() {
  register_op({"MaxSpanningTree",
               {"num_nodes: int32", "scores: T"},
               {"max_scores: T", "argmax_sources: int32"},
               {"T: {int32, float, double}", "forest: bool = false"},
               of_ranks<1, 3>});
  register_kernel<MaxSpanningTree<int32_t>>("MaxSpanningTree", {{"T", TF_INT32}});
  register_kernel<MaxSpanningTree<float>>("MaxSpanningTree", {{"T", TF_FLOAT}});
  register_kernel<MaxSpanningTree<double>>("MaxSpanningTree", {{"T", TF_DOUBLE}});
}

}  // namespace text
