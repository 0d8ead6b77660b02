// A language model of the Penn Treebank: words become vectors, an LSTM reads them, a softmax tells
// the next word. The LSTM is unrolled over the words of a step, its state is fed from step to step.
//
//   cpp_ptb --data FOLDER --hidden 200 --epochs 4
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
  int words, hidden, batch, steps;
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

struct Model {
  Output words, targets;  // int32 [batch, steps]
  Output c, h;            // the state before, [batch, hidden], fed
  Output next_c, next_h;  // and behind
  Output loss;            // the mean over all words
  Operation train;
};

Model build(const Scope& scope, const Size& size) {
  Model model;
  const auto placeholder = [&](const char* name, DataType dtype, int columns) {
    return Placeholder(scope.with_op_name(name), dtype, Placeholder::Shape({size.batch, columns}));
  };
  model.words = placeholder("words", DT_INT32, size.steps);
  model.targets = placeholder("targets", DT_INT32, size.steps);
  model.c = placeholder("c", DT_FLOAT, size.hidden);
  model.h = placeholder("h", DT_FLOAT, size.hidden);
  const Initializer first = random_uniform(-0.1, 0.1, 1);
  const Var embedding(scope.with_op_name("embedding"), {size.words, size.hidden}, first);
  const Var gates_w(scope.with_op_name("gates_w"), {2 * size.hidden, 4 * size.hidden}, first);
  const Var gates_b(scope.with_op_name("gates_b"), {4 * size.hidden}, zeros());
  const Var softmax_w(scope.with_op_name("softmax_w"), {size.hidden, size.words}, first);
  const Var softmax_b(scope.with_op_name("softmax_b"), {size.words}, zeros());

  const Output inputs = GatherV2(scope, embedding, model.words, 0);
  const auto steps = Unpack(scope, inputs, size.steps, Unpack::Axis(1));
  Output c = model.c, h = model.h;
  std::vector<Output> outputs;
  for (int i = 0; i < size.steps; ++i) {
    const Scope cell = scope.sub_scope("cell");
    const auto joined = ConcatV2(cell, {steps[static_cast<std::size_t>(i)], h}, 1);
    const auto gates = BiasAdd(cell, MatMul(cell, joined, gates_w), gates_b);
    const auto parts = Split(cell, 1, gates, 4);  // input, new value, forget, output
    const auto kept = Mul(cell, c, Sigmoid(cell, Add(cell, parts[2], 1.f)));
    const auto added = Mul(cell, Sigmoid(cell, parts[0]), Tanh(cell, parts[1]));
    c = Add(cell, kept, added);
    h = Mul(cell, Tanh(cell, c), Sigmoid(cell, parts[3]));
    outputs.push_back(h);
  }
  model.next_c = c;
  model.next_h = h;
  const auto rows = Reshape(scope, Pack(scope, outputs, Pack::Axis(1)), {-1, size.hidden});
  const auto logits = BiasAdd(scope, MatMul(scope, rows, softmax_w), softmax_b);
  const auto losses = SparseSoftmaxCrossEntropyWithLogits(scope, logits,
                                                          Reshape(scope, model.targets, {-1}));
  model.loss = Mean(scope, losses.loss, {0});

  // The derivatives together are no longer than 5.
  std::vector<Update> updates;
  std::vector<Output> handles, squares;
  const auto variables = scope.graph().variables();
  for (const auto& variable : variables) handles.push_back(variable.handle);
  const auto found = gradients(scope, {model.loss}, handles);
  for (const Output& one : found) squares.push_back(L2Loss(scope, one));
  const auto norm = Sqrt(scope, Mul(scope, AddN(scope, squares), 2.f));
  const auto factor = Div(scope, 5.f, Maximum(scope, norm, 5.f));
  for (std::size_t i = 0; i < found.size(); ++i) {
    updates.emplace_back(variables[i], Derivative{Mul(scope, found[i], factor), {}, {}});
  }
  model.train = apply_gradients(scope, adam(0.002), updates);
  return model;
}

/// One pass over the text; the perplexity of its words.
double pass(const Session& session, const Model& model, const Size& size,
            const std::vector<std::int32_t>& text, bool learn) {
  const std::size_t row = text.size() / static_cast<std::size_t>(size.batch);
  const auto steps = static_cast<std::size_t>(size.steps);
  Tensor c(DT_FLOAT, {size.batch, size.hidden}), h(DT_FLOAT, {size.batch, size.hidden});
  double sum = 0;
  int count = 0;
  for (std::size_t first = 0; first + steps < row; first += steps, ++count) {
    Tensor words(DT_INT32, {size.batch, size.steps}), targets(DT_INT32, {size.batch, size.steps});
    for (int b = 0; b < size.batch; ++b) {
      for (std::size_t i = 0; i < steps; ++i) {
        const std::size_t at = static_cast<std::size_t>(b) * row + first + i;
        words.at<std::int32_t>(b, i) = text[at];
        targets.at<std::int32_t>(b, i) = text[at + 1];
      }
    }
    const auto values = session.run(
        {{model.words, words}, {model.targets, targets}, {model.c, c}, {model.h, h}},
        {model.loss, model.next_c, model.next_h}, learn ? Targets{model.train} : Targets{});
    sum += values[0].scalar<float>();
    c = values[1];
    h = values[2];
  }
  return count ? std::exp(sum / count) : 0;
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
  const Size size = {flags.smoke() ? 7 : static_cast<int>(vocabulary.size()),
                     flags.number("--hidden", flags.smoke() ? 16 : 200), flags.smoke() ? 5 : 20,
                     flags.smoke() ? 8 : 20};
  Scope scope;
  const Model model = build(scope, size);
  Session session(scope);
  session.run_targets({initialize_variables(scope)});
  double perplexity = 0;
  const int epochs = flags.number("--epochs", flags.smoke() ? 8 : 4);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const double seen = pass(session, model, size, text, true);
    perplexity = pass(session, model, size, valid, false);
    std::printf("epoch %d: perplexity %.1f, of the other text %.1f\n", epoch, seen, perplexity);
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
