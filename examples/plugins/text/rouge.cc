// RougeL(hyp_values, hyp_splits [rows + 1], ref_values, ref_splits [rows + 1], alpha)
//   -> f_measure, p_measure, r_measure [rows] float
//
// ROUGE-L (Lin 2004) compares a hypothesis with a reference by their longest common subsequence: P
// is its length over the hypothesis's, R over the reference's, and F their mean weighted by |alpha|
// (0.5: the harmonic mean); with a negative |alpha| F is as tensor2tensor has it, with beta = P /
// R.
#include <algorithm>

#include "kernel.hpp"

namespace text {
namespace {

// The elements of an input of one type, numbers or strings, to compare.
template <typename T>
class Values {
 public:
  explicit Values(const Input& input) : input_(input) {}
  auto operator[](int64_t i) const {
    if constexpr (std::is_same_v<T, TF_TString>) {
      return input_.text(i);
    } else {
      return input_.data<T>()[i];
    }
  }

 private:
  const Input& input_;
};

// The length of the longest common subsequence of a[a_begin, a_end) and b[b_begin, b_end): one row
// of the table at a time, for each element of |a|.
template <typename T>
int64_t common(const Values<T>& a, int64_t a_begin, int64_t a_end, const Values<T>& b,
               int64_t b_begin, int64_t b_end) {
  std::vector<int64_t> row(static_cast<size_t>(b_end - b_begin) + 1, 0);
  for (int64_t i = a_begin; i < a_end; ++i) {
    int64_t diagonal = 0;
    for (int64_t j = b_begin; j < b_end; ++j) {
      int64_t& cell = row[static_cast<size_t>(j - b_begin) + 1];
      const int64_t above = cell;
      cell = a[i] == b[j] ? diagonal + 1
                          : std::max(above, row[static_cast<size_t>(j - b_begin)]);
      diagonal = above;
    }
  }
  return row.back();
}

float f_measure(float p, float r, float alpha) {
  if (alpha < 0) {
    const float beta = static_cast<float>(p / (r + 1e-12));
    const float denominator = r + beta * beta * p;
    return denominator > 0 ? (1 + beta * beta) * r * p / denominator : 0;
  }
  const float denominator = alpha * r + (1 - alpha) * p;
  return denominator > 0 ? p * r / denominator : denominator;
}

template <typename Splits, typename T>
class RougeL {
 public:
  explicit RougeL(const Attributes&) {}
  void run(Run& run) const {
    const Input &hypotheses = run.input(0), &references = run.input(2);
    const Input &hypothesis_splits = run.input(1), &reference_splits = run.input(3);
    const float alpha = run.input(4).scalar<float>();
    if (!(alpha <= 1)) refuse("alpha is " + std::to_string(alpha) + ", must be at most 1");
    hypotheses.must_have_rank(1);
    references.must_have_rank(1);
    check_splits<Splits>(hypothesis_splits, hypotheses.count());
    check_splits<Splits>(reference_splits, references.count());
    if (hypothesis_splits.count() != reference_splits.count()) {
      refuse("ref_splits has " + std::to_string(reference_splits.count()) +
             " elements, must have " + std::to_string(hypothesis_splits.count()) +
             " as hyp_splits");
    }
    const Splits *h = hypothesis_splits.data<Splits>(), *r = reference_splits.data<Splits>();
    const Values<T> hypothesis(hypotheses), reference(references);
    std::vector<float> fs, ps, rs;
    for (int64_t i = 0; i + 1 < hypothesis_splits.count(); ++i) {
      const float length = static_cast<float>(
          common(hypothesis, h[i], h[i + 1], reference, r[i], r[i + 1]));
      // The small number keeps empty texts from dividing by zero.
      const float p = static_cast<float>(length / (static_cast<float>(h[i + 1] - h[i]) + 1e-12));
      const float recall =
          static_cast<float>(length / (static_cast<float>(r[i + 1] - r[i]) + 1e-12));
      fs.push_back(f_measure(p, recall, alpha));
      ps.push_back(p);
      rs.push_back(recall);
    }
    run.output(0, fs);
    run.output(1, ps);
    run.output(2, rs);
  }
};

template <typename T>
void register_values(TF_DataType type) {
  register_kernel<RougeL<int32_t, T>>("RougeL", {{"Tsplits", TF_INT32}, {"Tvalues", type}});
  register_kernel<RougeL<int64_t, T>>("RougeL", {{"Tsplits", TF_INT64}, {"Tvalues", type}});
}

}  // namespace

void register_rouge() {
  register_op({"RougeL",
               {"hyp_values: Tvalues", "hyp_splits: Tsplits", "ref_values: Tvalues",
                "ref_splits: Tsplits", "alpha: float"},
               {"f_measure: float", "p_measure: float", "r_measure: float"},
               {"Tsplits: {int32, int64} = DT_INT64", "Tvalues: type"},
               of_ranks<1, 1, 1, 1, 0>});
  register_values<int32_t>(TF_INT32);
  register_values<int64_t>(TF_INT64);
  register_values<TF_TString>(TF_STRING);
}

}  // namespace text
