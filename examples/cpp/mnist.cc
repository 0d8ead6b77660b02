// Handwritten digits, by a softmax regression or a small convolutional network.
//
//   cpp_mnist --model cnn --data FOLDER --steps 1500
//
// FOLDER has MNIST's four files, gzipped. The network reaches 98.5 % after two passes over the
// training images. --smoke trains a few steps on digits that are drawn here.
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <vector>

#include "flags.hpp"
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "leat/ops/nn.hpp"

using namespace leat;
using namespace leat::ops;

namespace {

constexpr int kPixels = 28 * 28, kClasses = 10;

struct Digits {
  std::vector<float> images;  // [count, 28, 28], 0 to 1
  std::vector<std::int32_t> labels;
  int count() const { return static_cast<int>(labels.size()); }
};

std::vector<unsigned char> read_idx(const std::string& path, std::size_t header) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<unsigned char> bytes, block(1 << 16);
  for (int n; (n = gzread(file, block.data(), 1 << 16)) > 0;) {
    bytes.insert(bytes.end(), block.begin(), block.begin() + n);
  }
  gzclose(file);
  if (bytes.size() < header) throw std::runtime_error(path + " is too short");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

Digits read_digits(const std::string& folder, const std::string& part) {
  Digits digits;
  const auto images = read_idx(folder + "/" + part + "-images-idx3-ubyte.gz", 16);
  const auto labels = read_idx(folder + "/" + part + "-labels-idx1-ubyte.gz", 8);
  if (images.size() != labels.size() * kPixels) throw std::runtime_error("files do not fit");
  digits.labels.assign(labels.begin(), labels.end());
  for (unsigned char pixel : images) digits.images.push_back(static_cast<float>(pixel) / 255);
  return digits;
}

/// Digit d is a bar in the d-th part of a noisy image.
Digits draw_digits(int count, unsigned seed) {
  Digits digits;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> noise(0, 0.5f);
  for (int i = 0; i < count; ++i) {
    const int label = static_cast<int>(random() % kClasses);
    digits.labels.push_back(label);
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      const bool bar = pixel * kClasses / kPixels == label;
      digits.images.push_back(noise(random) + (bar ? 0.5f : 0));
    }
  }
  return digits;
}

/// |count| of them, from |first| on, in the order |order|.
std::pair<Tensor, Tensor> batch(const Digits& digits, const std::vector<int>& order, int first,
                                int count) {
  Tensor images(DT_FLOAT, {count, kPixels}), labels(DT_INT32, {count});
  for (int i = 0; i < count; ++i) {
    const int place = order[static_cast<std::size_t>((first + i) % digits.count())];
    std::copy_n(digits.images.begin() + std::ptrdiff_t{place} * kPixels, kPixels,
                images.span<float>().begin() + std::ptrdiff_t{i} * kPixels);
    labels.span<std::int32_t>()[static_cast<std::size_t>(i)] =
        digits.labels[static_cast<std::size_t>(place)];
  }
  return {images, labels};
}

Output softmax_regression(const Scope& scope, const Output& x) {
  const Var w(scope.with_op_name("w"), {kPixels, kClasses}, zeros());
  const Var b(scope.with_op_name("b"), {kClasses}, zeros());
  return BiasAdd(scope, MatMul(scope, x, w), b);
}

/// 5 x 5 filters, Relu, and the largest of each 2 x 2 window.
Output convolution(const Scope& scope, const Output& x, int in, int out) {
  const Var w(scope.with_op_name("w"), {5, 5, in, out}, he_normal(1));
  const Var b(scope.with_op_name("b"), {out}, constant(0.1));
  const auto y = Conv2D(scope, x, w, {1, 1, 1, 1}, "SAME");
  return MaxPool(scope, Relu(scope, BiasAdd(scope, y, b)), {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
}

Output dense(const Scope& scope, const Output& x, int in, int out) {
  const Var w(scope.with_op_name("w"), {in, out}, glorot_uniform(1));
  const Var b(scope.with_op_name("b"), {out}, zeros());
  return BiasAdd(scope, MatMul(scope, x, w), b);
}

Output convolutional_network(const Scope& scope, const Output& x) {
  Output y = Reshape(scope, x, {-1, 28, 28, 1});
  y = convolution(scope.sub_scope("conv1"), y, 1, 16);
  y = convolution(scope.sub_scope("conv2"), y, 16, 32);
  y = Reshape(scope, y, {-1, 7 * 7 * 32});
  y = Relu(scope, dense(scope.sub_scope("dense1"), y, 7 * 7 * 32, 128));
  return dense(scope.sub_scope("dense2"), y, 128, kClasses);
}

int train(const Flags& flags) {
  const bool cnn = flags.text("--model", "cnn") == "cnn";
  const std::string folder = flags.data("mnist");
  const Digits training = flags.smoke() ? draw_digits(640, 1) : read_digits(folder, "train");
  const Digits test = flags.smoke() ? draw_digits(200, 2) : read_digits(folder, "t10k");

  Scope scope;
  const auto x = Placeholder(scope.with_op_name("x"), DT_FLOAT, Placeholder::Shape({-1, kPixels}));
  const auto y = Placeholder(scope.with_op_name("y"), DT_INT32, Placeholder::Shape({-1}));
  const Output logits = cnn ? convolutional_network(scope, x) : softmax_regression(scope, x);
  const Output loss =
      Mean(scope, SparseSoftmaxCrossEntropyWithLogits(scope, logits, y).loss, {0});
  const Output right = Equal(scope, ArgMax(scope, logits, 1, ArgMax::OutputType(DT_INT32)), y);
  const Output accuracy = Mean(scope, Cast(scope, right, DT_FLOAT), {0});
  const Operation step = minimize(scope, loss, cnn ? adam(0.001) : sgd(0.5));

  Session session(scope, SessionOptions().config(flags.session_config()));
  session.run_targets({initialize_variables(scope)});
  std::mt19937 random(1);
  std::vector<int> order(static_cast<std::size_t>(training.count()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const int steps = flags.number("--steps", flags.smoke() ? 30 : 2000), size = 64;
  for (int i = 0; i < steps; ++i) {
    const int first = i * size % training.count();
    if (first < size) std::shuffle(order.begin(), order.end(), random);
    const auto fed = batch(training, order, first, size);
    const float value =
        session.run({{x, fed.first}, {y, fed.second}}, {loss}, {step})[0].scalar<float>();
    if (i % 100 == 0) std::printf("step %d: loss %.3f\n", i, value);
  }

  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const int part = test.count() / 10;
  for (int first = 0; first < 10 * part; first += part) {
    const auto fed = batch(test, order, first, part);
    sum += session.run({{x, fed.first}, {y, fed.second}}, {accuracy})[0].scalar<float>();
  }
  std::printf("test accuracy %.2f %%\n", sum * 10);
  return flags.smoke() && sum < 8 ? 1 : 0;
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
