// A language model of the Penn Treebank: words become vectors, two layers of LSTM read them, a
// softmax tells the next word. It is the small model of examples/python/ptb_lstm.py: 20 columns of
// text are read side by side, 20 words a step; the layers are unrolled over the words of a step,
// and their state is fed from step to step.
//
//   cpp_ptb --data FOLDER --epochs 13
//
// FOLDER has ptb.train.txt and ptb.valid.txt. --smoke learns a text that repeats itself.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>

#include "flags.hpp"
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/index.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "leat/ops/nn.hpp"

using namespace leat;
using namespace leat::ops;

namespace {

struct Size {
  int words, hidden, layers, batch, steps;
};

/// Words become numbers; new ones get one while |vocabulary| is learnt.
std::vector<std::int32_t> read_text(const std::string& path, std::map<std::string, int>& vocabulary,
                                    bool learn) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<std::int32_t> text;
  for (std::string line, word; std::getline(file, line);) {
    line += " <eos>";
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      word = line.substr(at, end - at);
      at = end + 1;
      if (word.empty()) continue;
      if (learn) vocabulary.emplace(word, static_cast<int>(vocabulary.size()));
      const auto known = vocabulary.find(word);
      text.push_back(known == vocabulary.end() ? vocabulary["<unk>"] : known->second);
    }
  }
  return text;
}

/// What a layer hands from word to word: its cell and its output, [batch, hidden].
struct State {
  Output c, h;
};

struct Model {
  Output words, targets;             // int32 [batch, steps]
  Output rate;                       // of learning, a scalar
  std::vector<State> before, after;  // a state for each layer; those before are fed
  Output loss;                       // the cross entropy of a column's words, their sum
  Operation train;
};

/// One word through one layer. |w| is [2 * hidden, 4 * hidden], |x| is [batch, hidden].
State lstm(const Scope& scope, const Output& x, const State& before, const Var& w, const Var& b) {
  const auto gates = BiasAdd(scope, MatMul(scope, ConcatV2(scope, {x, before.h}, 1), w), b);
  const auto parts = Split(scope, 1, gates, 4);  // input, new value, forget, output
  const auto kept = Mul(scope, before.c, Sigmoid(scope, parts[2]));
  const auto added = Mul(scope, Sigmoid(scope, parts[0]), Tanh(scope, parts[1]));
  const Output c = Add(scope, kept, added);
  return {c, Mul(scope, Tanh(scope, c), Sigmoid(scope, parts[3]))};
}

/// Gradient descent by derivatives that together are no longer than 5.
Operation descend(const Scope& scope, const Output& loss, const Output& rate) {
  const auto variables = scope.graph().variables();
  std::vector<Output> handles, squares;
  for (const auto& variable : variables) handles.push_back(variable.handle);
  const auto slopes = derivatives(scope, {loss}, handles);
  for (const Derivative& slope : slopes) squares.push_back(L2Loss(scope, slope.values));
  const auto norm = Sqrt(scope, Mul(scope, AddN(scope, squares), 2.f));
  const auto factor = Div(scope, 5.f, Maximum(scope, norm, 5.f));
  std::vector<Update> updates;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    Derivative clipped = slopes[i];
    clipped.values = Mul(scope, clipped.values, factor);
    updates.emplace_back(variables[i], clipped);
  }
  return apply_gradients(scope, sgd(rate), updates);
}

Model build(const Scope& scope, const Size& size) {
  Model model;
  const auto placeholder = [&](const std::string& name, DataType dtype, int columns) {
    return Placeholder(scope.with_op_name(name), dtype, Placeholder::Shape({size.batch, columns}));
  };
  int seed = 0;
  const auto variable = [&](const std::string& name, const TensorShape& shape) {
    return Var(scope.with_op_name(name), shape, random_uniform(-0.1, 0.1, ++seed));
  };
  model.words = placeholder("words", DT_INT32, size.steps);
  model.targets = placeholder("targets", DT_INT32, size.steps);
  model.rate = Placeholder(scope.with_op_name("rate"), DT_FLOAT, Placeholder::Shape({}));

  const Var embedding = variable("embedding", {size.words, size.hidden});
  const auto inputs = GatherV2(scope, embedding, model.words, 0);  // [batch, steps, hidden]
  std::vector<Output> rows = Unpack(scope, inputs, size.steps, Unpack::Axis(1)).output;
  for (int i = 0; i < size.layers; ++i) {
    const std::string layer = "layer" + std::to_string(i);
    const Var w = variable(layer + "_w", {2 * size.hidden, 4 * size.hidden});
    const Var b(scope.with_op_name(layer + "_b"), {4 * size.hidden}, zeros());
    State state = {placeholder(layer + "_c", DT_FLOAT, size.hidden),
                   placeholder(layer + "_h", DT_FLOAT, size.hidden)};
    model.before.push_back(state);
    for (Output& row : rows) {
      state = lstm(scope.sub_scope(layer), row, state, w, b);
      row = state.h;
    }
    model.after.push_back(state);
  }
  const Var softmax_w = variable("softmax_w", {size.hidden, size.words});
  const Var softmax_b = variable("softmax_b", {size.words});
  const auto all = Reshape(scope, Pack(scope, rows, Pack::Axis(1)), {-1, size.hidden});
  const auto logits = BiasAdd(scope, MatMul(scope, all, softmax_w), softmax_b);
  const auto losses = SparseSoftmaxCrossEntropyWithLogits(scope, logits,
                                                          Reshape(scope, model.targets, {-1}));
  model.loss = Div(scope, Sum(scope, losses.loss, {0}), static_cast<float>(size.batch));
  model.train = descend(scope, model.loss, model.rate);
  return model;
}

/// One pass over the text, learning where |rate| is not 0; the perplexity of its words.
double pass(const Session& session, const Model& model, const Size& size,
            const std::vector<std::int32_t>& text, float rate) {
  const std::size_t row = text.size() / static_cast<std::size_t>(size.batch);
  const auto steps = static_cast<std::size_t>(size.steps);
  Feeds feeds = {{model.words, Tensor()}, {model.targets, Tensor()}, {model.rate, rate}};
  Fetches fetches = {model.loss};
  for (const State& state : model.before) {
    feeds.emplace_back(state.c, Tensor(DT_FLOAT, {size.batch, size.hidden}));
    feeds.emplace_back(state.h, Tensor(DT_FLOAT, {size.batch, size.hidden}));
  }
  for (const State& state : model.after) {
    fetches.push_back(state.c);
    fetches.push_back(state.h);
  }
  const Targets targets = rate != 0 ? Targets{model.train} : Targets{};
  double sum = 0;
  int count = 0;
  for (std::size_t first = 0; first + steps < row; first += steps) {
    Tensor words(DT_INT32, {size.batch, size.steps}), next(DT_INT32, {size.batch, size.steps});
    for (int b = 0; b < size.batch; ++b) {
      for (std::size_t i = 0; i < steps; ++i) {
        const std::size_t at = static_cast<std::size_t>(b) * row + first + i;
        words.at<std::int32_t>(b, i) = text[at];
        next.at<std::int32_t>(b, i) = text[at + 1];
      }
    }
    feeds[0].value = words;
    feeds[1].value = next;
    const auto values = session.run(feeds, fetches, targets);
    sum += values[0].scalar<float>();
    for (std::size_t i = 1; i < values.size(); ++i) feeds[i + 2].value = values[i];
    if (++count % 500 == 0 && rate != 0) {
      std::printf("  step %d: perplexity %.2f\n", count, std::exp(sum / (count * size.steps)));
      std::fflush(stdout);
    }
  }
  return count ? std::exp(sum / (count * size.steps)) : 0;
}

int train(const Flags& flags) {
  std::map<std::string, int> vocabulary;
  std::vector<std::int32_t> text, valid;
  if (flags.smoke()) {
    for (int i = 0; i < 1000; ++i) text.push_back(i % 7);
    valid = text;
  } else {
    const std::string folder = flags.data("ptb");
    text = read_text(folder + "/ptb.train.txt", vocabulary, true);
    valid = read_text(folder + "/ptb.valid.txt", vocabulary, false);
  }
  Size size = {static_cast<int>(vocabulary.size()), flags.number("--hidden", 200), 2, 20, 20};
  if (flags.smoke()) size = {7, 16, 2, 5, 8};
  Scope scope;
  const Model model = build(scope, size);
  Session session(scope, SessionOptions().config(flags.session_config()));
  session.run_targets({initialize_variables(scope)});
  double perplexity = 0;
  const int epochs = flags.number("--epochs", flags.smoke() ? 8 : 13);
  float rate = 1;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    if (epoch > 4) rate /= 2;
    const double seen = pass(session, model, size, text, rate);
    perplexity = pass(session, model, size, valid, 0);
    std::printf("epoch %d: rate %g, train perplexity %.2f, valid %.2f\n", epoch, rate, seen,
                perplexity);
    std::fflush(stdout);
  }
  return flags.smoke() && perplexity > 2 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return train(Flags(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
