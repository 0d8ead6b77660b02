// Small pictures in ten classes, by a convolutional network over an input pipeline of queues
// (sections 4.5 and 4.6 of the white paper). A queue of file names feeds a reader of records, and
// decoded examples wait in a queue that shuffles them, from which each step takes a batch. A thread
// that the Coordinator starts fills that queue while the program trains, so that reading and
// training overlap.
//
//   cpp_cifar10 --data FOLDER --steps 2000
//
// FOLDER has data_batch_1.bin and test_batch.bin, of CIFAR-10's binary version: after training with
// the first, the program counts how many pictures of the second it recognizes. --smoke writes files
// of its own, with pictures that are brighter the higher their label, and fails unless a quarter of
// them are recognized: more than twice what guessing would give.
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>

#include "flags.hpp"
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/index.hpp"
#include "leat/ops/input.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "leat/ops/nn.hpp"
#include "leat/ops/queue.hpp"

using namespace leat;
using namespace leat::ops;

namespace {

constexpr int kSide = 32, kBytes = 1 + 3 * kSide * kSide, kClasses = 10;

/// Records of a label and pixels [3, 32, 32] that are brighter the higher the label is.
void write_records(const std::string& path, int count, unsigned seed) {
  std::ofstream file(path, std::ios::binary);
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    const int label = static_cast<int>(random() % kClasses);
    file.put(static_cast<char>(label));
    for (int k = 1; k < kBytes; ++k) {
      file.put(static_cast<char>(label * 20 + static_cast<int>(random() % 50)));
    }
  }
}

struct Examples {
  Output images, labels;
  Operation begin;     // puts the names of all files into their queue
  QueueRunner runner;  // reads examples until they are read
};

/// Batches of images [size, 32, 32, 3] and labels [size], in random order, for |epochs| passes.
Examples read_examples(const Scope& scope, const std::string& path, int size, int epochs,
                       int shuffled) {
  Examples examples;
  const auto files = FIFOQueueV2(scope.with_op_name("files"), {DT_STRING});
  const std::vector<std::string> names(static_cast<std::size_t>(epochs), path);
  const auto name = QueueEnqueueManyV2(scope, files, {names});
  const auto close = QueueCloseV2(scope.with_control_dependencies({name}), files);
  const auto reader = FixedLengthRecordReaderV2(scope, kBytes);
  const auto record = ReaderReadV2(scope.with_op_name("read"), reader, files);
  const auto bytes = DecodeRaw(scope, record.value, DT_UINT8);
  const Output first = Cast(scope, Slice(scope, bytes, {0}, {1}), DT_INT32);
  const Output label = Reshape(scope, first, Tensor(DT_INT32, {0}));  // a scalar
  const Output pixels = Reshape(scope, Slice(scope, bytes, {1}, {kBytes - 1}), {3, kSide, kSide});
  const Output image = Cast(scope, Transpose(scope, pixels, {1, 2, 0}), DT_FLOAT);

  const auto queue = RandomShuffleQueueV2(
      scope.with_op_name("examples"), {DT_FLOAT, DT_INT32},
      RandomShuffleQueueV2::Shapes({{kSide, kSide, 3}, {}})
          .Capacity(shuffled + 4 * size)
          .MinAfterDequeue(shuffled)
          .Seed(1));
  const auto put = QueueEnqueueV2(
      scope, queue,
      {Sub(scope, Mul(scope, image, 1 / 128.f), 1.f), label});
  const auto batch = QueueDequeueManyV2(scope, queue, size, {DT_FLOAT, DT_INT32});
  examples.images = batch.components[0];
  examples.labels = batch.components[1];
  examples.begin = close;
  examples.runner = QueueRunner(scope, queue, {put});
  return examples;
}

Output layer(const Scope& scope, const Output& x, int in, int out) {
  const Var w(scope.with_op_name("w"), {5, 5, in, out}, he_normal(1));
  const Var b(scope.with_op_name("b"), {out}, zeros());
  const auto y = Relu(scope, BiasAdd(scope, Conv2D(scope, x, w, {1, 1, 1, 1}, "SAME"), b));
  const auto pooled = MaxPool(scope, y, {1, 3, 3, 1}, {1, 2, 2, 1}, "SAME");
  return LRN(scope, pooled, LRN::DepthRadius(4).Bias(1).Alpha(0.001f / 9).Beta(0.75f));
}

Output network(const Scope& scope, const Output& images) {
  Output y = layer(scope.sub_scope("conv1"), images, 3, 32);
  y = layer(scope.sub_scope("conv2"), y, 32, 32);
  const int size = 8 * 8 * 32;
  const Scope own = scope.sub_scope("softmax");
  const Var w(own.with_op_name("w"), {size, kClasses}, glorot_uniform(1));
  const Var b(own.with_op_name("b"), {kClasses}, zeros());
  return BiasAdd(own, MatMul(own, Reshape(own, y, {-1, size}), w), b);
}

/// The part of |tests| for which |right| is 1. They are fed in the place of |examples|, batch after
/// batch, until their queue is closed and empty.
double evaluate(const Session& session, const Examples& tests, const Examples& examples,
                const Output& right) {
  Coordinator coordinator;
  session.run_targets({tests.begin});
  coordinator.start(tests.runner, session);
  double sum = 0, count = 0;
  try {
    for (;;) {
      const auto batch = session.run({}, {tests.images, tests.labels});
      const auto values =
          session.run({{examples.images, batch[0]}, {examples.labels, batch[1]}}, {right});
      for (float one : values[0].span<float>()) {
        sum += one;
        ++count;
      }
    }
  } catch (const Error& error) {
    if (error.code() != TF_OUT_OF_RANGE) throw;
  }
  return sum / count;
}

int train(const Flags& flags) {
  const int size = flags.smoke() ? 16 : 64;
  const int steps = flags.number("--steps", flags.smoke() ? 40 : 1000);
  std::string path = flags.data("cifar10") + "/data_batch_1.bin";
  std::string test_path = flags.data("cifar10") + "/test_batch.bin";
  if (flags.smoke()) {
    path = flags.text("--scratch", "/tmp") + "/leat_cpp_cifar10.bin";
    test_path = path + ".test";
    write_records(path, 100, 1);
    write_records(test_path, 100, 2);
  }
  for (const std::string& name : {path, test_path}) {
    if (!std::ifstream(name)) throw std::runtime_error("cannot open " + name);
  }

  Scope scope;
  const Examples examples =
      read_examples(scope.sub_scope("input"), path, size, 1000, flags.smoke() ? 50 : 2000);
  const Examples tests = read_examples(scope.sub_scope("test"), test_path, 100, 1, 0);
  const Output logits = network(scope, examples.images);
  const Output loss =
      Mean(scope, SparseSoftmaxCrossEntropyWithLogits(scope, logits, examples.labels).loss, {0});
  const Output right = Cast(scope, InTopKV2(scope, logits, examples.labels, 1), DT_FLOAT);
  const Output accuracy = Mean(scope, right, {0});
  const Operation step = minimize(scope, loss, adam(0.001));

  Session session(scope, SessionOptions().config(flags.session_config()));
  session.run_targets({initialize_variables(scope)});
  Coordinator coordinator;
  session.run_targets({examples.begin});
  coordinator.start(examples.runner, session);
  double recent = 0;
  for (int i = 0; i < steps; ++i) {
    const auto values = session.run({}, {loss, accuracy}, {step});
    recent += (values[1].scalar<float>() - recent) / (i < 20 ? i + 1 : 20);
    if (i % 20 == 0) {
      std::printf("step %d: loss %.3f, recent accuracy %.3f\n", i, values[0].scalar<float>(),
                  recent);
    }
  }
  coordinator.request_stop();
  coordinator.join();
  const double reached = evaluate(session, tests, examples, right);
  std::printf("recent accuracy %.3f, of the test pictures %.4f\n", recent, reached);
  if (flags.smoke()) {
    std::remove(path.c_str());
    std::remove(test_path.c_str());
  }
  return flags.smoke() && reached < 0.25 ? 1 : 0;
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
