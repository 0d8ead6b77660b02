// ConstrainedSequence(scores [batch, steps, states] or [steps, states], sequence_lengths [batch],
//     allowed_transitions, transition_weights) -> states [sum of the lengths], states_splits
//
// The best sequence of states for each row of scores: with |use_viterbi| the one with the highest
// total, otherwise the one that takes the best state at each step. Totals are sums with
// |use_log_space|, otherwise products, which Viterbi's search scales at each step so that they do
// not vanish. |allowed_transitions| and |transition_weights| are matrices from state to state, or
// empty; with |use_start_and_end_states| they have one more row and column, for what lies before
// the first step and behind the last. Where nothing is allowed, the state is -1. Of equal totals
// the last state wins.
#include <algorithm>
#include <limits>

#include "kernel.hpp"

namespace text {
namespace {

constexpr int32_t kNone = -1;
constexpr float kLowest = std::numeric_limits<float>::lowest();

// A matrix from state to state, or nothing.
template <typename T>
class Transitions {
 public:
  Transitions(const Input& input, int64_t side) : data_(input.data<T>()), side_(side) {
    if (input.count() == 0) {
      data_ = nullptr;
      return;
    }
    input.must_have_rank(2);
    for (int i = 0; i < 2; ++i) {
      if (input.dim(i) == side) continue;
      refuse(std::string(input.name()) + " has " + std::to_string(input.dim(i)) +
             (i == 0 ? " rows" : " columns") + ", must have " + std::to_string(side));
    }
  }
  explicit operator bool() const { return data_ != nullptr; }
  T operator()(int64_t from, int64_t to) const { return data_[from * side_ + to]; }

 private:
  const T* data_;
  int64_t side_;
};

// What the search for one sequence knows.
struct Problem {
  const float* scores;  // [steps, state_count]
  int64_t steps, state_count;
  Transitions<bool> allowed;
  Transitions<float> weights;
  bool uses_log_space, uses_ends;

  int64_t outside() const { return state_count; }
  float score(int64_t step, int64_t state) const { return scores[step * state_count + state]; }
  bool is_allowed(int64_t from, int64_t to) const { return !allowed || allowed(from, to); }
  float add(float total, double more) const {
    return static_cast<float>(uses_log_space ? total + more : total * more);
  }
  float add_weight(float total, int64_t from, int64_t to) const {
    return weights ? add(total, weights(from, to)) : total;
  }
};

void search_greedily(const Problem& p, int32_t* out) {
  for (int64_t step = 0; step < p.steps; ++step) {
    const int64_t previous = step == 0 ? p.outside() : out[step - 1];
    const bool is_last = step == p.steps - 1 && p.uses_ends;
    out[step] = kNone;
    if (previous == kNone) continue;
    float best = kLowest;
    for (int64_t state = 0; state < p.state_count; ++state) {
      float total = p.score(step, state);
      if (p.uses_ends || step > 0) {
        if (!p.is_allowed(previous, state)) continue;
        if (is_last && !p.is_allowed(state, p.outside())) continue;
        total = p.add_weight(total, previous, state);
        if (is_last) total = p.add_weight(total, state, p.outside());
      }
      if (total >= best) {
        best = total;
        out[step] = static_cast<int32_t>(state);
      }
    }
  }
}

// Viterbi's search: for each step and state the best total of a sequence that ends there, and from
// which state it comes.
class Viterbi {
 public:
  explicit Viterbi(const Problem& p)
      : p_(p),
        totals_(static_cast<size_t>(p.state_count), kLowest),
        from_(static_cast<size_t>(p.steps),
              std::vector<int64_t>(static_cast<size_t>(p.state_count), kNone)) {}

  void search(int32_t* out) {
    if (p_.steps == 0) return;
    begin();
    for (int64_t step = 1; step < p_.steps; ++step) advance(step);
    int64_t state = end();
    for (int64_t step = p_.steps - 1; step >= 0; --step) {
      out[step] = static_cast<int32_t>(state);
      if (state != kNone) state = from_[static_cast<size_t>(step)][static_cast<size_t>(state)];
    }
  }

 private:
  void begin() {
    for (int64_t state = 0; state < p_.state_count; ++state) {
      float total = p_.score(0, state);
      if (p_.uses_ends) {
        if (!p_.is_allowed(p_.outside(), state)) continue;
        total = p_.add_weight(total, p_.outside(), state);
      }
      from_[0][static_cast<size_t>(state)] = p_.outside();
      totals_[static_cast<size_t>(state)] = total;
    }
    scale();
  }

  void advance(int64_t step) {
    const std::vector<int64_t>& reached = from_[static_cast<size_t>(step - 1)];
    std::vector<double> totals(totals_.size(), kLowest);
    for (int64_t state = 0; state < p_.state_count; ++state) {
      float best = kLowest;
      for (int64_t previous = 0; previous < p_.state_count; ++previous) {
        if (reached[static_cast<size_t>(previous)] == kNone) continue;
        if (!p_.is_allowed(previous, state)) continue;
        float total = p_.add(p_.score(step, state), totals_[static_cast<size_t>(previous)]);
        total = p_.add_weight(total, previous, state);
        if (total < best || total != total) continue;
        best = total;
        from_[static_cast<size_t>(step)][static_cast<size_t>(state)] = previous;
      }
      totals[static_cast<size_t>(state)] = best;
    }
    totals_.swap(totals);
    scale();
  }

  // The state in which the best sequence ends.
  int64_t end() const {
    int64_t best_state = kNone;
    float best = kLowest;
    for (int64_t state = 0; state < p_.state_count; ++state) {
      if (from_.back()[static_cast<size_t>(state)] == kNone) continue;
      if (p_.uses_ends && !p_.is_allowed(state, p_.outside())) continue;
      float total = static_cast<float>(totals_[static_cast<size_t>(state)]);
      if (p_.uses_ends) total = p_.add_weight(total, state, p_.outside());
      if (total < best || total != total) continue;
      best = total;
      best_state = state;
    }
    return best_state;
  }

  void scale() {
    if (p_.uses_log_space || totals_.empty()) return;
    const double highest = *std::max_element(totals_.begin(), totals_.end());
    if (highest <= 0) return;
    for (double& total : totals_) total /= highest;
  }

  const Problem& p_;
  std::vector<double> totals_;
  std::vector<std::vector<int64_t>> from_;
};

template <typename Length, typename Splits>
class ConstrainedSequence {
 public:
  explicit ConstrainedSequence(const Attributes& attributes)
      : uses_viterbi_(attributes.flag("use_viterbi")),
        uses_log_space_(attributes.flag("use_log_space")),
        uses_ends_(attributes.flag("use_start_and_end_states")) {}

  void run(Run& run) const {
    const Input &scores = run.input(0), &lengths = run.input(1);
    const int rank = scores.rank();
    if (rank != 2 && rank != 3) {
      refuse("scores has rank " + std::to_string(rank) + ", must have rank 2 or 3");
    }
    const int64_t batch = rank == 3 ? scores.dim(0) : 1;
    const int64_t steps = scores.dim(rank - 2), states = scores.dim(rank - 1);
    if (lengths.count() != batch) {
      refuse("sequence_lengths has " + std::to_string(lengths.count()) +
             " elements, must have one for each of the " + std::to_string(batch) + " sequences");
    }
    const int64_t side = uses_ends_ ? states + 1 : states;
    const Transitions<bool> allowed(run.input(2), side);
    const Transitions<float> weights(run.input(3), side);
    if (weights && !uses_log_space_) check_weights(run.input(3));
    const std::vector<Splits> splits = splits_of(lengths, steps);
    int32_t* out = run.allocate<int32_t>(0, {static_cast<int64_t>(splits.back())});
    for (int64_t i = 0; i < batch; ++i) {
      const int64_t begin = splits[static_cast<size_t>(i)];
      const Problem problem = {scores.data<float>() + i * steps * states,
                               splits[static_cast<size_t>(i) + 1] - begin,
                               states,
                               allowed,
                               weights,
                               uses_log_space_,
                               uses_ends_};
      if (uses_viterbi_) {
        Viterbi(problem).search(out + begin);
      } else {
        search_greedily(problem, out + begin);
      }
    }
    run.output(1, splits);
  }

 private:
  // Products of negative weights have no order.
  static void check_weights(const Input& weights) {
    for (int64_t i = 0; i < weights.count(); ++i) {
      const float weight = weights.data<float>()[i];
      if (!(weight >= 0)) {
        refuse("transition_weights holds " + std::to_string(weight) +
               ", must hold no negative number where use_log_space is false");
      }
    }
  }

  static std::vector<Splits> splits_of(const Input& lengths, int64_t steps) {
    std::vector<Splits> splits = {0};
    for (int64_t i = 0; i < lengths.count(); ++i) {
      const int64_t length = lengths.data<Length>()[i];
      if (length < 0 || length > steps) {
        refuse("sequence_lengths[" + std::to_string(i) + "] is " + std::to_string(length) +
               ", must be between 0 and the number of steps, " + std::to_string(steps));
      }
      Splits next;
      if (__builtin_add_overflow(splits.back(), length, &next)) {
        refuse("sequence_lengths adds up to more than Tsplits holds");
      }
      splits.push_back(next);
    }
    return splits;
  }

  bool uses_viterbi_, uses_log_space_, uses_ends_;
};

template <typename Length, typename Splits>
void register_lengths() {
  register_kernel<ConstrainedSequence<Length, Splits>>(
      "ConstrainedSequence", {{"Tin", kType<Length>}, {"Tsplits", kType<Splits>}});
}

}  // namespace

void register_constrained_sequence() {
  register_op({"ConstrainedSequence",
               {"scores: float", "sequence_lengths: Tin", "allowed_transitions: bool",
                "transition_weights: float"},
               {"states: int32", "states_splits: Tsplits"},
               {"Tin: {int32, int64}", "Tsplits: {int32, int64} = DT_INT64", "use_viterbi: bool",
                "use_log_space: bool", "use_start_and_end_states: bool"},
               of_ranks<>});
  register_lengths<int32_t, int32_t>();
  register_lengths<int32_t, int64_t>();
  register_lengths<int64_t, int32_t>();
  register_lengths<int64_t, int64_t>();
}

}  // namespace text
